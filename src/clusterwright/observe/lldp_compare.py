"""Compare planned cables with LLDP neighbours: cables to move, to add and to take out.

A port may have several neighbours: the host, firmware of its adapter, its BMC, all devices behind one that forwards
LLDP. The planned neighbour is looked for first; if it is among them, the others are ignored.
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
    """Differences between the planned Ethernet cables and the neighbours in ``heard``, by device.

    A cable is checked if there is a dump of one of its devices able to receive LLDP there; other cables are no
    differences. A cable reported at one end alone is present. Raises ClusterwrightError for a dump of a device outside
    the plan.
    """
    comparison = _Comparison(plan, heard)
    return in_rack_order([*comparison.strangers(), *comparison.doubled(), *comparison.cables()])


def heard_states(plan: Plan, heard: Mapping[str, Sequence[Neighbour]]) -> dict[_Port, CableState]:
    """State of each planned Ethernet cable, by its lower end. Raises ClusterwrightError like ``compare_neighbours``."""
    comparison = _Comparison(plan, heard)
    cables = [(comparison.ports[end], end, comparison.planned[end]) for end in comparison.lower]
    foreign = {comparison.numbers[port] for port, _ in comparison.foreign}
    doubled = set(comparison.rivals).union(*comparison.rivals.values())
    return dict(cable_states(cables, comparison.observed, foreign, comparison.silent, doubled))


def not_judged(plan: Plan, heard: Mapping[str, Sequence[Neighbour]]) -> tuple[str, ...]:
    """Sentences on unchecked cables of queried switches: their missing neighbours are inconclusive."""
    comparison = _Comparison(plan, heard)
    notes = []
    for (model, port), ends in comparison.mute.items():
        ports = f"ports {port}" if len(plan.spec.catalogue[model].management) > 1 else "management ports"
        notes.append(
            f"cables of {ports} of {model} were not checked ({len(ends)}): no {model} was heard at one, so that"
            " they do not announce themselves"
        )
    if comparison.nameless:
        notes.append(
            f"ports towards nodes were not checked ({len(comparison.nameless)}) that hear a device without a name, as"
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
        self.rivals: dict[int, list[int]] = {}  # by port: further ports reporting it as their neighbour
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
        """Whether a port belongs to a node's management controller; the host receives no LLDP there."""
        device = self.plan.by_name[port[0]]
        return device.kind != "switch" and port[1] in self.plan.spec.catalogue[device.model].management_names

    def is_audible(self, cable: Cable) -> bool:
        """Whether both devices run and there is a dump of one able to receive LLDP from the cable."""
        ends = (cable.a, cable.b)
        if any(self.plan.by_name[end.device].state != "active" for end in ends):
            return False
        return any(end.device in self.heard and not self.is_bmc((end.device, end.port)) for end in ends)

    def hear_all(self) -> None:
        """Read all dumps: planned neighbours first, then the neighbours of ports without their planned one."""
        open_ports: dict[int, list[Neighbour]] = {}
        for device in sorted(self.heard):
            for neighbour in self.heard[device]:
                here = self.number((device, self.local_port(device, neighbour.port)))
                open_ports.setdefault(here, []).append(neighbour)
        for here, neighbours in list(open_ports.items()):
            there = self.planned.get(here)
            if there is None:
                continue
            if any(self.announced_port(here, neighbour) == there for neighbour in neighbours):
                self.observed |= {here: there, there: here}
                del open_ports[here]
        for here, neighbours in open_ports.items():
            if here not in self.observed:
                self.hear(here, neighbours)

    def hear(self, here: int, neighbours: Sequence[Neighbour]) -> None:
        """Record the first planned device among the neighbours of a port without its planned neighbour."""
        for neighbour in neighbours:
            there = self.announced_port(here, neighbour)
            if there is None:
                continue
            planned = self.planned.get(here)
            if planned is not None and self.is_bmc(self.ports[planned]) and self.is_matched_host(there, planned):
                there = planned  # a BMC announcing its port by the name of a correctly cabled port of its host
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
        """Whether ``there`` is a correctly cabled port of the device of ``planned``."""
        same_device = self.ports[there][0] == self.ports[planned][0]
        return same_device and self.observed.get(there) == self.planned.get(there, -1)

    def is_towards_node(self, here: int) -> bool:
        """Whether the port is planned for a node."""
        planned = self.planned.get(here)
        return planned is not None and self.plan.by_name[self.ports[planned][0]].kind != "switch"

    def announced_port(self, here: int, neighbour: Neighbour) -> int | None:
        """The port of a neighbour, by its announced names; None for a device outside the plan."""
        planned = self.planned.get(here)
        device = self.announced_device(neighbour.neighbour, planned)
        if device is None:
            return None
        names = self.names_of(device)
        in_use = self.in_use[device.name]
        port_names = [name for name in (neighbour.neighbour_port, neighbour.description) if name]
        for name in port_names:
            port = names.of_announcement(name, in_use)
            if port is not None:
                return self.number((device.name, port))
        management_port = self.named_management(neighbour.neighbour, device)
        if management_port is not None:
            return self.number((device.name, management_port))
        is_port_named = bool(port_names) and device.kind == "switch"
        if planned is not None and self.ports[planned][0] == device.name and not is_port_named:
            return planned
        return self.number((device.name, neighbour.neighbour_port))

    def announced_device(self, name: str, planned: int | None) -> Device | None:
        """The planned device with an announced name, with or without the site's domain."""
        folded = self.folded_name(name)
        if folded in self.folded:
            return self.plan.by_name[self.folded[folded]]
        if planned is None or not self.is_bmc(self.ports[planned]):
            return None
        node = self.plan.by_name[self.ports[planned][0]]
        is_bmc_of_node = folded.startswith((f"{node.name}-", f"{node.name}."))
        return node if is_bmc_of_node or self.named_management(folded, node) is not None else None

    def folded_name(self, name: str) -> str:
        """A host name in lower case, without the site's domain."""
        return name.lower().removesuffix(f".{self.plan.spec.site.domain.lower()}")

    def named_management(self, name: str, node: Device) -> str | None:
        """The management port in a BMC's name: bmc.NODE as in the zone files, or bmc-NODE and NODE-bmc."""
        folded, host = self.folded_name(name), node.name.lower()
        for port in self.plan.spec.catalogue[node.model].management_names:
            label = dns_label(port)
            if folded in {f"{label}.{host}", f"{label}-{host}", f"{host}-{label}"}:
                return port
        return None

    def names_of(self, device: Device) -> PortNames:
        """Port names of a device's model."""
        if device.model not in self.names:
            self.names[device.model] = PortNames(self.plan.spec.catalogue[device.model])
        return self.names[device.model]

    def local_port(self, device: str, word: str) -> str:
        """The port with a name from the device's own dump."""
        return self.names_of(self.plan.by_name[device]).of_list(word, self.in_use[device]) or word

    def place(self, end: int) -> Place:
        """A port with the rack and unit of its device."""
        name, port = self.ports[end]
        device = self.plan.by_name[name]
        return Place(device=name, port=port, rack=device.rack, unit=device.unit)

    def strangers(self) -> Iterator[ObservedDifference]:
        """Neighbours outside the plan."""
        for (name, port), stranger in self.foreign:
            device = self.plan.by_name[name]
            stranger_device = stranger.neighbour or "a device without a name"
            stranger_port = f"{stranger_device} {stranger.neighbour_port}".rstrip()
            yield ObservedDifference(
                DifferenceKind.UNEXPECTED_DEVICE,
                Place(device=name, port=port, rack=device.rack, unit=device.unit),
                f"{stranger_port} is cabled to {name} {port}, and no plan knows it",
            )

    def doubled(self) -> Iterator[ObservedDifference]:
        """Neighbours of several ports: their actual cable is unknown, so no cable is moved."""
        for there, rivals in self.rivals.items():
            listeners = sorted([self.observed.pop(there), *rivals])
            self.observed = {end: peer for end, peer in self.observed.items() if peer != there}
            listed = and_more([str(self.place(end)) for end in listeners], 4)
            message = (
                f"{self.place(there)} is heard at {listed}: two devices call themselves {self.place(there).device}, or"
                " something between them passes LLDP on; look which of the two it is"
            )
            yield ObservedDifference(DifferenceKind.AMBIGUOUS, self.place(there), message)

    def cables(self) -> Iterator[ObservedDifference]:
        """Cables to move, to add and to take out."""
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
