"""The isolation proof: packets passing the rendered filters, compared both ways with the declared matrix."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, product

from clusterwright.and_more import and_more
from clusterwright.finding import VerifyError
from clusterwright.packets.boxes import (
    DST,
    EVERYTHING,
    FOREIGN,
    IIF,
    OIF,
    OWN,
    SRC,
    Box,
    Packet,
    PacketSet,
    box,
)
from clusterwright.packets.filters import InterfaceNumbers
from clusterwright.packets.passage import Idle
from clusterwright.packets.phrases import count, idle_phrase, packet_phrase, version_of
from clusterwright.packets.ranges import EMPTY, Ranges, values
from clusterwright.proofs.check import Cases, Counterexample, Fact, ProofCheck, Verdict
from clusterwright.proofs.ethernet.network import NETWORK_INTENT
from clusterwright.proofs.infiniband.subnet import has_subnet
from clusterwright.proofs.isolation.border_routes import border_route_faults
from clusterwright.proofs.isolation.carried import carried_faults, uncarried_notes
from clusterwright.proofs.isolation.declared import DeclaredIsolation
from clusterwright.proofs.isolation.default_routes import default_route_faults
from clusterwright.proofs.isolation.edges import (
    HOSTS,
    MANAGEMENT,
    OTHERS,
    OUTWARDS,
    PortFilter,
    PortGroup,
    errors_leave_open,
    leave_open,
)
from clusterwright.proofs.isolation.ends import host_port_faults
from clusterwright.proofs.isolation.enforcement import enforcement_notes
from clusterwright.proofs.isolation.folder import folder_verdict
from clusterwright.proofs.isolation.loading import LOADING, other_filters, unloaded
from clusterwright.proofs.isolation.nodes import (
    BOOTING,
    NETWORKS,
    RUNNING,
    CheckedHook,
    NodeFilter,
    check_hooks,
    loading_faults,
    node_filters,
)
from clusterwright.proofs.isolation.partition_pairs import PARTITION_INTENT, PartitionVerdict, partition_verdict
from clusterwright.proofs.isolation.port_ranges import unnarrowed_faults
from clusterwright.proofs.isolation.switches import read_switches, switches_read
from clusterwright.proofs.isolation.way import FilterPlaces, places_of
from clusterwright.proofs.tree import RenderedTree
from clusterwright.switches.readers import READERS

_KINDS_OF_HOSTS = frozenset({"nftables", "node-system", "node-network", "opensm", "ufm"})
KINDS = _KINDS_OF_HOSTS.union(*(reader.kinds for reader in READERS))
_FILES = frozenset({RUNNING, BOOTING, *(reader.file for reader in READERS)})
_SHOWN_PER_FILTER = 6


@dataclass(frozen=True, slots=True)
class _Difference:
    """A packet filtered otherwise than declared; ``extra`` if it passes and should not."""

    packet: Packet
    extra: bool


def _check(tree: RenderedTree) -> Verdict:
    declaration = tree.declaration
    if declaration is None or declaration.isolation is None:
        return folder_verdict(tree)
    return _proof(tree, declaration.isolation, partition_verdict(tree, declaration))


def _proof(tree: RenderedTree, declared: DeclaredIsolation, partitions: PartitionVerdict) -> Verdict:
    interfaces = InterfaceNumbers()
    nodes = node_filters(tree, declared, interfaces)
    switches = read_switches(tree, declared)
    ports = tuple(group for group, _ in switches.ports)
    places = places_of(declared, interfaces, nodes, ports)
    counterexamples = [
        *_missing(tree, declared),
        *unloaded(tree),
        *other_filters(tree),
        *unnarrowed_faults(tree, declared),
        *_nodes(tree, places, nodes),
        *_ports(places, switches.ports),
        *partitions.faults,
        *border_route_faults(tree, declared),
        *switches.faults,
        *host_port_faults(tree, declared),
        *carried_faults(tree, declared),
        *default_route_faults(tree, declared),
    ]
    return Verdict(
        facts=(*_facts(tree, declared, nodes, ports), *partitions.facts),
        counterexamples=tuple(counterexamples),
        cases=Cases("zones", len(declared.zones)),
        notes=(
            *declared.internet,
            *_open_notes(tree, declared),
            *enforcement_notes(tree, declared),
            *uncarried_notes(tree, declared),
        ),
    )


def _facts(
    tree: RenderedTree, declared: DeclaredIsolation, nodes: tuple[NodeFilter, ...], ports: tuple[PortGroup, ...]
) -> Iterator[Fact]:
    with_flow = {(flow.source, flow.target) for flow in declared.flows}
    left_open = _open_zones(tree, declared)
    zones = [zone.name for zone in declared.zones if zone.name not in left_open]
    closed = [pair for pair in product(zones, repeat=2) if pair not in with_flow]
    unread = tree.left_open_for("isolation")
    filtered = set(chain.from_iterable(node.nodes for node in nodes if node.file == RUNNING))
    yield Fact("zones", len(declared.zones))
    yield Fact("flows", len(declared.flows))
    yield Fact("pairs of zones with a flow", len(with_flow))
    yield Fact("pairs of zones without, closed", len(closed))
    yield Fact("nodes with a filter", len(filtered - unread))
    yield Fact("different node filters", len(nodes))
    yield Fact("switches with a filter", len({port.device for port in ports}))
    yield Fact("switch ports with a filter", sum(len(port.ports) for port in ports))


def _open_zones(tree: RenderedTree, declared: DeclaredIsolation) -> frozenset[str]:
    """Zones of hosts with unreadable filters: the flows of these hosts are not known."""
    unread = tree.left_open_for("isolation")
    return frozenset(chain.from_iterable(declared.zones_of.get(device, ()) for device in unread))


def _open_notes(tree: RenderedTree, declared: DeclaredIsolation) -> Iterator[str]:
    """A note on hosts without any proven pair of zones."""
    unread = sorted(tree.left_open_for("isolation") & declared.zones_of.keys())
    if unread:
        zones = and_more(sorted(_open_zones(tree, declared)), 4)
        yield (
            f"no pair with {zones} is proven: the filter of {count(len(unread), 'host')}, as {unread[0]}, does not"
            " read. Every other filter was checked."
        )


def _missing(tree: RenderedTree, declared: DeclaredIsolation) -> Iterator[Counterexample]:
    """Configured nodes without a filter."""
    configured = tree.devices_below(NETWORKS)
    for device in sorted(configured & declared.zones_of.keys()):
        is_ours = device in declared.imaged or device not in declared.beside_others
        if is_ours and (device, RUNNING) not in tree.files:
            yield Counterexample(
                device=device,
                file=RUNNING,
                line=0,
                message="there is no filter: the node accepts and sends everything that its port passes",
            )


def _nodes(tree: RenderedTree, places: FilterPlaces, nodes: Iterable[NodeFilter]) -> Iterator[Counterexample]:
    """Differences of nodes' filters; an unreadable one leaves its own nodes open."""
    for node in nodes:
        try:
            yield from _node(places, node)
        except VerifyError as error:
            for device in node.nodes:
                leave_open(tree, device, node.file, error)


