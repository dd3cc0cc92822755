"""Ends of flows at switches: the port of a host, and a switch's own management port.

A permitted flow is not carried if the port at its end is in no network, or in another one than the host's, if no port
has the gateway's address, or if a management port has no route back. No file here is a baseboard controller's, or that
of a host without an image: only the switch's text shows it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property

from clusterwright.facts.router import covers, shown, shown_prefix
from clusterwright.packets.phrases import address
from clusterwright.packets.ranges import EMPTY, Ranges
from clusterwright.packets.values import addresses, everywhere
from clusterwright.proofs.check import Counterexample, example
from clusterwright.proofs.ethernet.network import has_network, network_of_tree
from clusterwright.proofs.isolation.declared import DeclaredEdge, DeclaredIsolation
from clusterwright.proofs.isolation.routes import leads_everywhere
from clusterwright.proofs.tree import RenderedTree
from clusterwright.switches.readers import READERS

_End = tuple[str, str]
"""A device and its port."""


@dataclass(frozen=True)
class NotedEnds:
    """The declared isolation, with the management ports and routes found by readers."""

    declared: DeclaredIsolation
    addresses: set[_End] = field(default_factory=set)
    routes: dict[str, set[tuple[str, str]]] = field(default_factory=dict)

    @property
    def linked(self) -> Mapping[str, frozenset[str]]:
        """As in DeclaredIsolation."""
        return self.declared.linked

    def knows(self, text: str) -> bool:
        """As in DeclaredIsolation."""
        return self.declared.knows(text)

    def unmet(self, switch: str, neighbour: str) -> str:
        """As in DeclaredIsolation."""
        return self.declared.unmet(switch, neighbour)

    def misplaced(self, switch: str, port: str, text: str) -> str:
        """Fault as in DeclaredIsolation; records planned management ports with an address."""
        if (switch, port) in self.declared.managed_ends:
            self.addresses.add((switch, port))
        return self.declared.misplaced(switch, port, text)

    def route(self, device: str, destination: str, hop: str) -> None:
        """Record a route."""
        self.routes.setdefault(device, set()).add((destination, hop))


def host_port_faults(tree: RenderedTree, declared: DeclaredIsolation) -> Iterator[Counterexample]:
    """Host ports in service with a network unsuitable for their host. Raises VerifyError."""
    if not has_network(tree):
        return
    routers, ends = network_of_tree(tree).routers, _Ends(declared)
    for edge in declared.edges:
        router = routers.get(edge.switch)
        if router is None:
            continue
        ports = {port.name: port for port in router.ports}
        switch_addresses = {own_address for _, own_address in router.own_addresses}
        for name, end in edge.ports.items():
            if end not in ends.of or _is_idle(tree, end):
                continue
            version, number = ends.of[end]
            port, host = ports.get(name), _packed(version, number)
            if port is None:
                yield example(
                    tree, router.device, router.ports_file, (), f"{name}, to {' '.join(end)}, is not in service"
                )
            elif port.subnet is None or not covers(port.subnet, (host, 8 * len(host))):
                network = "no network" if port.subnet is None else shown_prefix(port.subnet)
                message = f"{name} is in {network}, and {' '.join(end)} has {shown(host)}: nothing reaches it"
                yield example(tree, router.device, router.ports_file, port.start, message)
            elif edge.gateway is not None and _packed(version, edge.gateway) not in switch_addresses:
                message = f"{' '.join(end)} sends to {address(version, edge.gateway)}, which is no address here"
                yield example(tree, router.device, router.ports_file, port.start, message)


def management_faults(tree: RenderedTree, declared: DeclaredIsolation, noted: NotedEnds) -> Iterator[Counterexample]:
    """Management ports of switches without their address, or without a route to the peers of a flow."""
    ends = _Ends(declared)
    unread = tree.left_open_for("isolation")
    wanted: dict[tuple[str, int], tuple[tuple[str, Ranges], ...]] = {}
    for reader in READERS:
        if reader.has_host_firewall:
            continue  # a profile of the Linux below configures its port, and every byte of it is compared
        for device in tree.devices_with(reader.file):
            end = ends.management.get(device)
            if end is None or device in unread or _is_idle(tree, end):
                continue
            version, number = ends.of[end]
            if end not in noted.addresses:  # a wrong address is reported at its line
                message = f"{end[1]} has not the address {address(version, number)}: no flow reaches the switch there"
                yield Counterexample(device=device, file=reader.file, line=0, message=message)
            edge = ends.edge[end]
            reached = edge.subnet | _reached(noted.routes.get(device, set()), version, _gateway(edge, number))
            fabric = declared.management[device]
            if (fabric, version) not in wanted:
                wanted[fabric, version] = tuple(_wanted(declared, fabric, version))
            for flow, peers in wanted[fabric, version]:
                unreached = peers - reached
                if unreached:
                    peer = unreached.bounds[0][0]
                    destination = f"{address(version, peer)}, {declared.zone_at(version, peer)}"
                    message = f"{end[1]}: no route leads to {destination}, as flow {flow} asks"
                    yield Counterexample(device=device, file=reader.file, line=0, message=message)
                    break


@dataclass(frozen=True)
class _Ends:
    """Planned ends of cables to hosts and management ports."""

    declared: DeclaredIsolation

    @cached_property
    def of(self) -> Mapping[_End, tuple[int, int]]:
        """IP version and number of the address at each end."""
        return {end: numbered for numbered, end in self.declared.addresses.items()}

    @cached_property
    def edge(self) -> Mapping[_End, DeclaredEdge]:
        """Edge switch of each end."""
        edges: dict[_End, DeclaredEdge] = {}
        for edge in self.declared.edges:
            edges.update(dict.fromkeys(edge.ports.values(), edge))
        return edges

    @cached_property
    def management(self) -> Mapping[str, _End]:
        """Management port with an address of each switch."""
        return {end[0]: end for end in self.of if end[0] in self.declared.management}


def _packed(version: int, number: int) -> bytes:
    """Address in the form of routers' facts."""
    return number.to_bytes(4 if version == 4 else 16, "big")


def _is_idle(tree: RenderedTree, end: _End) -> bool:
    """Whether the spec takes the device or its cable out of service."""
    declaration = tree.declaration
    return declaration is not None and (end[0] in declaration.stopped or end in declaration.unplugged)


def _gateway(edge: DeclaredEdge, number: int) -> int:
    """The switch's address for a management port: that of the subnet, or the other end of a point-to-point link."""
    return number ^ 1 if edge.gateway is None else edge.gateway


def _reached(routes: set[tuple[str, str]], version: int, gateway: int) -> Ranges:
    """Destinations of routes through a gateway."""
    destinations, hop = EMPTY, address(version, gateway)
    for destination, via in routes:
        if via != hop:
            continue
        if leads_everywhere(destination):
            return everywhere(version)
        with suppress(ValueError):  # unreadable text is reported at its line
            destinations |= addresses(destination, version)
    return destinations


def _wanted(declared: DeclaredIsolation, fabric: str, version: int) -> Iterator[tuple[str, Ranges]]:
    """Peer addresses of management ports of a fabric, by flow."""
    for flow in declared.flows:
        peers = EMPTY
        for zone, peer_zone in ((flow.source, flow.target), (flow.target, flow.source)):
            if zone in declared.port_zones(fabric):
                peers |= declared.peers(zone, peer_zone, fabric, version)
        if peers:
            yield flow.name, peers
