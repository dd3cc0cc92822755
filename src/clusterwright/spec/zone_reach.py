"""Members and locations of zones, pairs of zones with a common network, and zones with internet access.

Rules, writers, proofs, reports and the lab all ask here: what a zone is belongs to the meaning of the spec, and is
decided once.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING

from clusterwright.spec.address_space import internet_without, takes_in_internet
from clusterwright.spec.infiniband import DEFAULT_PKEY
from clusterwright.spec.isolation import INTERNET, Address, Flow, Network, Zone

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from clusterwright.spec.fabric import Fabric
    from clusterwright.spec.infiniband import Partition
    from clusterwright.spec.job import NcclProfile
    from clusterwright.spec.model import ClusterSpec, Mount


def members_of(spec: ClusterSpec, zone: Zone) -> tuple[str, ...]:
    """The node groups of a zone: those that it lists and those that name it, in the spec's order."""
    return tuple(group.name for group in spec.node_groups if group.name in zone.nodes or group.zone == zone.name)


def zones_of(spec: ClusterSpec, group: str) -> tuple[str, ...]:
    """The zones of a node group: the one that its `zone` names first, then those that list it, in the spec's order.

    Empty for a group that is in none, and for a name that no group has.
    """
    group_zone = next((item.zone for item in spec.node_groups if item.name == group), None)
    zone_names = [zone.name for zone in spec.zones if group in members_of(spec, zone)]
    return tuple(sorted(zone_names, key=lambda name: name != group_zone))


def zones_at(spec: ClusterSpec, address: Address) -> tuple[str, ...]:
    """The zones around an address: those with a prefix that holds it, and those on a fabric whose hosts do."""
    names = []
    for zone in spec.zones:
        pools = [fabric.addressing.hosts for fabric in lives_on(spec, zone) if fabric.addressing is not None]
        if any(address in network for network in (*zone.prefixes, *pools)):
            names.append(zone.name)
    return tuple(names)


def fabric_around(spec: ClusterSpec, address: Address) -> Fabric | None:
    """The fabric whose pools an address is in: of hosts, of links and loopbacks, or of IP over InfiniBand."""
    for fabric in spec.fabrics:
        networks = [] if fabric.addressing is None else [pool for _, pool in fabric.addressing.pools]
        networks += [partition.ipoib.network for partition in fabric.partitions if partition.ipoib is not None]
        if any(address in network for network in networks):
            return fabric
    return None


def memberships_of(spec: ClusterSpec, partition: Partition) -> Mapping[str, str]:
    """``full`` or ``limited`` for each node group in an InfiniBand partition; full where any of its zones is."""
    memberships: dict[str, str] = {}
    for name in partition.zones:
        zone = spec.zone(name)
        if zone is not None:
            for group in members_of(spec, zone):
                if memberships.get(group) != "full":
                    memberships[group] = partition.membership_of(name)
    return memberships


def data_partitions(spec: ClusterSpec, nccl: NcclProfile, node_group: str) -> tuple[Partition, ...]:
    """The partitions that NCCL's data may travel in between nodes of a group: one, where that is decided.

    The profile names it. Else it is that of which the group is a full member; one that carries IP is for files, where
    there is another.
    """
    fabric = spec.fabric(nccl.fabric)
    if fabric is None:
        return ()
    full = [
        partition
        for partition in fabric.partitions
        if partition.pkey != DEFAULT_PKEY and memberships_of(spec, partition).get(node_group) == "full"
    ]
    if nccl.partition is not None:
        return tuple(partition for partition in full if partition.name == nccl.partition)
    return tuple(partition for partition in full if partition.ipoib is None) or tuple(full)


def covers(spec: ClusterSpec, zone: Zone, fabric: Fabric) -> bool:
    """True when the zone has to do with this fabric's addresses.

    A zone that names no fabric is on all that its nodes attach to, except the management network: a BMC belongs to a
    zone only where the spec says so.
    """
    if fabric.addressing is None:
        return False
    if zone.fabrics:
        return fabric.name in zone.fabrics
    members = members_of(spec, zone)
    return any(attach.nodes in members for attach in fabric.attach)


def lives_on(spec: ClusterSpec, zone: Zone) -> tuple[Fabric, ...]:
    """The fabrics on which a zone has addresses: those it covers and that some member attaches to.

    A zone of fabrics alone is everything on them.
    """
    members = members_of(spec, zone)
    return tuple(
        fabric
        for fabric in spec.fabrics
        if covers(spec, zone, fabric)
        and (not members or any(attach.is_management or attach.nodes in members for attach in fabric.attach))
    )


def can_meet(spec: ClusterSpec, one: Zone, other: Zone) -> bool:
    """True when two zones with addresses share a fabric, or a plain Ethernet fabric leads from one to the other.

    What lies outside is reached over plain Ethernet; two zones outside meet nowhere in this cluster.
    """
    here, there = lives_on(spec, one), lives_on(spec, other)
    if {fabric.name for fabric in here} & {fabric.name for fabric in there}:
        return True
    outside = (bool(other.prefixes) and here) or (bool(one.prefixes) and there) or ()
    return any(fabric.technology == "ethernet" for fabric in outside)


