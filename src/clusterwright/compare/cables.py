"""Cables before and after, with as few moves as possible.

Cables between the same ports stay. Each other old cable shares its lower end with at most one new cable, and its upper
end with at most one, so the graph of possible successors consists of paths and cycles. Matching the ends of paths first
gives a maximum matching in linear time (Karp and Sipser, 1981): the most cables re-plugged at one end instead of being
pulled out and laid anew. Remaining cables between the same two devices are re-plugged at both ends.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence

from clusterwright.compare.changes import CableChanges, CableMove
from clusterwright.plan.allocation.kept_ports import CagePlaces
from clusterwright.plan.model import Cable, Plan

LOWER, UPPER, BOTH = "lower", "upper", "both"
End = tuple[str, str]  # device, port
Names = Mapping[str, str]


def ports_now(before: Plan, after: Plan, renamed: Names) -> Mapping[End, str]:
    """Ports of the first plan's switches with their names in the second plan's system.

    A change of the switch system alone moves no cable.
    """
    places = CagePlaces()
    port_by_end: dict[End, str] = {}
    for device in before.devices:
        renamed_device = after.by_name.get(renamed.get(device.name, device.name))
        if device.kind != "switch" or renamed_device is None or renamed_device.model == device.model:
            continue
        old_model = before.spec.catalogue[device.model]
        new_model = after.spec.catalogue[renamed_device.model]
        if (old_model.manufacturer, old_model.part) != (new_model.manufacturer, new_model.part):
            continue
        for cable in before.cables_of[device.name]:
            for end in (cable.a, cable.b):
                if end.device == device.name and end.side != "management":
                    port = places.handed_on(end.port, old_model, new_model, cable.speed_gbps)
                    port_by_end[device.name, end.port] = port or end.port
    return port_by_end


def cable_changes(
    before: Plan, after: Plan, renamed: Names, ports: Mapping[End, str], now: Callable[[str], str]
) -> tuple[CableChanges, ...]:
    """The changes of every fabric of either plan, in the order of the specs.

    ``renamed`` is as in DeviceChanges, ``ports`` the result of ``ports_now``. ``now`` maps a fabric's name in the first
    plan to its name in the second.
    """
    old: dict[str, list[Cable]] = defaultdict(list)
    new: dict[str, list[Cable]] = defaultdict(list)
    for cable in before.cables:
        renamed_cable = _with_ports(cable, ports) if ports else cable
        old[now(cable.fabric)].append(renamed_cable)
    for cable in after.cables:
        new[cable.fabric].append(cable)
    names = [now(fabric.name) for fabric in before.spec.fabrics]
    names += [fabric.name for fabric in after.spec.fabrics]
    return tuple(fabric_changes(name, old[name], new[name], renamed) for name in dict.fromkeys(names))


def _with_ports(cable: Cable, ports: Mapping[End, str]) -> Cable:
    """The cable with the ports' names in the second plan."""
    a, b = (end._replace(port=ports.get((end.device, end.port), end.port)) for end in (cable.a, cable.b))
    return cable._replace(a=a, b=b)


