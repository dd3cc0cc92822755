"""Cables before and after, with as few moves as possible.

Cables between the same ports stay. Each other old cable shares its lower end with at most one new cable, and its upper
end with at most one, so that "could become" is a graph of paths and cycles; there, taking ends of paths first gives a
maximum matching in linear time (Karp and Sipser, 1981), that is the most cables that are re-plugged at one end instead
of being pulled out and laid anew. What is then left between the same two devices is re-plugged at both ends.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain

from clusterwright.compare.changes import CableChanges, CableMove
from clusterwright.plan.allocation.kept_ports import CagePlaces
from clusterwright.plan.model import Cable, Plan

LOWER, UPPER, BOTH = "lower", "upper", "both"
End = tuple[str, str]  # device, port
Names = Mapping[str, str]


def ports_now(before: Plan, after: Plan, renamed: Names) -> Mapping[End, str]:
    """What ports of the first plan's switches are called in the second one, where these run another system: nobody
    touches a cable for that.
    """
    places = CagePlaces()
    port_by_end: dict[End, str] = {}
    for device in before.devices:
        other = after.by_name.get(renamed.get(device.name, device.name))
        if device.kind != "switch" or other is None or other.model == device.model:
            continue
        was, model = before.spec.catalogue[device.model], after.spec.catalogue[other.model]
        if (was.manufacturer, was.part) == (model.manufacturer, model.part):
            for cable in before.cables_of[device.name]:
                for end in (cable.a, cable.b):
                    if end.device == device.name and end.side != "management":
                        port = places.handed_on(end.port, was, model, cable.speed_gbps)
                        port_by_end[device.name, end.port] = port or end.port
    return port_by_end


def cable_changes(
    before: Plan, after: Plan, renamed: Names, ports: Mapping[End, str], now: Callable[[str], str]
) -> tuple[CableChanges, ...]:
    """The changes of every fabric of either plan, in the order of the specs; ``renamed`` as in DeviceChanges, ``ports``
    as ``ports_now`` gives them.

    ``now`` gives the second plan's name of a fabric of the first.
    """
    old: dict[str, list[Cable]] = defaultdict(list)
    new: dict[str, list[Cable]] = defaultdict(list)
    for cable in before.cables:
        old[now(cable.fabric)].append(_called(cable, ports) if ports else cable)
    for cable in after.cables:
        new[cable.fabric].append(cable)
    fabrics = dict.fromkeys(
        chain((now(fabric.name) for fabric in before.spec.fabrics), (fabric.name for fabric in after.spec.fabrics))
    )
    return tuple(fabric_changes(name, old[name], new[name], renamed) for name in fabrics)


def _called(cable: Cable, ports: Mapping[End, str]) -> Cable:
    a, b = (end._replace(port=ports.get((end.device, end.port), end.port)) for end in (cable.a, cable.b))
    return cable._replace(a=a, b=b)


def fabric_changes(fabric: str, old: Sequence[Cable], new: Sequence[Cable], renamed: Names) -> CableChanges:
    """Which old cable becomes which new one; the rest is removed and added."""
    target = {_ends(cable, {}): cable for cable in new}
    same = [(cable, target[ends]) for cable in old if (ends := _ends(cable, renamed)) in target]
    taken = {_ends(cable, {}) for _, cable in same}
    rest = [cable for cable in old if _ends(cable, renamed) not in target]
    open_ = [cable for cable in new if _ends(cable, {}) not in taken]
    moved = _one_end(rest, open_, renamed)
    rest, open_ = _without(rest, (m.before for m in moved)), _without(open_, (m.after for m in moved))
    both = _both_ends(rest, open_, renamed)
    rest, open_ = _without(rest, (m.before for m in both)), _without(open_, (m.after for m in both))
    replaced = tuple(CableMove(a, b, BOTH) for a, b in same if _kind(a) != _kind(b))
    return CableChanges(
        fabric=fabric,
        kept=len(same) - len(replaced),
        moved=(*moved, *both),
        replaced=replaced,
        removed=tuple(rest),
        added=tuple(open_),
        stopped=tuple(b for a, b in same if a.in_service and not b.in_service),
        started=tuple(b for a, b in same if b.in_service and not a.in_service),
    )


def _lower(cable: Cable, renamed: Names) -> End:
    return renamed.get(cable.a.device, cable.a.device), cable.a.port


def _upper(cable: Cable, renamed: Names) -> End:
    return renamed.get(cable.b.device, cable.b.device), cable.b.port


def _ends(cable: Cable, renamed: Names) -> tuple[End, End]:
    return _lower(cable, renamed), _upper(cable, renamed)


def _kind(cable: Cable) -> tuple[int, str, float]:
    """The properties that a cable shares with another one whose place it takes."""
    return cable.speed_gbps, cable.medium, cable.length_m


def _without(cables: Sequence[Cable], used: Iterable[Cable]) -> list[Cable]:
    names = {id(cable) for cable in used}
    return [cable for cable in cables if id(cable) not in names]


class _Matching:
    """A maximum matching of old cables, 0..n-1, and new ones, n.., by the ends that they share.

    Each has at most one neighbour by its lower and one by its upper end, so all are on paths and cycles.
    """

    def __init__(self, count: int) -> None:
        self.count = count
        self.edges: dict[int, dict[int, str]] = defaultdict(dict)
        self.matched: list[tuple[int, int, str]] = []

    def share(self, old: int, new: int, label: str) -> None:
        """An old and a new cable have the end ``label`` in common."""
        self.edges[old][self.count + new] = label
        self.edges[self.count + new][old] = label

    def match_paths(self) -> None:
        """Match along every path from its end; first from ends whose edge is a lower one."""
        ends = [vertex for vertex in sorted(self.edges) if self._is_end(vertex)]
        ends.sort(key=lambda vertex: LOWER not in self.edges[vertex].values())
        for end in ends:
            stack = [end]
            while stack:
                vertex = stack.pop()
                if self._is_end(vertex):
                    stack += self._take(vertex, next(iter(self.edges[vertex])))

    def match_cycles(self) -> None:
        """Match every second edge of the cycles that are left: those of lower ends."""
        for old in range(self.count):
            for new, label in list(self.edges.get(old, {}).items()):
                if label == LOWER:
                    self._take(old, new)

    def _is_end(self, vertex: int) -> bool:
        return len(self.edges.get(vertex, ())) == 1

    def _take(self, one: int, other: int) -> list[int]:
        """Match two neighbours and forget them; returns those that are ends of paths now."""
        self.matched.append((min(one, other), max(one, other) - self.count, self.edges[one][other]))
        ends = []
        for vertex in (one, other):
            for neighbour in self.edges.pop(vertex):
                if neighbour in self.edges:
                    self.edges[neighbour].pop(vertex, None)
                    if self._is_end(neighbour):
                        ends.append(neighbour)
        return ends


def _one_end(old: Sequence[Cable], new: Sequence[Cable], renamed: Names) -> list[CableMove]:
    """Cables that keep an end; where there is a choice, the lower end stays plugged."""
    matching = _Matching(len(old))
    for label, end in ((LOWER, _lower), (UPPER, _upper)):
        for one, other in _partners(old, new, renamed, end).items():
            matching.share(one, other, label)
    matching.match_paths()
    matching.match_cycles()
    moves = []
    for one, other, kept in sorted(matching.matched):
        moves.append(CableMove(old[one], new[other], UPPER if kept == LOWER else LOWER))
    return moves


def _partners(
    old: Sequence[Cable], new: Sequence[Cable], renamed: Names, end: Callable[[Cable, Names], End]
) -> dict[int, int]:
    """Old index to the new index that has the same cable at the same end."""
    at = {(end(cable, {}), _kind(cable)): index for index, cable in enumerate(new)}
    pairs = ((index, at.get((end(cable, renamed), _kind(cable)))) for index, cable in enumerate(old))
    return {index: other for index, other in pairs if other is not None}


def _both_ends(old: Sequence[Cable], new: Sequence[Cable], renamed: Names) -> list[CableMove]:
    """Cables between the same two devices, other ports at both, paired in order."""
    waiting: dict[tuple[object, ...], list[Cable]] = defaultdict(list)
    for cable in reversed(new):
        waiting[cable.a.device, cable.b.device, _kind(cable)].append(cable)
    moves = []
    for cable in old:
        key = (_lower(cable, renamed)[0], _upper(cable, renamed)[0], _kind(cable))
        if waiting.get(key):
            moves.append(CableMove(cable, waiting[key].pop(), BOTH))
    return moves
