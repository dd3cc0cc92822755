"""The isolation proof: everything that the rendered filters let pass, compared both ways with the declared matrix."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, partial

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
from clusterwright.proofs.infiniband.manager_options import CONFIG_FILES
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
    judging,
    leave_open,
)
from clusterwright.proofs.isolation.ends import host_port_faults
from clusterwright.proofs.isolation.enforcement import enforcement_notes
from clusterwright.proofs.isolation.folder import folder_verdict
from clusterwright.proofs.isolation.loading import other_filters, unloaded
from clusterwright.proofs.isolation.nodes import (
    BOOTING,
    NETWORKS,
    RUNNING,
    NodeFilter,
    judge,
    node_filters,
)
from clusterwright.proofs.isolation.partition_pairs import PartitionVerdict, partition_verdict
from clusterwright.proofs.isolation.switches import read_switches, switches_read
from clusterwright.proofs.isolation.way import FilterPlaces, places_of
from clusterwright.proofs.tree import RenderedTree
from clusterwright.switches.readers import READERS

KINDS = frozenset({"nftables", "node-system", "node-network", "opensm", "ufm"}).union(*(each.kinds for each in READERS))
_FILES = frozenset({RUNNING, BOOTING, *(reader.file for reader in READERS), *CONFIG_FILES})
_SHOWN_PER_FILTER = 6


@dataclass(frozen=True, slots=True)
class _Difference:
    """A packet that a filter treats otherwise than declared; ``extra`` when it passes and should not."""

    packet: Packet
    extra: bool


def _run(tree: RenderedTree) -> Verdict:
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
    found = [
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
        counterexamples=tuple(found),
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
    closed = [(one, other) for one in zones for other in zones if (one, other) not in with_flow]
    unread = tree.left_open_for("isolation")
    filtered = {device for node in nodes if node.file == RUNNING for device in node.nodes}
    yield Fact("zones", len(declared.zones))
    yield Fact("flows", len(declared.flows))
    yield Fact("pairs of zones with a flow", len(with_flow))
    yield Fact("pairs of zones without, closed", len(closed))
    yield Fact("nodes with a filter", len(filtered - unread))
    yield Fact("different node filters", len(nodes))
    yield Fact("switches with a filter", len({port.device for port in ports}))
    yield Fact("switch ports with a filter", sum(len(port.ports) for port in ports))


def _open_zones(tree: RenderedTree, declared: DeclaredIsolation) -> frozenset[str]:
    """Zones of hosts whose filters do not read: what reaches these hosts, and what they reach, is not known."""
    unread = tree.left_open_for("isolation")
    return frozenset(zone for device in unread for zone in declared.zones_of.get(device, ()))


def _open_notes(tree: RenderedTree, declared: DeclaredIsolation) -> Iterator[str]:
    """The hosts on which no pair of their zones is judged."""
    unread = sorted(tree.left_open_for("isolation") & declared.zones_of.keys())
    if unread:
        zones = and_more(sorted(_open_zones(tree, declared)), 4)
        yield (
            f"no pair with {zones} is proven: the filter of {count(len(unread), 'host')}, as {unread[0]}, does not"
            " read. Every other filter was judged."
        )


def _missing(tree: RenderedTree, declared: DeclaredIsolation) -> Iterator[Counterexample]:
    """Nodes that are configured, but have no filter."""
    configured = tree.devices_below(NETWORKS)
    for device in sorted(configured & declared.zones_of.keys()):
        is_ours = device in declared.imaged or device not in declared.beside_others
        if is_ours and (device, RUNNING) not in tree.files:
            yield Counterexample(
                device=device,
                file=RUNNING,
                line=0,
                message="there is no filter: the node takes and sends whatever its port passes",
            )


def _unnarrowed(tree: RenderedTree, declared: DeclaredIsolation) -> Iterator[Counterexample]:
    """Flows that a chip without port ranges passes with every port, to hosts that have no filter to narrow them.

    Replies pass the same way back, from every port.
    """
    files = {
        device: reader.file for reader in READERS if reader.single_ports for device in tree.devices_with(reader.file)
    }
    edges = [edge for edge in declared.edges if edge.switch in files]
    unfiltered = cache(partial(_unfiltered, declared))  # asked for every edge, and the same for all of a fabric
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
    """The first host of a zone on a fabric that judges no packet itself: it has no image, or is a management port."""
    own = [part for part in declared.zone[zone].parts if part.fabric == fabric]
    is_managed = fabric in declared.management.values()
    found = {
        device
        for (version, number), (device, _) in (declared.addresses.items() if own else ())
        if (is_managed or device not in declared.imaged)
        and any(part.version == version and number in part.addresses for part in own)
    }
    return min(found, default=None)


def _nodes(tree: RenderedTree, places: FilterPlaces, nodes: Iterable[NodeFilter]) -> Iterator[Counterexample]:
    """The differences of nodes' filters; one that does not read leaves its own nodes open."""
    for node in nodes:
        try:
            yield from _node(places, node)
        except VerifyError as error:
            for device in node.nodes:
                leave_open(tree, device, node.file, error)


