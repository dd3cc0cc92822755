"""Borders between a fabric and the owner's networks: filters, learnt and announced prefixes."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import ip_network
from typing import TYPE_CHECKING, NamedTuple

from clusterwright.intent.filter_cover import without_hidden
from clusterwright.intent.filter_entries import (
    ICMP,
    ICMP_ERRORS,
    TCP,
    Permit,
    on_link,
    permit_of,
    subnet_network,
    zones_on,
)
from clusterwright.intent.per_plan import per_plan
from clusterwright.intent.zone_networks import collapse
from clusterwright.plan.asking import loopback_sources
from clusterwright.plan.model import fabric_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from clusterwright.plan.model import Device, Plan
    from clusterwright.spec.isolation import Border, Flow, Network

BGP_PORTS = ((179, 179),)


@dataclass(frozen=True, slots=True)
class BorderFilter:
    """Filters of both directions at a border's port, with the learnt and announced prefixes."""

    incoming: tuple[Permit, ...]
    outgoing: tuple[Permit, ...]
    learnt: tuple[Network, ...]
    announced: tuple[AnnouncedPrefix, ...]


class AnnouncedPrefix(NamedTuple):
    """Routes of one length inside a prefix."""

    network: Network
    length: int


def borders_of(plan: Plan, device: Device) -> tuple[Border, ...]:
    """The borders at a switch, in the spec's order."""
    return tuple(border for border in plan.spec.borders if border.device == device.name)


def outside_prefixes(plan: Plan, fabric: str) -> tuple[Network, ...]:
    """The prefixes learnt at a fabric's borders, each as its zone writes it."""
    prefixes: list[Network] = []
    for border in plan.spec.borders:
        if border.device in plan.by_name and plan.by_name[border.device].fabric == fabric:
            prefixes.extend(learnt_at(plan, border))
    return tuple(dict.fromkeys(prefixes))


def learnt_at(plan: Plan, border: Border) -> tuple[Network, ...]:
    """The prefixes of the zones behind a border, in the IP version of its link, each as its zone writes it.

    Two that lie side by side are not one: the owner announces both, and a filter for the joined one takes neither.
    """
    networks: set[Network] = set()
    for name in border.zones:
        networks.update(_prefixes_of(plan, name, border.address.version))
    return tuple(sorted(networks, key=lambda network: (int(network.network_address), network.prefixlen)))


def border_filter(plan: Plan, border: Border) -> BorderFilter:
    """Derive a border's filter and prefixes. Raises KeyError for a switch of a fabric without addresses."""
    fabric = fabric_of(plan, plan.by_name[border.device].fabric)
    version = border.address.version
    here, neighbour = ip_network(border.address.ip), ip_network(border.neighbour)
    incoming = [*on_link(version), *_bgp(version, neighbour, here)]
    outgoing = [*on_link(version), *_bgp(version, here, neighbour)]
    networks_inside = {zone.name: networks for zone, networks in zones_on(plan, fabric.name)}
    reached: list[Network] = []
    for name, flow, other, is_opened_outside in _flows(plan, border):
        outer = _prefixes_of(plan, name, version)
        inner = networks_inside.get(other, ())
        if not outer or not inner:
            continue
        reached.extend(inner)
        inward = permit_of(flow, version, reply=not is_opened_outside)
        outward = permit_of(flow, version, reply=is_opened_outside)
        incoming.append(inward._replace(sources=outer, targets=inner))
        outgoing.append(outward._replace(sources=inner, targets=outer))
    learnt = learnt_at(plan, border)
    beyond = collapse(learnt)
    incoming.append(Permit("icmp errors", version, ICMP, sources=beyond, types=ICMP_ERRORS[version]))
    outgoing.append(Permit("icmp errors", version, ICMP, targets=beyond, types=ICMP_ERRORS[version]))
    return BorderFilter(
        incoming=without_hidden(tuple(incoming)),
        outgoing=without_hidden(tuple(outgoing)),
        learnt=learnt,
        announced=_announced(plan, fabric.name, collapse(reached)),
    )


def _prefixes_of(plan: Plan, zone_name: str, version: int) -> tuple[Network, ...]:
    """A zone's prefixes outside the cluster, of one IP version."""
    zone = plan.spec.zone(zone_name)
    if zone is None:
        return ()
    return tuple(network for network in zone.prefixes if network.version == version)


def _flows(plan: Plan, border: Border) -> Iterator[tuple[str, Flow, str, bool]]:
    """Zone behind the border, flow, zone inside, and whether the flow is opened from behind the border."""
    for name in border.zones:
        for flow in plan.spec.flows:
            if flow.is_rdma:
                continue
            if flow.source == name:
                yield name, flow, flow.target, True
            if flow.target == name:
                yield name, flow, flow.source, False


def _bgp(version: int, source: Network, target: Network) -> tuple[Permit, Permit]:
    return (
        Permit(name="bgp", version=version, protocol=TCP, sources=(source,), targets=(target,), target_ports=BGP_PORTS),
        Permit(
            name="bgp replies",
            version=version,
            protocol=TCP,
            sources=(source,),
            targets=(target,),
            source_ports=BGP_PORTS,
            established=True,
        ),
    )


@per_plan
def _announced(plan: Plan, fabric: str, reached: tuple[Network, ...]) -> tuple[AnnouncedPrefix, ...]:
    """Whole host subnets around the zones' addresses, in the fewest prefixes without other addresses.

    And the loopbacks among these addresses: they are the switches' sources for requests to servers.
    """
    host_subnets = (subnet for subnet in plan.subnets if subnet.fabric == fabric and subnet.kind == "host")
    subnets = [subnet_network(subnet.network, subnet.prefix_length, subnet.version) for subnet in host_subnets]
    version = plan.address_version(fabric)
    bits = 32 if version == 4 else 128
    loopbacks = [subnet_network(loopback, bits, version) for loopback in loopback_sources(plan, fabric)]
    announced: list[AnnouncedPrefix] = []
    for candidates in (subnets, loopbacks):
        origins = [candidate for candidate in candidates if _overlaps_any(candidate, reached)]
        announced += [AnnouncedPrefix(network, origins[0].prefixlen) for network in collapse(origins)]
    return tuple(announced)


def _overlaps_any(network: Network, others: tuple[Network, ...]) -> bool:
    return any(network.overlaps(other) for other in others)
