"""Zones as networks: the prefixes of a zone, and the fabrics of a node's zones.

Both packet filters and routes are made of these, so that filters and reachability agree.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network, collapse_addresses

from clusterwright.intent.per_plan import per_plan
from clusterwright.plan.model import Plan
from clusterwright.plan.zone_addresses import zone_addresses
from clusterwright.spec.fabric import Fabric
from clusterwright.spec.isolation import Flow, Network, Zone
from clusterwright.spec.model import ClusterSpec
from clusterwright.spec.zone_reach import covers, zones_of


@dataclass(frozen=True, slots=True)
class ZoneNetwork:
    """A prefix of a zone; ``fabric`` is the fabric it lies in, "" for networks outside the cluster."""

    fabric: str
    network: Network


@dataclass(frozen=True, slots=True)
class Contact:
    """A flow as a node of ``zone`` sees it: it opens it (``outbound``) or is opened to.

    ``peer`` is the zone at the other end, ``fabrics`` those over which the two meet.
    """

    flow: Flow
    outbound: bool
    zone: Zone
    peer: Zone
    fabrics: tuple[str, ...]


@per_plan
def zone_networks(plan: Plan, name: str) -> tuple[ZoneNetwork, ...]:
    """The prefixes of a zone, collapsed and in order: of its fabrics in the spec's order, then those outside."""
    zone = plan.spec.zone(name)
    if zone is None:
        return ()
    networks: list[ZoneNetwork] = []
    for fabric in plan.spec.fabrics:
        networks.extend(ZoneNetwork(fabric.name, network) for network in _fabric_part(plan, fabric, zone))
    networks.extend(ZoneNetwork("", network) for network in collapse(zone.prefixes))
    return tuple(networks)


def zone_covers(plan: Plan, zone: Zone, fabric: Fabric) -> bool:
    """True when the zone has addresses on this fabric."""
    return covers(plan.spec, zone, fabric)


@per_plan
def contacts_of(plan: Plan, node_group: str) -> tuple[Contact, ...]:
    """The flows to or from a node of this group, in the spec's order."""
    zones = {zone.name: zone for zone in plan.spec.zones}
    names = frozenset(zones_of(plan.spec, node_group))
    contacts: list[Contact] = []
    for flow in plan.spec.flows:
        for outbound, mine, other in ((True, flow.source, flow.target), (False, flow.target, flow.source)):
            if mine in names and other in zones:
                fabrics = _meeting(plan, node_group, flow, zones[mine], zones[other])
                if fabrics:
                    contacts.append(
                        Contact(flow=flow, outbound=outbound, zone=zones[mine], peer=zones[other], fabrics=fabrics)
                    )
    return tuple(contacts)


@per_plan
def peers_over(plan: Plan, zone_name: str, other_name: str, fabric_name: str) -> tuple[ZoneNetwork, ...]:
    """The addresses of a zone's peer over a fabric, of both IP versions.

    If both are on the fabric these are the other's addresses there, and over plain Ethernet its networks outside. If
    they share another fabric there are none here; if they share none, plain Ethernet leads to all of them.
    """
    spec = plan.spec
    zone, other, fabric = spec.zone(zone_name), spec.zone(other_name), spec.fabric(fabric_name)
    if zone is None or other is None or fabric is None:
        return ()
    meeting = meeting_fabrics(spec, zone, other, fabric)
    if not meeting:
        return ()
    return tuple(entry for entry in zone_networks(plan, other.name) if entry.fabric in meeting)


def meeting_fabrics(spec: ClusterSpec, zone: Zone, other: Zone, fabric: Fabric) -> frozenset[str]:
    """Fabrics of the other zone's addresses met by a zone over a fabric; "" are those outside."""
    if fabric.addressing is None:
        return frozenset()
    is_plain = fabric.technology == "ethernet"
    if covers(spec, other, fabric):
        return frozenset({fabric.name, ""}) if is_plain else frozenset({fabric.name})
    if not is_plain or _share_fabric(spec, zone, other):
        return frozenset()
    return frozenset(item.name for item in spec.fabrics) | {""}


def _share_fabric(spec: ClusterSpec, zone: Zone, other: Zone) -> bool:
    return any(covers(spec, zone, fabric) and covers(spec, other, fabric) for fabric in spec.fabrics)


def _meeting(plan: Plan, node_group: str, flow: Flow, mine: Zone, other: Zone) -> tuple[str, ...]:
    """The fabrics for a flow between nodes of a group in one zone and another zone."""
    names = []
    for fabric in plan.spec.fabrics:
        is_attached = any(attach.nodes == node_group for attach in fabric.attach)
        carries_flow = fabric.technology == "roce" or not flow.is_rdma
        if not is_attached or not carries_flow or not zone_covers(plan, mine, fabric):
            continue
        if peers_over(plan, mine.name, other.name, fabric.name):
            names.append(fabric.name)
    return tuple(names)


def _fabric_part(plan: Plan, fabric: Fabric, zone: Zone) -> tuple[Network, ...]:
    """The fewest prefixes around exactly the zone's addresses on a fabric."""
    if fabric.addressing is None:
        return ()
    pool = fabric.addressing.hosts
    kind = IPv4Network if pool.version == 4 else IPv6Network
    networks = []
    for low, high in zone_addresses(plan, zone, fabric):
        length = pool.max_prefixlen - (high - low).bit_length()
        networks.append(kind((low, length)))
    return collapse(networks)


def collapse(networks: Sequence[Network]) -> tuple[Network, ...]:
    """The same addresses in the fewest prefixes, IPv4 first."""
    four = [network for network in networks if isinstance(network, IPv4Network)]
    six = [network for network in networks if isinstance(network, IPv6Network)]
    return (*collapse_addresses(four), *collapse_addresses(six))