def fabric_changes(fabric: str, old: Sequence[Cable], new: Sequence[Cable], renamed: Names) -> CableChanges:
    """Match old cables with new ones; unmatched cables are removed and added."""
    new_by_ends = {_ends(cable, {}): cable for cable in new}
    same: list[tuple[Cable, Cable]] = []
    remaining_old: list[Cable] = []
    for cable in old:
        successor = new_by_ends.get(_ends(cable, renamed))
        if successor is None:
            remaining_old.append(cable)
        else:
            same.append((cable, successor))
    kept_ends = {_ends(cable, {}) for _, cable in same}
    remaining_new = [cable for cable in new if _ends(cable, {}) not in kept_ends]
    moves = _one_end(remaining_old, remaining_new, renamed)
    remaining_old = _without(remaining_old, (move.before for move in moves))
    remaining_new = _without(remaining_new, (move.after for move in moves))
    double_moves = _both_ends(remaining_old, remaining_new, renamed)
    remaining_old = _without(remaining_old, (move.before for move in double_moves))
    remaining_new = _without(remaining_new, (move.after for move in double_moves))
    replaced = tuple(CableMove(a, b, BOTH) for a, b in same if _kind(a) != _kind(b))
    return CableChanges(
        fabric=fabric,
        kept=len(same) - len(replaced),
        moved=(*moves, *double_moves),
        replaced=replaced,
        removed=tuple(remaining_old),
        added=tuple(remaining_new),
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
    """The properties shared by a cable and its replacement."""
    return cable.speed_gbps, cable.medium, cable.length_m


def _without(cables: Sequence[Cable], used: Iterable[Cable]) -> list[Cable]:
    """``cables`` except the objects in ``used``."""
    used_ids = {id(cable) for cable in used}
    return [cable for cable in cables if id(cable) not in used_ids]


class _Matching:
    """A maximum matching of old cables, 0..n-1, and new ones, n.., by their common ends.

    Each has at most one neighbour by its lower and one by its upper end, so all are on paths and cycles.
    """

    def __init__(self, count: int) -> None:
        self.count = count
        self.edges: dict[int, dict[int, str]] = defaultdict(dict)
        self.matched: list[tuple[int, int, str]] = []

    def share(self, old: int, new: int, label: str) -> None:
        """Record ``label`` as a common end of an old and a new cable."""
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
        """Match every second edge of the remaining cycles: those of lower ends."""
        for old in range(self.count):
            for new, label in list(self.edges.get(old, {}).items()):
                if label == LOWER:
                    self._take(old, new)

    def _is_end(self, vertex: int) -> bool:
        return len(self.edges.get(vertex, ())) == 1

    def _take(self, vertex: int, partner: int) -> list[int]:
        """Match two neighbours and remove them; returns the new ends of paths."""
        old, new = min(vertex, partner), max(vertex, partner) - self.count
        self.matched.append((old, new, self.edges[vertex][partner]))
        ends = []
        for matched in (vertex, partner):
            for neighbour in self.edges.pop(matched):
                if neighbour in self.edges:
                    self.edges[neighbour].pop(matched, None)
                    if self._is_end(neighbour):
                        ends.append(neighbour)
        return ends


def _one_end(old: Sequence[Cable], new: Sequence[Cable], renamed: Names) -> list[CableMove]:
    """Cables keeping one end; if there is a choice, the lower end stays plugged."""
    matching = _Matching(len(old))
    for label, end in ((LOWER, _lower), (UPPER, _upper)):
        for old_index, new_index in _partners(old, new, renamed, end).items():
            matching.share(old_index, new_index, label)
    matching.match_paths()
    matching.match_cycles()
    moves = []
    for old_index, new_index, kept_end in sorted(matching.matched):
        moved_end = UPPER if kept_end == LOWER else LOWER
        moves.append(CableMove(old[old_index], new[new_index], moved_end))
    return moves


def _partners(
    old: Sequence[Cable], new: Sequence[Cable], renamed: Names, end: Callable[[Cable, Names], End]
) -> dict[int, int]:
    """New index by old index of cables of one kind at the same end."""
    new_indexes = {(end(cable, {}), _kind(cable)): index for index, cable in enumerate(new)}
    partners: dict[int, int] = {}
    for index, cable in enumerate(old):
        new_index = new_indexes.get((end(cable, renamed), _kind(cable)))
        if new_index is not None:
            partners[index] = new_index
    return partners


def _both_ends(old: Sequence[Cable], new: Sequence[Cable], renamed: Names) -> list[CableMove]:
    """Cables between the same two devices with other ports at both ends, paired in order."""
    unpaired: dict[tuple[object, ...], list[Cable]] = defaultdict(list)
    for cable in reversed(new):
        unpaired[cable.a.device, cable.b.device, _kind(cable)].append(cable)
    moves = []
    for cable in old:
        key = (_lower(cable, renamed)[0], _upper(cable, renamed)[0], _kind(cable))
        if unpaired.get(key):
            moves.append(CableMove(cable, unpaired[key].pop(), BOTH))
    return moves
