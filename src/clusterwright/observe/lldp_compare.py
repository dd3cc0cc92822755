"""The planned cables against what devices hear of each other: which cable to move, to add or to take out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from clusterwright.and_more import and_more
from clusterwright.finding import ClusterwrightError
from clusterwright.observe.cabling import Edge, Move, repair
from clusterwright.observe.difference import DifferenceKind, ObservedDifference, Place, in_rack_order
from clusterwright.observe.lldp import Neighbour
from clusterwright.observe.progress import CableState, cable_states
from clusterwright.plan.model import Plan

_Port = tuple[str, str]


def compare_neighbours(plan: Plan, heard: Mapping[str, Sequence[Neighbour]]) -> tuple[ObservedDifference, ...]:
    """Every difference between the planned Ethernet cables and the dumps of the devices in ``heard``.

    A cable is judged when one of its devices was asked; what nobody was asked about is no difference. A cable that is
    heard at one end alone is there. Raises ClusterwrightError for a dump of a device that the plan does not know.
    """
    comparison = _Comparison(plan, heard)
    return in_rack_order([*comparison.strangers(), *comparison.doubled(), *comparison.cables()])


def heard_states(plan: Plan, heard: Mapping[str, Sequence[Neighbour]]) -> dict[_Port, CableState]:
    """What became of each planned Ethernet cable, by its lower end. Raises what ``compare_neighbours`` raises."""
    own = _Comparison(plan, heard)
    cables = [(own.ports[end], end, own.planned[end]) for end in own.lower]
    foreign = {own.numbers[port] for port, _ in own.foreign}
    doubled = own.rivals.keys() | {end for rivals in own.rivals.values() for end in rivals}
    return dict(cable_states(cables, own.observed, foreign, own.silent, doubled))


class _Comparison:
    def __init__(self, plan: Plan, heard: Mapping[str, Sequence[Neighbour]]) -> None:
        unknown = sorted(heard.keys() - plan.by_name.keys())
        if unknown:
            raise ClusterwrightError(
                f"no device of {plan.name} is called {unknown[0]}; name each dump after its device"
            )
        self.plan = plan
        self.heard = heard
        self.numbers: dict[_Port, int] = {}
        self.ports: list[_Port] = []
        technologies = {fabric.name: fabric.technology for fabric in plan.spec.fabrics}
        self.planned: dict[int, int] = {}
        self.lower: set[int] = set()
        self.optional: set[int] = set()
        for cable in plan.cables:
            if technologies.get(cable.fabric) == "infiniband":
                continue
            a, b = self.number((cable.a.device, cable.a.port)), self.number((cable.b.device, cable.b.port))
            self.planned |= {a: b, b: a}
            self.lower.add(a)
            if not cable.in_service or not self.is_audible(cable.a.device, cable.b.device):
                self.optional |= {a, b}
        self.silent = frozenset(self.optional)
        self.observed: dict[int, int] = {}
        self.foreign: list[tuple[_Port, Neighbour]] = []
        self.rivals: dict[int, list[int]] = {}  # a port to those that hear it besides the first
        for device in sorted(heard):
            for neighbour in heard[device]:
                self.hear(device, neighbour)

    def number(self, port: _Port) -> int:
        """The port's number."""
        if port not in self.numbers:
            self.numbers[port] = len(self.ports)
            self.ports.append(port)
        return self.numbers[port]

    def is_audible(self, *devices: str) -> bool:
        """Whether one of two devices was asked and the other one runs."""
        return any(name in self.heard for name in devices) and all(
            self.plan.by_name[name].state == "active" for name in devices
        )

    def hear(self, device: str, said: Neighbour) -> None:
        """Take in one neighbour; the first word on a port counts."""
        here = self.number((device, said.port))
        name = said.neighbour.removesuffix(f".{self.plan.spec.site.domain}")
        if name not in self.plan.by_name:
            self.foreign.append(((device, said.port), said))
            self.optional |= {here}
            return
        port = said.neighbour_port
        planned = self.planned.get(here)
        if not port and planned is not None and self.ports[planned][0] == name:
            port = self.ports[planned][1]  # it is the right device, and which of its ports it did not say
        there = self.number((name, port))
        if here not in self.observed and there not in self.observed:
            self.observed |= {here: there, there: here}
        elif here not in self.observed:
            self.rivals.setdefault(there, []).append(here)
            ends = (here, there, self.observed[there])
            self.optional |= {*ends, *(self.planned[end] for end in ends if end in self.planned)}

    def place(self, end: int) -> Place:
        """A port, with rack and unit of its device."""
        name, port = self.ports[end]
        device = self.plan.by_name[name]
        return Place(name, port, device.rack, device.unit)

    def strangers(self) -> Iterator[ObservedDifference]:
        """Neighbours that no plan knows."""
        for (name, port), said in self.foreign:
            device = self.plan.by_name[name]
            what = f"{said.neighbour or 'a device without a name'} {said.neighbour_port}".rstrip()
            yield ObservedDifference(
                DifferenceKind.UNEXPECTED_DEVICE,
                Place(name, port, device.rack, device.unit),
                f"{what} is cabled to {name} {port}, and no plan knows it",
            )

    def doubled(self) -> Iterator[ObservedDifference]:
        """Ports that several others hear: nobody can tell from here who is cabled to them, so no cable is moved."""
        for there, rivals in self.rivals.items():
            listeners = sorted([self.observed.pop(there), *rivals])
            self.observed = {end: other for end, other in self.observed.items() if other != there}
            heard = and_more([str(self.place(end)) for end in listeners], 4)
            message = (
                f"{self.place(there)} is heard at {heard}: two devices call themselves {self.place(there).device}, or"
                " something between them passes LLDP on; look which of the two it is"
            )
            yield ObservedDifference(DifferenceKind.AMBIGUOUS, self.place(there), message)

    def cables(self) -> Iterator[ObservedDifference]:
        """Cables to move, those that are missing, and those that are too many."""
        found = repair(self.planned, self.observed, self.optional, self.lower.__contains__)
        partners = {move.source: move for move in found.moves}
        for move in found.moves:
            yield self._move(move, partners)
        for edge in found.missing:
            one, other = self._ordered(edge)
            message = f"no link between {one} and {other}: cable missing, loose or dead, or LLDP off at both ends"
            yield ObservedDifference(DifferenceKind.MISSING_LINK, other, message, one)
        for edge in found.unexpected:
            one, other = self._ordered(edge)
            message = f"take out the cable between {one} and {other}: none is planned there"
            yield ObservedDifference(DifferenceKind.UNEXPECTED_LINK, other, message, one)

    def _move(self, move: Move, partners: Mapping[int, Move]) -> ObservedDifference:
        keep, source, target = (self.place(end) for end in (move.keep, move.source, move.target))
        advice = f"move {keep} from {source} to {target}"
        if move.ring == 2:
            advice += f" (exchanged with {self.place(partners[move.target].keep)})"
        return ObservedDifference(
            DifferenceKind.SWAPPED if move.ring else DifferenceKind.WRONG_PORT, source, advice, keep, target
        )

    def _ordered(self, edge: Edge) -> tuple[Place, Place]:
        low, high = sorted(edge, key=lambda end: (self.plan.by_name[self.ports[end][0]].tier, end))
        return self.place(low), self.place(high)
