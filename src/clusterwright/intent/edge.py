"""Permits at an edge switch and at a management port: one list for hosts, one for the port itself."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from ipaddress import ip_network
from typing import TYPE_CHECKING

from clusterwright.intent.edge_filters import EdgePermits, edge_permits, port_tenants
from clusterwright.intent.filter_cover import with_single_ports, without_hidden
from clusterwright.intent.filter_entries import (
    ICMP,
    ICMP_ERRORS,
    Permit,
    on_link,
    peer_networks,
    permit_of,
    zones_on,
)
from clusterwright.intent.per_plan import per_plan
from clusterwright.intent.zone_networks import collapse
from clusterwright.plan.model import fabric_of
from clusterwright.spec.zone_reach import members_of

if TYPE_CHECKING:
    from clusterwright.intent.switch import SwitchView
    from clusterwright.intent.switch_links import Link
    from clusterwright.plan.model import Plan
    from clusterwright.spec.isolation import Flow, Network


_LONGEST_LABEL = 18  # Linux's chains, which NVUE's lists become, have names of 28 characters


def is_host_port(link: Link) -> bool:
    """Whether a link leads to a host: a node's NIC or any device's management port."""
    return link.port.side == "down" and not link.is_to_switch


def host_permits(plan: Plan, view: SwitchView, *, single_ports: bool = False) -> EdgePermits | None:
    """Permits for the hosts behind a switch; None without hosts, or without a zone on the fabric.

    ``single_ports`` spells port ranges as single ports, for chips without ranges.
    """
    subnet = view.host_subnet
    if subnet is None or not any(is_host_port(link) for link in view.links):
        return None
    return edge_permits(plan, view.fabric, subnet, single_ports=single_ports)


@dataclass(frozen=True, slots=True)
class HostList:
    """Permits for ``ports`` to hosts.

    ``tenant`` is "" if one list serves all hosts, else a name for the hosts there: the port identifies them, whatever
    source address they write.
    """

    tenant: str
    ports: frozenset[str]
    permits: EdgePermits

    @property
    def suffix(self) -> str:
        """The tenant's part of the list's name."""
        return f"-{self.tenant}" if self.tenant else ""


def host_lists(plan: Plan, view: SwitchView) -> tuple[HostList, ...]:
    """The lists of a switch's ports to hosts; none without such ports, or without a zone on the fabric."""
    whole = host_permits(plan, view)
    subnet = view.host_subnet
    if whole is None or subnet is None:
        return ()
    tenants = port_tenants(plan, view.fabric.name, view.device.name)
    if not tenants:
        ports = frozenset(link.port.port for link in view.links if is_host_port(link))
        return (HostList(tenant="", ports=ports, permits=whole),)
    lists = []
    for tenant in tenants:
        permits = edge_permits(plan, view.fabric, subnet, tenant=tenant)
        if permits is not None:
            lists.append(HostList(tenant=tenant_label(tenant.zones), ports=tenant.ports, permits=permits))
    return tuple(lists)


def tenant_label(zones: tuple[str, ...]) -> str:
    """A name for the hosts in these zones, short enough for access lists: the zone's own if possible."""
    if len(zones) == 1 and len(zones[0]) <= _LONGEST_LABEL:
        return zones[0].upper()
    return f"T{sha256(' '.join(zones).encode()).hexdigest()[:8].upper()}"


@per_plan
def management_permits(plan: Plan, fabric_name: str, *, single_ports: bool = False) -> tuple[Permit, ...] | None:
    """Permits of a switch's management port on a fabric; None without a zone of management ports.

    Equal for all switches: the port's own address is implied. ``single_ports`` spells port ranges as single ports, for
    systems without ranges.
    """
    fabric = fabric_of(plan, fabric_name)
    if fabric.addressing is None or not _holders(plan, fabric_name):
        return None
    version = fabric.addressing.hosts.version
    permits = list(on_link(version))
    for zone in _holders(plan, fabric_name):
        for flow in plan.spec.flows:
            if flow.target == zone:
                sources = peer_networks(plan, zone, flow.source, fabric_name)
                permits += _permits_from(sources, flow, version, reply=False)
            if flow.source == zone:
                sources = peer_networks(plan, zone, flow.target, fabric_name)
                permits += _permits_from(sources, flow, version, reply=True)
    permits.append(Permit("icmp errors", version, ICMP, types=ICMP_ERRORS[version]))
    if single_ports:
        permits = [with_single_ports(permit) for permit in permits]
    return without_hidden(tuple(permits))


def _permits_from(sources: tuple[Network, ...], flow: Flow, version: int, *, reply: bool) -> list[Permit]:
    """A flow, or its replies, from these networks; none without a network."""
    if not sources:
        return []
    return [permit_of(flow, version, reply=reply)._replace(sources=sources)]


@per_plan
def service_sources(plan: Plan, fabric_name: str, protocol: str, port: int) -> tuple[Network, ...] | None:
    """Prefixes admitted by flows to a port of the management ports; None without a zone of these.

    Replies to the switch are no requests, even if a stateless list cannot tell them apart.
    """
    holders = _holders(plan, fabric_name)
    if not holders:
        return None
    networks: list[Network] = []
    for flow in plan.spec.flows:
        if flow.target in holders and flow.opens(protocol, port):
            networks.extend(peer_networks(plan, flow.target, flow.source, fabric_name))
    return collapse(networks)


@per_plan
def management_reach(plan: Plan, fabric_name: str) -> tuple[Network, ...]:
    """Destinations routed by a management port: its network, the site's servers, zones joined by flows."""
    fabric = fabric_of(plan, fabric_name)
    if fabric.addressing is None:
        return ()
    holders = _holders(plan, fabric_name)
    pool = fabric.addressing.hosts
    servers = plan.spec.site.management
    aaa = plan.spec.site.aaa
    addresses = [*servers.dns, *servers.ntp, *servers.syslog]
    if aaa is not None:
        addresses.extend(aaa.servers)
    servers_outside = [ip_network(address) for address in addresses]
    networks: list[Network] = [pool]
    networks += [network for network in servers_outside if network.version == pool.version]
    for flow in plan.spec.flows:
        if flow.source in holders:
            networks += peer_networks(plan, flow.source, flow.target, fabric_name)
        if flow.target in holders:
            networks += peer_networks(plan, flow.target, flow.source, fabric_name)
    return collapse(networks)


def _holders(plan: Plan, fabric_name: str) -> tuple[str, ...]:
    """The zones of switches' management ports on a fabric: those of the whole fabric."""
    zones = [zone for zone, _ in zones_on(plan, fabric_name) if fabric_name in zone.fabrics]
    return tuple(zone.name for zone in zones if not members_of(plan.spec, zone))