def _node(places: FilterPlaces, node_filter: NodeFilter) -> Iterator[Counterexample]:
    nodes, file = node_filter.nodes, node_filter.file
    also = f" {count(len(nodes), 'node')} have this file." if len(nodes) > 1 else ""
    for line, message in loading_faults(places.declared, node_filter):
        yield Counterexample(device=nodes[0], file=file, line=line, message=f"{message}{also}")
    for checked in check_hooks(places.declared, node_filter, places.interfaces):
        for line, message in _hook_faults(places, node_filter, checked):
            yield Counterexample(device=nodes[0], file=file, line=line, message=f"{message}{also}")
        for idle in checked.idle:
            message = f"{idle_phrase(checked.hook, idle)}{also}"
            yield Counterexample(device=nodes[0], file=file, line=idle.line, message=message)


def _hook_faults(places: FilterPlaces, node_filter: NodeFilter, checked: CheckedHook) -> Iterator[tuple[int, str]]:
    """Differences of a filter at a hook, as line and message."""
    hook, device = checked.hook, node_filter.nodes[0]
    far = SRC if hook == "input" else DST
    usual_origin = OWN if hook == "output" else FOREIGN
    near = tuple(_nics(places, device, hook))
    extra, missing = checked.passes - checked.wanted, checked.wanted - checked.always
    for difference in _differences(places, extra, missing, far=far, near=near, device=device):
        packet = difference.packet
        if difference.extra:
            line, is_rated = node_filter.decide(hook, packet).line, False
        else:
            line, is_rated = node_filter.stopping(hook, packet)
        rated = " It passes up to a rate alone." if is_rated else ""
        fault = _difference_phrase(places, difference, usual_origin)
        yield line, f"{hook} ({_interface(places, hook, packet)}) {fault}{places.way(packet, hook=hook)}.{rated}"


def _nics(places: FilterPlaces, device: str, hook: str) -> Iterator[Box]:
    """Interface and address of each NIC of a node, as boxes of its packets."""
    for (version, number), (name, port) in places.declared.addresses.items():
        if name == device:
            family, interface = values(int(version == 6)), places.interfaces.of(port)
            if hook == "input":
                yield box(family=family, iif=interface, dst=values(number))
            else:
                yield box(family=family, oif=interface, src=values(number))


def _hosts(places: FilterPlaces, port_filter: PortFilter) -> Iterator[Box]:
    """Address of each host behind a switch's ports, as boxes of its packets."""
    ends: set[tuple[str, str]] = set()
    for edge in places.declared.edges:
        if (edge.switch, edge.fabric) == (port_filter.device, port_filter.fabric):
            ends.update(edge.ports[port] for port in port_filter.ports if port in edge.ports)
            break
    for (version, number), end in places.declared.addresses.items():
        if end in ends:
            yield box(family=values(int(version == 6)), src=values(number))


def _own_port(places: FilterPlaces, port_filter: PortFilter) -> Iterator[Box]:
    """Address of a management port, as a box of packets to it."""
    ends = {(port_filter.device, port) for port in port_filter.ports}
    for (version, number), end in places.declared.addresses.items():
        if end in ends:
            yield box(family=values(int(version == 6)), dst=values(number))


