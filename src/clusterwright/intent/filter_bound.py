"""At most how many entries the filters of switches take, from the skeleton: whoever stays below needs no plan.

Zones are counted as the prefixes that they will have: one where a zone is all of a pool or of a switch, as few as hold
whole subnets that lie side by side, one for each address that shares its subnet with others.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from clusterwright.intent.edge_filters import ASKING, entries_of
from clusterwright.intent.filter_cover import with_single_ports
from clusterwright.intent.filter_entries import ICMP_ERRORS, ON_LINK, judged
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
    """Whether every switch's filters fit its chip's tables; False where only the plan can tell."""
    for fabric in counted.skeleton.fabrics:
        systems = [system_of(tier.model) for tier in fabric.fabric.tiers]
        kinds = {
            (fabric.seats[at].tier, tuple(sorted(own.items())))
            for at, own in counted.tenants[fabric.fabric.name].items()
        }
        for tier, own in kinds:
            system = systems[tier]
            room = system.filter_tables if system is not None else None
            if system is None or room is None:
                continue
            if room.tables_for(counted.entries(fabric.fabric, dict(own), system, room)) > room.tables:
                return False
    return True


@dataclass(frozen=True, eq=False)
class FilterBound:
    """Who has addresses behind which switch of each fabric, and what zones come to by that."""

    spec: ClusterSpec
    skeleton: Skeleton
    known: dict[tuple[str, str, str], int] = field(default_factory=dict)

    @cached_property
    def tenants(self) -> Mapping[str, Mapping[int, Counter[str]]]:
        """By fabric and seat, in the order of their subnets, how many addresses each node group has there."""
        return {skeleton.fabric.name: self._tenants(skeleton) for skeleton in self.skeleton.fabrics}

    def _tenants(self, fabric: FabricSkeleton) -> Mapping[int, Counter[str]]:
        names = [group.name for group in self.spec.node_groups]
        nodes = self.skeleton.layout.nodes
        zones_by_seat: defaultdict[int, Counter[str]] = defaultdict(Counter)
        alike = Counter((node.addressed, nodes[node.node].node_group) for node in fabric.nodes)
        for (seats, group), count in alike.items():
            for seat in seats:
                zones_by_seat[seat][names[group]] += count
        for port in fabric.management:
            zones_by_seat[port.seat][""] += 1
        return dict(zones_by_seat)

    def entries(self, fabric: Fabric, tenants: Mapping[str, int], system: System, room: FilterTables) -> int:
        """Entries of a switch that has so many addresses of each node group behind it."""
        if fabric.addressing is None:
            return 0
        version = fabric.addressing.hosts.version
        on_fabric = frozenset(zone.name for zone in self.spec.zones if covers(self.spec, zone, fabric))
        zones_of_groups = {on_fabric.intersection(zones_of(self.spec, group)) for group in tenants}
        is_told_apart = fabric.addressing.host_links == "point-to-point" and len(zones_of_groups) > 1
        prefixes = {zone.name: self._behind(zone, fabric, tenants, is_told_apart) for zone in self.spec.zones}
        errors = sum(prefixes.values()) * len(ICMP_ERRORS[version])
        sent = (
            count * self._each(zone, fabric, version, system, room)
            for zone in self.spec.zones
            if (count := prefixes[zone.name])
        )
        return len(ON_LINK[version]) + errors + sum(sent) + self._booting(fabric, prefixes)

    def _booting(self, fabric: Fabric, prefixes: Mapping[str, int]) -> int:
        """What hosts that boot ask with, and what boot servers answer the switches whose subnets several groups share.

        No more than one such switch has to be told apart by its gateway for each subnet.
        """
        boot = self.spec.boot
        if boot is None or boot.fabric != fabric.name:
            return 0
        shared = sum(len(groups) > 1 for groups in self.tenants[fabric.name].values())
        servers = sum(prefixes[zone.name] for zone in self.spec.zones if zone.kind == BOOT)
        return max(map(len, ASKING.values())) + servers * shared

    def _behind(self, zone: Zone, fabric: Fabric, tenants: Mapping[str, int], is_told_apart: bool) -> int:
        """The prefixes of a zone behind a switch, by tenant where ports tell tenants apart."""
        if not covers(self.spec, zone, fabric):
            return 0
        members = members_of(self.spec, zone)
        inside = sum(count for group, count in tenants.items() if group in members)
        if is_told_apart:
            return inside if members else sum(tenants.values())
        return 1 if not members or inside == sum(tenants.values()) else inside

    def _each(self, zone: Zone, fabric: Fabric, version: int, system: System, room: FilterTables) -> int:
        """Entries for each prefix of a zone that sends over a fabric."""
        key = (zone.name, fabric.name, system.name)
        if key not in self.known:
            self.known[key] = sum(
                self._targets(zone, peer, fabric, version) * entries_of(_sent(flow, version, system, reply=reply), room)
                for flow in self.spec.flows
                for reply, mine, other in ((False, flow.source, flow.target), (True, flow.target, flow.source))
                if mine == zone.name and (peer := self.spec.zone(other)) is not None
                if not (flow.is_rdma and (reply or fabric.technology != "roce"))
            )
        return self.known[key]

    def _targets(self, zone: Zone, peer: Zone, fabric: Fabric, version: int) -> int:
        """The prefixes at which a zone meets a peer over a fabric."""
        wanted = meeting_fabrics(self.spec, zone, peer, fabric)
        outside = [network for network in peer.prefixes if network.version == version] if "" in wanted else []
        within = (skeleton for skeleton in self.skeleton.fabrics if skeleton.fabric.name in wanted)
        return len(collapse(outside)) + sum(self._prefixes(peer, each.fabric, version) for each in within)

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
        whole = [at for at, own in enumerate(seats) if own.keys() <= members]
        shared = [seat for seat in seats if not seat.keys() <= members]
        scattered = sum(count for own in shared for group, count in own.items() if group in members)
        return scattered + _side_by_side(whole)

    def _most_loopbacks(self, fabric: Fabric) -> int:
        """No fewer than the loopbacks that a management network's switches ask from (``plan.asking``)."""
        skeleton = next(other for other in self.skeleton.fabrics if other.fabric.name == fabric.name)
        addressing = fabric.addressing
        have_gateways = addressing is not None and addressing.host_links == "shared" and addressing.hosts.version == 4
        return len(skeleton.seats) - (len(self.tenants[fabric.name]) if have_gateways else 0)


def _sent(flow: Flow, version: int, system: System, *, reply: bool) -> Permit:
    permit = judged(flow, version, reply=reply)
    return permit if system.matches_ranges else with_single_ports(permit)


def _side_by_side(subnets: Sequence[int]) -> int:
    """In how few prefixes subnets lie, by their numbers in the pool, in order."""
    count = at = 0
    while at < len(subnets):
        first, size = subnets[at], 1
        while first % (2 * size) == 0 and subnets[at : at + 2 * size][2 * size - 1 :] == [first + 2 * size - 1]:
            size *= 2
        count, at = count + 1, at + size
    return count
