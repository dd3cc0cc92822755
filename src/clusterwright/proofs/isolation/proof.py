"""The isolation proof: packets passing the rendered filters, compared both ways with the declared matrix."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, partial
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
    NodeFilter,
    check_hooks,
    loading_faults,
    node_filters,
)
from clusterwright.proofs.isolation.partition_pairs import PARTITION_INTENT, PartitionVerdict, partition_verdict
from clusterwright.proofs.isolation.switches import read_switches, switches_read
from clusterwright.proofs.isolation.way import FilterPlaces, places_of
from clusterwright.proofs.reading import reader_by_switch
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
        *_unnarrowed(tree, declared),
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


def _unnarrowed(tree: RenderedTree, declared: DeclaredIsolation) -> Iterator[Counterexample]:
    """Flows passed with every port by a chip without port ranges, to hosts without a filter to narrow them.

    Replies pass the same way back, from every port.
    """
    single_port_readers = [reader for reader in READERS if reader.single_ports]
    files = {device: reader.file for device, reader in reader_by_switch(tree, single_port_readers).items()}
    edges = [edge for edge in declared.edges if edge.switch in files]
    unfiltered = cache(partial(_unfiltered, declared))  # called for every edge, and equal for all edges of a fabric
    if edges:
        for flow in declared.flows:
            if not flow.has_long_range:
                continue
            for source, target, what in (
                (flow.source, flow.target, ""),
                (flow.target, flow.source, " for its replies"),
            ):
                for edge in edges:
                    local = any(part.addresses & edge.subnet for part in declared.zone[source].parts)
                    host = unfiltered(target, edge.fabric) if local else None
                    if host is not None:
                        yield Counterexample(
                            device=edge.switch,
                            file=files[edge.switch],
                            line=0,
                            message=f"flow {flow.name}{what}: the switch knows no ranges and passes every"
                            f" port from {source} to "
                            f"{target}, where {host} has no filter to narrow that",
                        )
                        break


def _unfiltered(declared: DeclaredIsolation, zone: str, fabric: str) -> str | None:
    """First host of a zone on a fabric without a filter: it has no image, or is a management port."""
    parts = [part for part in declared.zone[zone].parts if part.fabric == fabric]
    is_managed = fabric in declared.management.values()
    if not parts:
        return None
    hosts: set[str] = set()
    for (version, number), (device, _) in declared.addresses.items():
        if device in declared.imaged and not is_managed:
            continue
        if any(part.version == version and number in part.addresses for part in parts):
            hosts.add(device)
    return min(hosts, default=None)


def _nodes(tree: RenderedTree, places: FilterPlaces, nodes: Iterable[NodeFilter]) -> Iterator[Counterexample]:
    """Differences of nodes' filters; an unreadable one leaves its own nodes open."""
    for node in nodes:
        try:
            yield from _node(places, node)
        except VerifyError as error:
            for device in node.nodes:
                leave_open(tree, device, node.file, error)


