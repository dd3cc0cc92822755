"""Members and networks of zones, pairs of zones with a common network, and zones with internet access.

Rules, writers, proofs, reports and the lab all use these functions: a zone has one meaning.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING

from clusterwright.spec.address_space import internet_without, takes_in_internet
from clusterwright.spec.infiniband import DEFAULT_PKEY
from clusterwright.spec.isolation import INTERNET, Address, Flow, Network, Zone

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from clusterwright.spec.fabric import Fabric
    from clusterwright.spec.infiniband import Partition
    from clusterwright.spec.job import NcclProfile
    from clusterwright.spec.model import ClusterSpec, Mount


def members_of(spec: ClusterSpec, zone: Zone) -> tuple[str, ...]:
    """The node groups of a zone: those in its list and those with its name in `zone`, in the spec's order."""
    return tuple(group.name for group in spec.node_groups if group.name in zone.nodes or group.zone == zone.name)


def zones_of(spec: ClusterSpec, group: str) -> tuple[str, ...]:
    """The zones of a node group: first the one in its `zone`, then those with it in their list, in the spec's order.

    Empty for a group outside of all zones, and for an unknown name.
    """
    zone_names = [zone.name for zone in spec.zones if group in members_of(spec, zone)]
    node_group = spec.node_group(group)
    if node_group is None:
        return tuple(zone_names)
    return tuple(sorted(zone_names, key=lambda name: name != node_group.zone))


def zones_at(spec: ClusterSpec, address: Address) -> tuple[str, ...]:
    """The zones around an address: those with a prefix around it, and those on a fabric with it in its host pool."""
    names = []
    for zone in spec.zones:
        pools = [fabric.addressing.hosts for fabric in lives_on(spec, zone) if fabric.addressing is not None]
        if any(address in network for network in (*zone.prefixes, *pools)):
            names.append(zone.name)
    return tuple(names)


def fabric_around(spec: ClusterSpec, address: Address) -> Fabric | None:
    """The fabric with a pool around an address: of hosts, of links and loopbacks, or of IP over InfiniBand."""
    for fabric in spec.fabrics:
        if any(address in network for network in _networks_of(fabric)):
            return fabric
    return None


def memberships_of(spec: ClusterSpec, partition: Partition) -> Mapping[str, str]:
    """``full`` or ``limited`` for each node group in an InfiniBand partition; full if any of its zones is."""
    memberships: dict[str, str] = {}
    for name in partition.zones:
        zone = spec.zone(name)
        if zone is None:
            continue
        for group in members_of(spec, zone):
            if memberships.get(group) != "full":
                memberships[group] = partition.membership_of(name)
    return memberships


def data_partitions(spec: ClusterSpec, nccl: NcclProfile, node_group: str) -> tuple[Partition, ...]:
    """The possible partitions of NCCL's data between nodes of a group; only one if the spec decides it.

    The profile's partition, or else those with full membership of the group; one with IP is for files, if there is
    another.
    """
    fabric = spec.fabric(nccl.fabric)
    if fabric is None:
        return ()
    full = []
    for partition in fabric.partitions:
        if partition.pkey == DEFAULT_PKEY:
            continue
        if memberships_of(spec, partition).get(node_group) == "full":
            full.append(partition)
    if nccl.partition is not None:
        return tuple(partition for partition in full if partition.name == nccl.partition)
    without_ip = [partition for partition in full if partition.ipoib is None]
    return tuple(without_ip or full)


def covers(spec: ClusterSpec, zone: Zone, fabric: Fabric) -> bool:
    """Whether a zone includes addresses of this fabric.

    Without ``fabrics``, a zone covers every fabric that its nodes attach to, except the management network: BMCs belong
    to a zone only by an explicit entry.
    """
    if fabric.addressing is None:
        return False
    if zone.fabrics:
        return fabric.name in zone.fabrics
    members = members_of(spec, zone)
    return any(attach.nodes in members for attach in fabric.attach)


def lives_on(spec: ClusterSpec, zone: Zone) -> tuple[Fabric, ...]:
    """The fabrics with addresses of a zone: those covered and attached to some member.

    A zone with fabrics and no nodes is everything on them.
    """
    members = members_of(spec, zone)
    fabrics = []
    for fabric in spec.fabrics:
        if not covers(spec, zone, fabric):
            continue  # its attachments stay unread: a value in doubt there concerns no rule on this zone
        if not members or any(attach.is_management or attach.nodes in members for attach in fabric.attach):
            fabrics.append(fabric)
    return tuple(fabrics)


