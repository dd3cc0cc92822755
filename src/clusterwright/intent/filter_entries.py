"""The matrix of zones as ordered permits between prefixes: the source of every switch's filter.

Filters on switches keep no state, so a flow has two permits: one for its own direction, and one for its replies. After
the permits everything is denied.
"""

from __future__ import annotations

from ipaddress import IPv4Network, IPv6Network
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from clusterwright.intent.per_plan import per_plan
from clusterwright.intent.zone_networks import peers_over, zone_covers, zone_networks
from clusterwright.plan.model import network_bounds
from clusterwright.spec.isolation import WITH_PORTS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from clusterwright.plan.model import Plan
    from clusterwright.spec.fabric import Fabric
    from clusterwright.spec.isolation import Flow, Network, Zone

ANY = "any"
TCP, UDP, ICMP = "tcp", "udp", "icmp"
ECHO_REPLY = {4: 0, 6: 129}
ECHO_REQUEST = {4: 8, 6: 128}
# ICMP errors that IP needs: unreachable (with fragmentation needed), time exceeded, parameter problem.
ICMP_ERRORS = {4: (3, 11, 12), 6: (1, 2, 3, 4)}
# Neighbour solicitation and advertisement, and the listener reports that snooping switches want. They stay on the link.
ON_LINK = {4: (), 6: (135, 136, 131, 132, 143)}


class Permit(NamedTuple):
    """Traffic allowed from any of ``sources`` to any of ``targets``; no prefixes mean any address.

    ``protocol`` is tcp, udp, icmp or any; port ranges are inclusive, none mean all; ``established`` narrows TCP to
    segments with ACK or RST; ``types`` are ICMP types, of ICMPv6 in version 6. ``name`` is the flow's.
    """

    name: str
    version: int
    protocol: str
    sources: tuple[Network, ...] = ()
    targets: tuple[Network, ...] = ()
    source_ports: tuple[tuple[int, int], ...] = ()
    target_ports: tuple[tuple[int, int], ...] = ()
    established: bool = False
    types: tuple[int, ...] = ()


def local_permits(
    plan: Plan, fabric: Fabric, locals_of: tuple[tuple[Zone, tuple[Network, ...]], ...]
) -> tuple[Permit, ...]:
    """Permits of these zones' addresses over a fabric; ``locals_of`` pairs each zone with its local prefixes.

    The order is that of docs/isolation.md: the link's own traffic, flows, replies, ICMP errors.
    """
    if fabric.addressing is None:
        return ()
    version = fabric.addressing.hosts.version
    permits = list(on_link(version))
    for zone, local_networks in locals_of:
        permits.extend(permit._replace(sources=local_networks) for permit in _sent(plan, zone.name, fabric.name))
    everything = tuple(dict.fromkeys(chain.from_iterable(local_networks for _, local_networks in locals_of)))
    if everything:
        permits.append(
            Permit(name="icmp errors", version=version, protocol=ICMP, sources=everything, types=ICMP_ERRORS[version])
        )
    return tuple(permits)


def on_link(version: int) -> tuple[Permit, ...]:
    """Neighbour discovery and listener reports; nothing in IPv4: ARP is no IP."""
    if not ON_LINK[version]:
        return ()
    return (Permit("neighbour discovery", version, ICMP, types=ON_LINK[version]),)


def _sent(plan: Plan, zone_name: str, fabric_name: str) -> tuple[Permit, ...]:
    """Permits of the flows from a zone and of replies by it, still without sources."""
    zone = plan.spec.zone(zone_name)
    fabric = plan.spec.fabric(fabric_name)
    if zone is None or fabric is None:
        return ()
    forward: list[Permit] = []
    backward: list[Permit] = []
    for flow in plan.spec.flows:
        if flow.source == zone.name:
            forward.extend(_towards(plan, zone, flow, flow.target, fabric, reply=False))
        if flow.target == zone.name and not flow.is_rdma:
            backward.extend(_towards(plan, zone, flow, flow.source, fabric, reply=True))
    return (*forward, *backward)


def _towards(plan: Plan, zone: Zone, flow: Flow, other: str, fabric: Fabric, *, reply: bool) -> Iterator[Permit]:
    if flow.is_rdma and fabric.technology != "roce":
        return
    targets = peer_networks(plan, zone.name, other, fabric.name)
    if targets:
        yield permit_of(flow, targets[0].version, reply=reply)._replace(targets=targets)


def permit_of(flow: Flow, version: int, *, reply: bool) -> Permit:
    """A flow, or its replies, between addresses still to be named."""
    name = f"{flow.name} replies" if reply else flow.name
    if flow.protocol == ICMP:
        echo = ECHO_REPLY if reply else ECHO_REQUEST
        return Permit(name, version, ICMP, types=(echo[version],))
    if flow.protocol not in WITH_PORTS:
        return Permit(name, version, ANY)
    if reply:
        return Permit(name, version, flow.protocol, source_ports=flow.ports, established=flow.protocol == TCP)
    return Permit(name, version, flow.protocol, target_ports=flow.ports)


def peer_networks(plan: Plan, zone_name: str, other_name: str, fabric_name: str) -> tuple[Network, ...]:
    """Addresses of a zone's peer over a fabric, of the fabric's IP version."""
    fabric = plan.spec.fabric(fabric_name)
    if fabric is None or fabric.addressing is None:
        return ()
    version = fabric.addressing.hosts.version
    entries = peers_over(plan, zone_name, other_name, fabric_name)
    return tuple(entry.network for entry in entries if entry.network.version == version)


@per_plan
def zones_on(plan: Plan, fabric_name: str) -> tuple[tuple[Zone, tuple[Network, ...]], ...]:
    """The zones with addresses on a fabric, in the spec's order, and their prefixes there."""
    fabric = plan.spec.fabric(fabric_name)
    if fabric is None or fabric.addressing is None:
        return ()
    zones = []
    for zone in plan.spec.zones:
        if zone_covers(plan, zone, fabric):
            entries = zone_networks(plan, zone.name)
            networks = tuple(entry.network for entry in entries if entry.fabric == fabric.name)
            if networks:
                zones.append((zone, networks))
    return tuple(zones)


def behind(plan: Plan, fabric: Fabric, subnet: Network) -> tuple[tuple[Zone, tuple[Network, ...]], ...]:
    """The zones with addresses in a switch's host subnet, and those addresses in the fewest prefixes."""
    first, last = network_bounds(subnet)
    networks_behind = []
    for zone, networks in _bounds_on(plan, fabric.name):
        inside = []
        for network, low, high in networks:
            if low <= last and first <= high and network.version == subnet.version:
                inside.append(_meet(network, subnet))
        if inside:
            networks_behind.append((zone, tuple(inside)))
    return tuple(networks_behind)


@per_plan
def _bounds_on(plan: Plan, fabric_name: str) -> tuple[tuple[Zone, tuple[tuple[Network, int, int], ...]], ...]:
    """``zones_on`` with every prefix's first and last address: they are compared with every switch's subnet."""
    zones = []
    for zone, networks in zones_on(plan, fabric_name):
        zones.append((zone, tuple((network, *network_bounds(network)) for network in networks)))
    return tuple(zones)


def _meet(one: Network, other: Network) -> Network:
    """The smaller of two prefixes with a common address."""
    return one if one.prefixlen >= other.prefixlen else other


def subnet_network(network: int, prefix_length: int, version: int) -> Network:
    """A subnet of the plan as a network."""
    return IPv4Network((network, prefix_length)) if version == 4 else IPv6Network((network, prefix_length))