def _node(places: FilterPlaces, node_filter: NodeFilter) -> Iterator[Counterexample]:
    device = node_filter.nodes[0]
    also = f" {count(len(node_filter.nodes), 'node')} have this file." if len(node_filter.nodes) > 1 else ""
    for line, message in loading_faults(places.declared, node_filter):
        yield Counterexample(device=device, file=node_filter.file, line=line, message=f"{message}{also}")
    for checked in check_hooks(places.declared, node_filter, places.interfaces):
        far = SRC if checked.hook == "input" else DST
        usual = OWN if checked.hook == "output" else FOREIGN
        near = tuple(_nics(places, device, checked.hook))
        extra, missing = checked.passes - checked.wanted, checked.wanted - checked.always
        for one in _differences(places, extra, missing, far=far, near=near, device=device):
            if one.extra:
                line, is_rated = node_filter.decide(checked.hook, one.packet).line, False
            else:
                line, is_rated = node_filter.stopping(checked.hook, one.packet)
            rated = " It passes up to a rate alone." if is_rated else ""
            name = f" ({_interface(places, checked.hook, one.packet)})"
            way = places.way(one.packet, hook=checked.hook)
            message = f"{checked.hook}{name} {_what(places, one, usual)}{way}.{rated}{also}"
            yield Counterexample(device=device, file=node_filter.file, line=line, message=message)
        for idle in checked.idle:
            yield Counterexample(
                device=device, file=node_filter.file, line=idle.line, message=f"{idle_phrase(checked.hook, idle)}{also}"
            )


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
    edge = next(
        (e for e in places.declared.edges if (e.switch, e.fabric) == (port_filter.device, port_filter.fabric)), None
    )
    ends = {edge.ports[port] for port in port_filter.ports if port in edge.ports} if edge is not None else set()
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
    return places.interfaces.name(packet[IIF if hook == "input" else OIF])


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
    extra = PacketSet(()) if port_filter.what in OTHERS else passes - port_filter.wanted
    missing = port_filter.wanted - passes
    if not extra and not missing:
        return
    near = tuple(_NEAR[port_filter.what](places, port_filter)) if port_filter.what in _NEAR else ()
    far = DST if port_filter.what == HOSTS or port_filter.what in OUTWARDS else SRC
    for one in _differences(places, extra, missing, far=far, near=near, device=port_filter.device):
        decision = port_filter.decide(one.packet)
        name = f"{port_filter.what} {port_filter.ports[0]}" + (
            f" and {len(port_filter.ports) - 1:,} more" if len(port_filter.ports) > 1 else ""
        )
        rule = f", rule {decision.name}" if decision.name else ""
        message = f"{name}{rule}: {_what(places, one, FOREIGN)}{places.way(one.packet, port_filter.fabric)}."
        yield Counterexample(device=port_filter.device, file=port_filter.file, line=decision.line, message=message)


def _port_idle(port_filter: PortFilter, idle: Idle) -> Counterexample:
    return Counterexample(
        device=port_filter.device,
        file=port_filter.file,
        line=idle.line,
        message=idle_phrase(f"{port_filter.what} {port_filter.ports[0]}", idle),
    )


def _differences(
    places: FilterPlaces, extra: PacketSet, missing: PacketSet, *, far: int, near: tuple[Box, ...], device: str
) -> Iterator[_Difference]:
    """Packets passing beyond the matrix, and stopped packets of it: one for each zone on the far side."""
    for packets, is_extra in ((extra, True), (missing, False)):
        shown = 0
        left = packets
        if packets:
            for limit in _far_sides(places.declared, far):
                part = left & limit
                if not part or shown == _SHOWN_PER_FILTER:
                    continue
                left = left - limit
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


def _what(places: FilterPlaces, one: _Difference, usual_origin: int) -> str:
    """Fault of a packet in a sentence, without its path."""
    declared = places.declared
    version = version_of(one.packet)
    pair = [declared.zone_at(version, one.packet[side]) for side in (SRC, DST)]
    verb = "passes" if one.extra else "is stopped"
    reason = "no flow allows it" if one.extra else "it is declared"
    return f"{packet_phrase(one.packet, usual_origin)} {verb}, {pair[0]} to {pair[1]}: {reason}. "


def _has_filters(tree: RenderedTree) -> bool:
    return not _FILES.isdisjoint(tree.paths) or has_subnet(tree)


ISOLATION = ProofCheck(
    name="isolation",
    claim="Between every two zones passes what the matrix of flows declares, nothing more and nothing less.",
    kinds=KINDS,
    intent=NETWORK_INTENT | PARTITION_INTENT | {"isolation", "stopped", "unplugged"},
    applies=_has_filters,
    check=_check,
    spec_only="what passes, since a folder cannot vouch for its own matrix of zones and flows; routes, missing "
    "filters, rules that match nothing and rules that others hide were checked. Name the spec to compare what passes",
    readings=switches_read,
    standing_alone=frozenset({RUNNING, LOADING}),
)