def _node(places: FilterPlaces, own: NodeFilter) -> Iterator[Counterexample]:
    device = own.nodes[0]
    also = f" {count(len(own.nodes), 'node')} have this file." if len(own.nodes) > 1 else ""
    has_neighbours = any(node in places.declared.beside_others for node in own.nodes)
    if not (own.ruleset.replaces_itself if has_neighbours else own.ruleset.flushes):
        yield Counterexample(
            device=device,
            file=own.file,
            line=0,
            message=f"nothing flushes the rules that were loaded before: they stay.{also}",
        )
    for judged in judge(places.declared, own, places.interfaces):
        far = SRC if judged.hook == "input" else DST
        usual = OWN if judged.hook == "output" else FOREIGN
        near = tuple(_nics(places, device, judged.hook))
        extra, missing = judged.passes - judged.wanted, judged.wanted - judged.always
        for one in _differences(places, extra, missing, far=far, near=near, device=device):
            if one.extra:
                line, is_rated = own.decide(judged.hook, one.packet).line, False
            else:
                line, is_rated = own.stopping(judged.hook, one.packet)
            rated = " It passes up to a rate alone." if is_rated else ""
            name = f" ({_interface(places, judged.hook, one.packet)})"
            way = places.way(one.packet, hook=judged.hook)
            message = f"{judged.hook}{name} {_what(places, one, usual)}{way}.{rated}{also}"
            yield Counterexample(device=device, file=own.file, line=line, message=message)
        for idle in judged.idle:
            yield Counterexample(
                device=device, file=own.file, line=idle.line, message=f"{idle_phrase(judged.hook, idle)}{also}"
            )


def _nics(places: FilterPlaces, device: str, hook: str) -> Iterator[Box]:
    """What packets of each NIC of a node have in common: the interface and the address there."""
    for (version, number), (name, port) in places.declared.addresses.items():
        if name == device:
            family, interface = values(int(version == 6)), places.interfaces.of(port)
            if hook == "input":
                yield box(family=family, iif=interface, dst=values(number))
            else:
                yield box(family=family, oif=interface, src=values(number))


def _hosts(places: FilterPlaces, own: PortFilter) -> Iterator[Box]:
    """What packets from each host behind a switch's ports have in common: its address."""
    edge = next((e for e in places.declared.edges if (e.switch, e.fabric) == (own.device, own.fabric)), None)
    ends = {edge.ports[port] for port in own.ports if port in edge.ports} if edge is not None else set()
    for (version, number), end in places.declared.addresses.items():
        if end in ends:
            yield box(family=values(int(version == 6)), src=values(number))


def _own_port(places: FilterPlaces, own: PortFilter) -> Iterator[Box]:
    """What packets to a management port have in common: its address."""
    ends = {(own.device, port) for port in own.ports}
    for (version, number), end in places.declared.addresses.items():
        if end in ends:
            yield box(family=values(int(version == 6)), dst=values(number))


_NEAR = {HOSTS: _hosts, MANAGEMENT: _own_port}


def _interface(places: FilterPlaces, hook: str, packet: Packet) -> str:
    return places.interfaces.name(packet[IIF if hook == "input" else OIF])


