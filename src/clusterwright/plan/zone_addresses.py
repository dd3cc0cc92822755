"""Addresses of a zone on a fabric, and the enforcement of its matrix: hosts with an image, and all hosts' edges.

Membership of a zone is the meaning of the spec, decided once. Writers make prefixes of these addresses and proofs make
sets, each by its own means: a filter with prefixes around other addresses than its zone's is refuted.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from clusterwright.plan.asking import loopback_sources
from clusterwright.plan.model import Plan
from clusterwright.spec.fabric import Fabric
from clusterwright.spec.isolation import Zone
from clusterwright.spec.zone_reach import covers, members_of

Interval = tuple[int, int]  # the first address and the last: those of a prefix


def zone_addresses(plan: Plan, zone: Zone, fabric: Fabric) -> tuple[Interval, ...]:
    """The zone's addresses on a fabric, as intervals.

    Its whole pool of hosts if all hosts are the zone's, as they are for a zone of fabrics alone; else every subnet with
    members alone, and members in mixed subnets one by one.

    A zone of fabrics alone holds the managing devices: of a management network also the loopbacks of its own switches,
    as far as these ask servers from them.

    A member with a link of its own has the link's two addresses: no other host is there, and links side by side are one
    prefix, so that filters grow with switches and not with pairs of nodes.
    """
    if fabric.addressing is None or not covers(plan.spec, zone, fabric):
        return ()
    members, tenants = frozenset(members_of(plan.spec, zone)), plan.tenants_of.get(fabric.name, {})
    pool = fabric.addressing.hosts
    if fabric.is_provided:
        return _among_others(members, tenants)
    if not members and fabric.is_management:
        loopbacks = loopback_sources(plan, fabric.name)
        return (
            (int(pool.network_address), int(pool.broadcast_address)),
            *((loopback, loopback) for loopback in loopbacks),
        )
    groups_on_fabric = frozenset(chain.from_iterable(tenants.values()))
    has_all_hosts = bool(tenants) and groups_on_fabric <= members
    if not members or has_all_hosts:
        return ((int(pool.network_address), int(pool.broadcast_address)),)
    addresses: list[Interval] = []
    for switch, by_group in tenants.items():
        subnet = plan.host_subnet_of.get((fabric.name, switch))
        if subnet is not None and by_group.keys() <= members:
            size = 1 << (pool.max_prefixlen - subnet.prefix_length)
            addresses.append((subnet.network, subnet.network + size - 1))
        else:
            width = 2 if fabric.addressing.host_links == "point-to-point" else 1
            for group, group_addresses in by_group.items():
                if group not in members:
                    continue
                for address in group_addresses:
                    first = address - address % width
                    addresses.append((first, first + width - 1))
    return tuple(addresses)


def _among_others(members: Collection[str], tenants: Mapping[str, Mapping[str, Sequence[int]]]) -> tuple[Interval, ...]:
    """The members' own addresses on a provider's fabric, which has other customers' machines as well."""
    addresses: list[Interval] = []
    for groups in tenants.values():
        for group, of_group in groups.items():
            if group in members:
                addresses.extend((address, address) for address in of_group)
    return tuple(addresses)


@dataclass(frozen=True, slots=True)
class ZoneEnforcement:
    """The hosts of a zone by name: those with a filter of their own besides their ports', and the others."""

    zone: str
    filtering: tuple[str, ...]
    trusting: tuple[str, ...]


def zone_enforcement(plan: Plan) -> tuple[ZoneEnforcement, ...]:
    """Every zone in the spec's order, hosts sorted; a zone outside of the cluster has none.

    A node is in the zones of its group. Only an image carries a packet filter.
    """
    filtering: dict[str, list[str]] = defaultdict(list)
    trusting: dict[str, list[str]] = defaultdict(list)
    nodes = [device for device in plan.devices if device.kind == "node"]
    for node in sorted(nodes, key=lambda node: node.name):
        nodes_by_zone = trusting if node.image is None else filtering
        for zone_name in node.zones:
            nodes_by_zone[zone_name].append(node.name)
    names = [zone.name for zone in plan.spec.zones]
    return tuple(ZoneEnforcement(name, tuple(filtering[name]), tuple(trusting[name])) for name in names)
