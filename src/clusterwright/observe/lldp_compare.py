"""The planned cables against what devices hear of each other: which cable to move, to add or to take out.

A port may hear several: the host, firmware of its adapter, its BMC, all behind something that passes LLDP on. The
planned neighbour is looked for first; where it is among them, the others say nothing of the cable.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from clusterwright.and_more import and_more
from clusterwright.finding import ClusterwrightError
from clusterwright.observe.cabling import Edge, Move, repair
from clusterwright.observe.difference import (
    DifferenceKind,
    ObservedDifference,
    Place,
    cable_to_move,
    in_rack_order,
    missing_link,
    unexpected_link,
)
from clusterwright.observe.lldp import Neighbour
from clusterwright.observe.progress import CableState, cable_states
from clusterwright.plan.model import Cable, Device, Plan
from clusterwright.spec.hardware.port_names import PortNames, dns_label

_Port = tuple[str, str]


def compare_neighbours(plan: Plan, heard: Mapping[str, Sequence[Neighbour]]) -> tuple[ObservedDifference, ...]:
    """Every difference between the planned Ethernet cables and the dumps of the devices in ``heard``.

    A cable is judged when one of its devices was asked that can hear it; what nobody was asked about is no difference.
    A cable that is heard at one end alone is there. Raises ClusterwrightError for a dump of a device that the plan does
    not know.
    """
    comparison = _Comparison(plan, heard)
    return in_rack_order([*comparison.strangers(), *comparison.doubled(), *comparison.cables()])


def heard_states(plan: Plan, heard: Mapping[str, Sequence[Neighbour]]) -> dict[_Port, CableState]:
    """What became of each planned Ethernet cable, by its lower end. Raises what ``compare_neighbours`` raises."""
    comparison = _Comparison(plan, heard)
    cables = [(comparison.ports[end], end, comparison.planned[end]) for end in comparison.lower]
    foreign = {comparison.numbers[port] for port, _ in comparison.foreign}
    doubled = set(comparison.rivals).union(*comparison.rivals.values())
    return dict(cable_states(cables, comparison.observed, foreign, comparison.silent, doubled))


def not_judged(plan: Plan, heard: Mapping[str, Sequence[Neighbour]]) -> tuple[str, ...]:
    """Sentences on cables of which a switch was asked, and about which its silence says nothing."""
    comparison = _Comparison(plan, heard)
    notes = []
    for (model, port), ends in comparison.mute.items():
        ports = f"ports {port}" if len(plan.spec.catalogue[model].management) > 1 else "management ports"
        notes.append(
            f"cables of {ports} of {model} were not judged ({len(ends)}): no {model} was heard at one, so that"
            " they do not announce themselves"
        )
    if comparison.nameless:
        notes.append(
            f"ports towards nodes were not judged ({len(comparison.nameless)}) that hear a device without a name, as"
            " firmware of adapters is, and not the node"
        )
    return tuple(notes)


class _Comparison:
    def __init__(self, plan: Plan, heard: Mapping[str, Sequence[Neighbour]]) -> None:
        unknown = sorted(heard.keys() - plan.by_name.keys())
        if unknown:
            raise ClusterwrightError(
                f"no device of {plan.name} is called {unknown[0]}; name each dump after its device"
            )
        self.plan = plan
        self.heard = heard
        self.folded = {name.lower(): name for name in plan.by_name}
        self.numbers: dict[_Port, int] = {}
        self.ports: list[_Port] = []
        self.planned: dict[int, int] = {}
        self.lower: set[int] = set()
        self.optional: set[int] = set()
        self.in_use: dict[str, set[str]] = defaultdict(set)
        self.names: dict[str, PortNames] = {}
        bmcs: dict[tuple[str, str], list[int]] = defaultdict(list)
        for cable in self._ethernet_cables():
            a, b = self.number((cable.a.device, cable.a.port)), self.number((cable.b.device, cable.b.port))
            self.planned |= {a: b, b: a}
            self.lower.add(a)
            for end in (cable.a, cable.b):
                self.in_use[end.device].add(end.port)
            if not cable.in_service or not self.is_audible(cable):
                self.optional |= {a, b}
            elif self.is_bmc((cable.a.device, cable.a.port)):
                bmcs[plan.by_name[cable.a.device].model, cable.a.port].append(a)
        self.observed: dict[int, int] = {}
        self.foreign: list[tuple[_Port, Neighbour]] = []
        self.nameless: set[int] = set()
        self.rivals: dict[int, list[int]] = {}  # a port to those that hear it besides the first
        self.hear_all()
        self.mute = {port: ends for port, ends in bmcs.items() if self.observed.keys().isdisjoint(ends)}
        for ends in self.mute.values():
            self.optional |= {*ends, *(self.planned[end] for end in ends)}
        self.silent = frozenset(self.optional)

    def _ethernet_cables(self) -> Iterator[Cable]:
        technologies = {fabric.name: fabric.technology for fabric in self.plan.spec.fabrics}
        for cable in self.plan.cables:
            if technologies.get(cable.fabric) != "infiniband":
                yield cable

    def number(self, port: _Port) -> int:
        """The port's number."""
        if port not in self.numbers:
            self.numbers[port] = len(self.ports)
            self.ports.append(port)
        return self.numbers[port]

    def is_bmc(self, port: _Port) -> bool:
        """Whether a port belongs to a management controller of a node, which its host does not hear."""
        device = self.plan.by_name[port[0]]
        return device.kind != "switch" and port[1] in self.plan.spec.catalogue[device.model].management_names

    def is_audible(self, cable: Cable) -> bool:
        """Whether one of the cable's devices was asked that hears it, and both run."""
        ends = (cable.a, cable.b)
        if any(self.plan.by_name[end.device].state != "active" for end in ends):
            return False
        return any(end.device in self.heard and not self.is_bmc((end.device, end.port)) for end in ends)

    def hear_all(self) -> None:
        """Take in all dumps: planned neighbours first, then who else is heard where they are not."""
        open_ports: dict[int, list[Neighbour]] = {}
        for device in sorted(self.heard):
            for neighbour in self.heard[device]:
                here = self.number((device, self.local_port(device, neighbour.port)))
                open_ports.setdefault(here, []).append(neighbour)
        for here, neighbours in list(open_ports.items()):
            there = self.planned.get(here)
            if there is not None and any(self.meant(here, neighbour) == there for neighbour in neighbours):
                self.observed |= {here: there, there: here}
                del open_ports[here]
        for here, neighbours in open_ports.items():
            if here not in self.observed:
                self.hear(here, neighbours)

    def hear(self, here: int, neighbours: Sequence[Neighbour]) -> None:
        """Take in who is heard at a port that does not hear its planned neighbour: the first that the plan knows."""
        for neighbour in neighbours:
            there = self.meant(here, neighbour)
            if there is None:
                continue
            planned = self.planned.get(here)
            if planned is not None and self.is_bmc(self.ports[planned]) and self.is_matched_host(there, planned):
                there = planned  # a BMC that calls its port as the host calls one that is where it should be
            if there not in self.observed:
                self.observed |= {here: there, there: here}
            else:
                self.rivals.setdefault(there, []).append(here)
                ends = (here, there, self.observed[there])
                self.optional |= {*ends, *(self.planned[end] for end in ends if end in self.planned)}
            return
        self.optional |= {here}
        named = [neighbour for neighbour in neighbours if neighbour.neighbour]
        if not named and self.is_towards_node(here):
            self.nameless.add(here)
            self.optional |= {self.planned[here]}
            return
        self.foreign.append((self.ports[here], (named or list(neighbours))[0]))

    def is_matched_host(self, there: int, planned: int) -> bool:
        """Whether ``there`` is a port of the same device that is heard where it was planned."""
        same_device = self.ports[there][0] == self.ports[planned][0]
        return same_device and self.observed.get(there) == self.planned.get(there, -1)

    def is_towards_node(self, here: int) -> bool:
        """Whether the port is planned for a node."""
        planned = self.planned.get(here)
        return planned is not None and self.plan.by_name[self.ports[planned][0]].kind != "switch"

    def meant(self, here: int, neighbour: Neighbour) -> int | None:
        """The port that a neighbour at a port is, by name; None where no device of the plan is called so."""
        planned = self.planned.get(here)
        device = self.device_called(neighbour.neighbour, planned)
        if device is None:
            return None
        names = self.names_of(device)
        in_use = self.in_use[device.name]
        words = [word for word in (neighbour.neighbour_port, neighbour.description) if word]
        for word in words:
            port = names.of_announcement(word, in_use)
            if port is not None:
                return self.number((device.name, port))
        if (named := self.named_management(neighbour.neighbour, device)) is not None:
            return self.number((device.name, named))
        is_planned_device = planned is not None and self.ports[planned][0] == device.name
        if planned is not None and is_planned_device and (not words or device.kind != "switch"):
            return planned  # the right device, and which of its ports it did not say in words of ours
        return self.number((device.name, neighbour.neighbour_port))

    def device_called(self, name: str, planned: int | None) -> Device | None:
        """The device that announces itself by a name, with or without the site's domain."""
        folded = name.lower().removesuffix(f".{self.plan.spec.site.domain.lower()}")
        if folded in self.folded:
            return self.plan.by_name[self.folded[folded]]
        if planned is None or not self.is_bmc(self.ports[planned]):
            return None
        node = self.plan.by_name[self.ports[planned][0]]
        is_bmc_of_node = folded.startswith((f"{node.name}-", f"{node.name}."))
        return node if is_bmc_of_node or self.named_management(folded, node) is not None else None

    def named_management(self, name: str, node: Device) -> str | None:
        """The management port that a BMC's name has in it, as the zone files call one and as its users do: bmc.NODE,
        bmc-NODE, NODE-bmc.
        """
        folded, host = name.lower().removesuffix(f".{self.plan.spec.site.domain.lower()}"), node.name.lower()
        for port in self.plan.spec.catalogue[node.model].management_names:
            label = dns_label(port)
            if folded in {f"{label}.{host}", f"{label}-{host}", f"{host}-{label}"}:
                return port
        return None

    def names_of(self, device: Device) -> PortNames:
        """The names of the ports of a device's model."""
        if device.model not in self.names:
            self.names[device.model] = PortNames(self.plan.spec.catalogue[device.model])
        return self.names[device.model]

    def local_port(self, device: str, word: str) -> str:
        """The port that a device's own dump calls so."""
        return self.names_of(self.plan.by_name[device]).of_list(word, self.in_use[device]) or word

    def place(self, end: int) -> Place:
        """A port, with rack and unit of its device."""
        name, port = self.ports[end]
        device = self.plan.by_name[name]
        return Place(device=name, port=port, rack=device.rack, unit=device.unit)

    def strangers(self) -> Iterator[ObservedDifference]:
        """Neighbours that no plan knows."""
        for (name, port), stranger in self.foreign:
            device = self.plan.by_name[name]
            what = f"{stranger.neighbour or 'a device without a name'} {stranger.neighbour_port}".rstrip()
            yield ObservedDifference(
                DifferenceKind.UNEXPECTED_DEVICE,
                Place(device=name, port=port, rack=device.rack, unit=device.unit),
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
        repairs = repair(self.planned, self.observed, self.optional, self.lower.__contains__)
        partners = {move.source: move for move in repairs.moves}
        for move in repairs.moves:
            yield self._move(move, partners)
        for edge in repairs.missing:
            lower, upper = self._ordered(edge)
            yield missing_link(lower, upper, causes="cable missing, loose or dead, or LLDP off at both ends")
        for edge in repairs.unexpected:
            lower, upper = self._ordered(edge)
            yield unexpected_link(lower, upper)

    def _move(self, move: Move, partners: Mapping[int, Move]) -> ObservedDifference:
        keep, source, target = (self.place(end) for end in (move.keep, move.source, move.target))
        reasons = []
        if move.ring == 2:
            reasons.append(f"exchanged with {self.place(partners[move.target].keep)}")
        kind = DifferenceKind.SWAPPED if move.ring else DifferenceKind.WRONG_PORT
        return cable_to_move(kind, keep, source, target, reasons=reasons)

    def _ordered(self, edge: Edge) -> tuple[Place, Place]:
        low, high = sorted(edge, key=lambda end: (self.plan.by_name[self.ports[end][0]].tier, end))
        return self.place(low), self.place(high)
