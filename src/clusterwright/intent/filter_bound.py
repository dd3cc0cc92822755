"""An upper bound on filter entries, counted on the skeleton: a spec below the limits needs no plan.

A zone counts as many prefixes as it will have: one if it is all of a pool or of a switch, the fewest around adjacent
whole subnets, one for each address in a subnet shared with others.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from clusterwright.intent.edge_filters import ASKING, entries_of
from clusterwright.intent.filter_cover import with_single_ports
from clusterwright.intent.filter_entries import ICMP_ERRORS, ON_LINK, permit_of
from clusterwright.intent.zone_networks import collapse, meeting_fabrics
from clusterwright.spec.hardware.systems import system_of
from clusterwright.spec.isolation import BOOT
from clusterwright.spec.zone_reach import covers, members_of, zones_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from clusterwright.intent.filter_entries import Permit
    from clusterwright.plan.skeleton import FabricSkeleton, Skeleton
    from clusterwright.spec.fabric import Fabric
    from clusterwright.spec.hardware.systems import FilterTables, System
    from clusterwright.spec.isolation import Flow, Zone
    from clusterwright.spec.model import ClusterSpec


def surely_fit(counted: FilterBound) -> bool:
    """Whether every switch's filters fit its chip's tables; False if only the plan can decide."""
    for fabric in counted.skeleton.fabrics:
        systems = [system_of(tier.model) for tier in fabric.fabric.tiers]
        kinds = set()
        for seat, addresses_by_group in counted.tenants[fabric.fabric.name].items():
            kinds.add((fabric.seats[seat].tier, tuple(sorted(addresses_by_group.items()))))
        for tier, addresses in kinds:
            system = systems[tier]
            room = system.filter_tables if system is not None else None
            if system is None or room is None:
                continue
            if room.tables_for(counted.entries(fabric.fabric, dict(addresses), system, room)) > room.tables:
                return False
    return True


@dataclass(frozen=True, eq=False)
class FilterBound:
    """Addresses by switch and node group on each fabric, and the zones' numbers of prefixes from them."""

    spec: ClusterSpec
    skeleton: Skeleton
    entries_by_zone: dict[tuple[str, str, str], int] = field(default_factory=dict)
    """For each prefix of a zone, by zone, fabric and system."""

    @cached_property
    def tenants(self) -> Mapping[str, Mapping[int, Counter[str]]]:
        """By fabric and seat, in the order of their subnets, how many addresses each node group has there."""
        return {skeleton.fabric.name: self._tenants(skeleton) for skeleton in self.skeleton.fabrics}

    def _tenants(self, fabric: FabricSkeleton) -> Mapping[int, Counter[str]]:
        names = [group.name for group in self.spec.node_groups]
        nodes = self.skeleton.layout.nodes
        zones_by_seat: defaultdict[int, Counter[str]] = defaultdict(Counter)
        node_counts = Counter((node.addressed, nodes[node.node].node_group) for node in fabric.nodes)
        for (seats, group), count in node_counts.items():
            for seat in seats:
                zones_by_seat[seat][names[group]] += count
        for port in fabric.management:
            zones_by_seat[port.seat][""] += 1
        return dict(zones_by_seat)

    def entries(self, fabric: Fabric, tenants: Mapping[str, int], system: System, room: FilterTables) -> int:
        """Entries of a switch with these numbers of addresses by node group behind it."""
        if fabric.addressing is None:
            return 0
        version = fabric.addressing.hosts.version
        on_fabric = frozenset(zone.name for zone in self.spec.zones if covers(self.spec, zone, fabric))
        zones_of_groups = {on_fabric.intersection(zones_of(self.spec, group)) for group in tenants}
        has_port_tenants = fabric.addressing.host_links == "point-to-point" and len(zones_of_groups) > 1
        prefixes = {zone.name: self._behind(zone, fabric, tenants, has_port_tenants) for zone in self.spec.zones}
        errors = sum(prefixes.values()) * len(ICMP_ERRORS[version])
        sent = 0
        for zone in self.spec.zones:
            count = prefixes[zone.name]
            if count:
                sent += count * self._entries_of_prefix(zone, fabric, version, system, room)
        return len(ON_LINK[version]) + errors + sent + self._booting(fabric, prefixes)

    def _booting(self, fabric: Fabric, prefixes: Mapping[str, int]) -> int:
        """Entries for booting hosts, and for answers to relays of subnets with several groups.

        Each subnet has at most one relay to be named by its gateway.
        """
        boot = self.spec.boot
        if boot is None or boot.fabric != fabric.name:
            return 0
        shared = sum(len(groups) > 1 for groups in self.tenants[fabric.name].values())
        servers = sum(prefixes[zone.name] for zone in self.spec.zones if zone.kind == BOOT)
        return max(map(len, ASKING.values())) + servers * shared

    def _behind(self, zone: Zone, fabric: Fabric, tenants: Mapping[str, int], has_port_tenants: bool) -> int:
        """The number of a zone's prefixes behind a switch: one for each link if ports identify tenants."""
        if not covers(self.spec, zone, fabric):
            return 0
        members = members_of(self.spec, zone)
        inside = sum(count for group, count in tenants.items() if group in members)
        everything = sum(tenants.values())
        if has_port_tenants:
            return inside if members else everything
        if not members or inside == everything:
            return 1
        return inside

    def _entries_of_prefix(self, zone: Zone, fabric: Fabric, version: int, system: System, room: FilterTables) -> int:
        """Entries for each prefix of a sending zone on a fabric."""
        key = (zone.name, fabric.name, system.name)
        if key in self.entries_by_zone:
            return self.entries_by_zone[key]
        entries = 0
        for flow in self.spec.flows:
            for reply, local, remote in ((False, flow.source, flow.target), (True, flow.target, flow.source)):
                peer = self.spec.zone(remote)
                if local != zone.name or peer is None:
                    continue
                if flow.is_rdma and (reply or fabric.technology != "roce"):
                    continue
                permit = _sent(flow, version, system, reply=reply)
                entries += self._targets(zone, peer, fabric, version) * entries_of(permit, room)
        self.entries_by_zone[key] = entries
        return entries

    def _targets(self, zone: Zone, peer: Zone, fabric: Fabric, version: int) -> int:
        """Number of the peer's prefixes met by a zone over a fabric."""
        meeting = meeting_fabrics(self.spec, zone, peer, fabric)
        outside = [network for network in peer.prefixes if network.version == version] if "" in meeting else []
        within = (skeleton.fabric for skeleton in self.skeleton.fabrics if skeleton.fabric.name in meeting)
        return len(collapse(outside)) + sum(self._prefixes(peer, shared, version) for shared in within)

    def _prefixes(self, zone: Zone, fabric: Fabric, version: int) -> int:
        """The prefixes of a zone on a fabric."""
        addressing = fabric.addressing
        if not covers(self.spec, zone, fabric) or addressing is None or addressing.hosts.version != version:
            return 0
        members, seats = frozenset(members_of(self.spec, zone)), self.tenants[fabric.name].values()
        if not members and fabric.is_management:
            return 1 + self._most_loopbacks(fabric)
        if not members or all(seat.keys() <= members for seat in seats):
            return 1
        whole: list[int] = []
        scattered = 0
        for index, addresses in enumerate(seats):
            if addresses.keys() <= members:
                whole.append(index)
                continue
            scattered += sum(count for group, count in addresses.items() if group in members)
        return scattered + _side_by_side(whole)

    def _most_loopbacks(self, fabric: Fabric) -> int:
        """An upper bound on the loopbacks of a management network's asking switches (``plan.asking``)."""
        skeleton = next(other for other in self.skeleton.fabrics if other.fabric.name == fabric.name)
        addressing = fabric.addressing
        if addressing is not None and addressing.host_links == "shared" and addressing.hosts.version == 4:
            return len(skeleton.seats) - len(self.tenants[fabric.name])  # switches with hosts ask from their gateway
        return len(skeleton.seats)


def _sent(flow: Flow, version: int, system: System, *, reply: bool) -> Permit:
    permit = permit_of(flow, version, reply=reply)
    return permit if system.matches_ranges else with_single_ports(permit)


def _side_by_side(subnets: Sequence[int]) -> int:
    """The fewest prefixes around subnets, by their numbers in the pool, in order."""
    count = index = 0
    while index < len(subnets):
        size = 1
        while _is_aligned_block(subnets, index, 2 * size):
            size *= 2
        count += 1
        index += size
    return count


def _is_aligned_block(subnets: Sequence[int], index: int, size: int) -> bool:
    """Whether the ``size`` subnets from ``index`` on are adjacent, and the first is a multiple of ``size``."""
    last = index + size - 1
    return subnets[index] % size == 0 and last < len(subnets) and subnets[last] == subnets[index] + size - 1