def share_partition(spec: ClusterSpec, one: str, other: str) -> bool:
    """True when a partition of InfiniBand joins two zones by name: members reach each other there without addresses."""
    for fabric in spec.fabrics:
        for partition in fabric.partitions:
            has_both = one in partition.zones and other in partition.zones
            if has_both and "full" in map(partition.membership_of, (one, other)):
                return True
    return False


def is_outside(spec: ClusterSpec, zone: Zone) -> bool:
    """True for a zone of networks beyond the cluster, or of the internet as a whole."""
    return not zone.fabrics and not members_of(spec, zone)


def owner_in_clear(spec: ClusterSpec, mount: Mount) -> str | None:
    """The owner of a mount without protection: the one that its protection names, or the owner of a flow to it."""
    if mount.protection is not None and mount.protection.owner is not None:
        return mount.protection.owner
    client_zones = set(chain.from_iterable(zones_of(spec, name) for name in mount.nodes))
    storage_zones = set(zones_of(spec, mount.system or ""))
    for address in mount.server_addresses:
        storage_zones.update(zones_at(spec, address))
    owners = (flow.owner for flow in spec.flows if flow.source in client_zones and flow.target in storage_zones)
    return next((owner for owner in owners if owner), None)


@dataclass(frozen=True, slots=True)
class InternetFlow:
    """A flow between the internet and a zone of the cluster."""

    flow: Flow
    zone: Zone
    """The zone of the cluster."""
    is_outward: bool
    """Whether the cluster's zone opens it."""
    key: str
    """The key of the flow that names the internet: ``from`` or ``to``."""


def with_internet(spec: ClusterSpec) -> ClusterSpec:
    """The spec with the addresses of the internet in each zone of that kind that has none and that a flow opens.

    It then stands for all public addresses that are neither the cluster's nor those of another zone, so that filters,
    access lists and proofs treat it like any zone outside. A flow with an isolated zone opens nothing, even where its
    finding (CW520) is suppressed.
    """
    isolated = {zone.name for zone in spec.zones if zone.isolated}
    opening = [flow for flow in spec.flows if isolated.isdisjoint((flow.source, flow.target))]
    named = {flow.source for flow in opening} | {flow.target for flow in opening}
    is_opened = [zone.kind == INTERNET and not zone.prefixes and zone.name in named for zone in spec.zones]
    if not any(is_opened):
        return spec
    internet = internet_without(_networks_of_others(spec))
    zones = []
    for zone, opened in zip(spec.zones, is_opened, strict=True):
        zones.append(replace(zone, prefixes=internet) if opened else zone)
    return replace(spec, zones=tuple(zones))


def _networks_of_others(spec: ClusterSpec) -> Iterator[Network]:
    """The networks of the cluster itself, of its borders, and of the zones outside that are not the internet."""
    for fabric in spec.fabrics:
        if fabric.addressing is not None:
            for _, pool in fabric.addressing.pools:
                yield pool
        for partition in fabric.partitions:
            if partition.ipoib is not None:
                yield partition.ipoib.network
    for border in spec.borders:
        yield border.address.network
    for zone in spec.zones:
        if zone.kind != INTERNET:
            yield from zone.prefixes


def is_whole_internet(zone: Zone) -> bool:
    """True for a zone of kind ``internet`` that is no list of a few networks."""
    return zone.kind == INTERNET and takes_in_internet(zone.prefixes)


def internet_flows(spec: ClusterSpec) -> Iterator[InternetFlow]:
    """The flows from and to the whole internet, in the spec's order."""
    zone_by_name = {zone.name: zone for zone in spec.zones}
    for flow in spec.flows:
        source, target = zone_by_name.get(flow.source), zone_by_name.get(flow.target)
        if source is None or target is None:
            continue
        if is_whole_internet(target):
            yield InternetFlow(flow=flow, zone=source, is_outward=True, key="to")
        elif is_whole_internet(source):
            yield InternetFlow(flow=flow, zone=target, is_outward=False, key="from")


def internet_fabrics(spec: ClusterSpec, node_group: str) -> tuple[Fabric, ...]:
    """The plain Ethernet fabrics over which nodes of a group have a default route."""
    opened = [flow.zone for flow in internet_flows(spec) if not flow.zone.isolated]
    zones = [zone for zone in opened if node_group in members_of(spec, zone)]
    fabrics = []
    for fabric in spec.fabrics:
        is_attached = any(attach.nodes == node_group for attach in fabric.attach)
        if fabric.technology == "ethernet" and is_attached and any(covers(spec, zone, fabric) for zone in zones):
            fabrics.append(fabric)
    return tuple(fabrics)