def _ports(places: FilterPlaces, groups: Iterable[tuple[PortGroup, object]]) -> Iterator[Counterexample]:
    """The differences of switches' filters; those that differ in their local addresses alone are judged once.

    Each group comes with its shape.
    """
    clean: set[object] = set()
    for group, shape in groups:
        if shape in clean:
            continue
        counterexamples: list[Counterexample] = []
        with judging(group.tree, group.device, group.file):
            counterexamples += [Counterexample(group.device, group.file, *fault) for fault in group.lists.faults()]
        for own in group.filters():
            with judging(group.tree, group.device, group.file):
                passes, idle = own.passes()
                counterexamples += [*_port(places, own, passes), *(_port_idle(own, each) for each in idle)]
        if not counterexamples:
            clean.add(shape)
        yield from counterexamples


def _port(places: FilterPlaces, own: PortFilter, passes: PacketSet) -> Iterator[Counterexample]:
    extra = PacketSet(()) if own.what in OTHERS else passes - own.wanted
    missing = own.wanted - passes
    if not extra and not missing:
        return
    near = tuple(_NEAR[own.what](places, own)) if own.what in _NEAR else ()
    far = DST if own.what == HOSTS or own.what in OUTWARDS else SRC
    for one in _differences(places, extra, missing, far=far, near=near, device=own.device):
        decision = own.decide(one.packet)
        name = f"{own.what} {own.ports[0]}" + (f" and {len(own.ports) - 1:,} more" if len(own.ports) > 1 else "")
        rule = f", rule {decision.name}" if decision.name else ""
        message = f"{name}{rule}: {_what(places, one, FOREIGN)}{places.way(one.packet, own.fabric)}."
        yield Counterexample(device=own.device, file=own.file, line=decision.line, message=message)


def _port_idle(own: PortFilter, idle: Idle) -> Counterexample:
    return Counterexample(
        device=own.device, file=own.file, line=idle.line, message=idle_phrase(f"{own.what} {own.ports[0]}", idle)
    )


def _differences(
    places: FilterPlaces, extra: PacketSet, missing: PacketSet, *, far: int, near: tuple[Box, ...], device: str
) -> Iterator[_Difference]:
    """Concrete packets for what passes beyond the matrix and for what it misses: one for each zone on the far side."""
    for found, is_extra in ((extra, True), (missing, False)):
        shown = 0
        left = found
        if found:
            for limit in _far_sides(places.declared, far):
                part = left & limit
                if not part or shown == _SHOWN_PER_FILTER:
                    continue
                left = left - limit
                shown += 1
                yield _Difference(places.concrete(part, far, near, device), is_extra)


def _far_sides(declared: DeclaredIsolation, far: int) -> Iterator[PacketSet]:
    """The zones' addresses one after another, then all other addresses."""
    name = "src" if far == SRC else "dst"
    for zone in declared.zones:
        found: dict[int, Ranges] = {}
        for part in zone.parts:
            found[part.version] = found.get(part.version, EMPTY) | part.addresses
        for version, own in found.items():
            yield PacketSet((box(family=values(int(version == 6)), **{name: own}),)) & EVERYTHING
    yield EVERYTHING


def _what(places: FilterPlaces, one: _Difference, usual_origin: int) -> str:
    """What is wrong with what happens to a packet, in a sentence that ends before its way."""
    declared = places.declared
    version = version_of(one.packet)
    pair = [declared.zone_at(version, one.packet[side]) for side in (SRC, DST)]
    verb = "passes" if one.extra else "is stopped"
    reason = "no flow allows it" if one.extra else "it is declared"
    return f"{packet_phrase(one.packet, usual_origin)} {verb}, {pair[0]} to {pair[1]}: {reason}. "


def _has_filters(tree: RenderedTree) -> bool:
    return not _FILES.isdisjoint(tree.paths)


ISOLATION = ProofCheck(
    name="isolation",
    claim="Between every two zones passes what the matrix of flows declares, nothing more and nothing less.",
    kinds=KINDS,
    applies=_has_filters,
    judge=_run,
    spec_only="what passes, since a folder cannot vouch for its own matrix of zones and flows; judged were routes, "
    "missing filters, rules that match nothing and rules that others hide. Name the spec to compare what "
    "passes",
    readings=switches_read,
)