def can_meet(spec: ClusterSpec, first: Zone, second: Zone) -> bool:
    """Whether two zones share a fabric with addresses, or a plain Ethernet fabric leads from one to the other.

    Outside networks are reached over plain Ethernet; two outside zones have no connection in this cluster.
    """
    first_fabrics, second_fabrics = lives_on(spec, first), lives_on(spec, second)
    if {fabric.name for fabric in first_fabrics} & {fabric.name for fabric in second_fabrics}:
        return True
    if second.prefixes and first_fabrics:
        return _has_plain_ethernet(first_fabrics)
    return bool(first.prefixes) and _has_plain_ethernet(second_fabrics)


def _has_plain_ethernet(fabrics: Iterable[Fabric]) -> bool:
    return any(fabric.technology == "ethernet" for fabric in fabrics)


def share_partition(spec: ClusterSpec, first: str, second: str) -> bool:
    """Whether an InfiniBand partition joins two zones by name: members communicate in it without addresses."""
    for partition in chain.from_iterable(fabric.partitions for fabric in spec.fabrics):
        if first not in partition.zones or second not in partition.zones:
            continue
        if "full" in (partition.membership_of(first), partition.membership_of(second)):
            return True
    return False


def is_outside(spec: ClusterSpec, zone: Zone) -> bool:
    """True for a zone of networks beyond the cluster, or of the internet as a whole."""
    return not zone.fabrics and not members_of(spec, zone)


def owner_in_clear(spec: ClusterSpec, mount: Mount) -> str | None:
    """The owner responsible for a mount without protection: the protection's, or that of a flow to it."""
    if mount.protection is not None and mount.protection.owner is not None:
        return mount.protection.owner
    client_zones = set(chain.from_iterable(zones_of(spec, name) for name in mount.nodes))
    storage_zones = set(zones_of(spec, mount.system or ""))
    for address in mount.server_addresses:
        storage_zones.update(zones_at(spec, address))
    for flow in spec.flows:
        if flow.owner and flow.source in client_zones and flow.target in storage_zones:
            return flow.owner
    return None


@dataclass(frozen=True, slots=True)
class InternetFlow:
    """A flow between the internet and a zone of the cluster."""

    flow: Flow
    zone: Zone
    """The zone of the cluster."""
    is_outward: bool
    """True for a flow from the cluster's zone to the internet."""
    key: str
    """The key of the flow with the internet: ``from`` or ``to``."""


def with_internet(spec: ClusterSpec) -> ClusterSpec:
    """The spec with the internet's addresses in each zone of that kind without prefixes that has a flow.

    Such a zone stands for all public addresses outside of the cluster and of other zones, so filters, access lists and
    proofs treat it like any outside zone. A flow with an isolated zone opens nothing, even if its finding (CW520) is
    suppressed.
    """
    isolated = {zone.name for zone in spec.zones if zone.isolated}
    zones_of_flows: set[str] = set()
    for flow in spec.flows:
        if isolated.isdisjoint((flow.source, flow.target)):
            zones_of_flows.update((flow.source, flow.target))
    opened = [zone for zone in spec.zones if _lacks_prefixes(zone) and zone.name in zones_of_flows]
    if not opened:
        return spec
    internet = internet_without(_networks_of_others(spec))
    zones = [replace(zone, prefixes=internet) if zone in opened else zone for zone in spec.zones]
    return replace(spec, zones=tuple(zones))


def _lacks_prefixes(zone: Zone) -> bool:
    return zone.kind == INTERNET and not zone.prefixes


def _networks_of_others(spec: ClusterSpec) -> Iterator[Network]:
    """The networks of the cluster itself, of its borders, and of outside zones other than the internet."""
    for fabric in spec.fabrics:
        yield from _networks_of(fabric)
    for border in spec.borders:
        yield border.address.network
    for zone in spec.zones:
        if zone.kind != INTERNET:
            yield from zone.prefixes


def _networks_of(fabric: Fabric) -> Iterator[Network]:
    """The pools of a fabric, and its networks of IP over InfiniBand."""
    if fabric.addressing is not None:
        for _, pool in fabric.addressing.pools:
            yield pool
    for partition in fabric.partitions:
        if partition.ipoib is not None:
            yield partition.ipoib.network


def is_whole_internet(zone: Zone) -> bool:
    """True for a zone of kind ``internet`` that is more than a list of a few networks."""
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
    """The plain Ethernet fabrics with a default route for nodes of a group."""
    open_zones = [flow.zone for flow in internet_flows(spec) if not flow.zone.isolated]
    zones = [zone for zone in open_zones if node_group in members_of(spec, zone)]
    fabrics = []
    for fabric in spec.fabrics:
        is_attached = any(attach.nodes == node_group for attach in fabric.attach)
        if fabric.technology != "ethernet" or not is_attached:
            continue
        if any(covers(spec, zone, fabric) for zone in zones):
            fabrics.append(fabric)
    return tuple(fabrics)