_NEAR = {HOSTS: _hosts, MANAGEMENT: _own_port}


def _interface(places: FilterPlaces, hook: str, packet: Packet) -> str:
    field = IIF if hook == "input" else OIF
    return places.interfaces.name(packet[field])


def _ports(places: FilterPlaces, groups: Iterable[tuple[PortGroup, object]]) -> Iterator[Counterexample]:
    """Differences of switches' filters; those that differ in their local addresses alone are checked once.

    Each group comes with its shape.
    """
    clean: set[object] = set()
    for group, shape in groups:
        if shape in clean:
            continue
        counterexamples: list[Counterexample] = []
        with errors_leave_open(group.tree, group.device, group.file):
            counterexamples += [Counterexample(group.device, group.file, *fault) for fault in group.lists.faults()]
        for port_filter in group.filters():
            with errors_leave_open(group.tree, group.device, group.file):
                passes, idle = port_filter.passes()
                counterexamples += [
                    *_port(places, port_filter, passes),
                    *(_port_idle(port_filter, rule) for rule in idle),
                ]
        if not counterexamples:
            clean.add(shape)
        yield from counterexamples


def _port(places: FilterPlaces, port_filter: PortFilter, passes: PacketSet) -> Iterator[Counterexample]:
    extra = PacketSet(()) if port_filter.kind in OTHERS else passes - port_filter.wanted
    missing = port_filter.wanted - passes
    if not extra and not missing:
        return
    near = tuple(_NEAR[port_filter.kind](places, port_filter)) if port_filter.kind in _NEAR else ()
    far = DST if port_filter.kind == HOSTS or port_filter.kind in OUTWARDS else SRC
    name = f"{port_filter.kind} {port_filter.ports[0]}"
    if len(port_filter.ports) > 1:
        name += f" and {len(port_filter.ports) - 1:,} more"
    for difference in _differences(places, extra, missing, far=far, near=near, device=port_filter.device):
        decision = port_filter.decide(difference.packet)
        rule = f", rule {decision.name}" if decision.name else ""
        way = places.way(difference.packet, port_filter.fabric)
        message = f"{name}{rule}: {_difference_phrase(places, difference, FOREIGN)}{way}."
        yield Counterexample(device=port_filter.device, file=port_filter.file, line=decision.line, message=message)


def _port_idle(port_filter: PortFilter, idle: Idle) -> Counterexample:
    return Counterexample(
        device=port_filter.device,
        file=port_filter.file,
        line=idle.line,
        message=idle_phrase(f"{port_filter.kind} {port_filter.ports[0]}", idle),
    )


def _differences(
    places: FilterPlaces, extra: PacketSet, missing: PacketSet, *, far: int, near: tuple[Box, ...], device: str
) -> Iterator[_Difference]:
    """Packets passing beyond the matrix, and stopped packets of it: one for each zone on the far side."""
    for packets, is_extra in ((extra, True), (missing, False)):
        shown = 0
        remaining = packets
        if not packets:
            continue
        for limit in _far_sides(places.declared, far):
            part = remaining & limit
            if not part or shown == _SHOWN_PER_FILTER:
                continue
            remaining = remaining - limit
            shown += 1
            yield _Difference(places.concrete(part, far, near, device), is_extra)


def _far_sides(declared: DeclaredIsolation, far: int) -> Iterator[PacketSet]:
    """Addresses of one zone after another, then all other addresses."""
    name = "src" if far == SRC else "dst"
    for zone in declared.zones:
        addresses: dict[int, Ranges] = {}
        for part in zone.parts:
            addresses[part.version] = addresses.get(part.version, EMPTY) | part.addresses
        for version, of_version in addresses.items():
            yield PacketSet((box(family=values(int(version == 6)), **{name: of_version}),)) & EVERYTHING
    yield EVERYTHING


def _difference_phrase(places: FilterPlaces, difference: _Difference, usual_origin: int) -> str:
    """Fault of a packet in a sentence, without its path."""
    packet = difference.packet
    version = version_of(packet)
    source = places.declared.zone_at(version, packet[SRC])
    target = places.declared.zone_at(version, packet[DST])
    verb = "passes" if difference.extra else "is stopped"
    reason = "no flow allows it" if difference.extra else "it is declared"
    return f"{packet_phrase(packet, usual_origin)} {verb}, {source} to {target}: {reason}. "


def _has_filters(tree: RenderedTree) -> bool:
    return not _FILES.isdisjoint(tree.paths) or has_subnet(tree)


ISOLATION = ProofCheck(
    name="isolation",
    claim="Between zones, exactly the traffic that the flows declare can pass.",
    kinds=KINDS,
    intent=NETWORK_INTENT | PARTITION_INTENT | {"isolation", "stopped", "unplugged"},
    applies=_has_filters,
    check=_check,
    spec_only="permitted traffic, because a directory has no matrix of zones and flows; routes, missing filters, "
    "rules without matches and hidden rules were checked. Pass --spec to check the traffic",
    readings=switches_read,
    standing_alone=frozenset({RUNNING, LOADING}),
)
