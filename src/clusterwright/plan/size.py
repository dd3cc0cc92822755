"""How many nodes, switches and links a spec asks for, counted by multiplication: nothing is expanded for it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from clusterwright.plan.layout import group_counts
from clusterwright.plan.seats import nic_speeds
from clusterwright.plan.skeleton import planes_of_tiers
from clusterwright.spec.fabric import Fabric, Tier
from clusterwright.spec.model import CLUSTER, ClusterSpec


def node_count(spec: ClusterSpec) -> int:
    """All nodes."""
    return sum(group.count for group in spec.node_groups)


def cabled_port_count(spec: ClusterSpec) -> int:
    """Number of all nodes' ports on fabrics."""
    ports = 0
    for fabric in spec.fabrics:
        for attach, group in product(fabric.attach, spec.node_groups):
            if attach.is_management or attach.nodes == group.name:
                ports += group.count * len(nic_speeds(group, attach))
    return ports


def switch_counts(spec: ClusterSpec) -> list[tuple[Tier, int]]:
    """Each tier of each fabric with the number of its switches."""
    switches: list[tuple[Tier, int]] = []
    for fabric in spec.fabrics:
        switches += _switches(spec, fabric)
    return switches


def uplink_counts(spec: ClusterSpec) -> list[tuple[Tier, int]]:
    """Each tier with uplinks, with the number of its switches' links upwards."""
    return [(tier, switches * tier.up.links) for tier, switches in switch_counts(spec) if tier.up]


def _switches(spec: ClusterSpec, fabric: Fabric) -> Iterator[tuple[Tier, int]]:
    """Each tier with the number of its switches."""
    for tier, planes in zip(fabric.tiers, planes_of_tiers(spec, fabric), strict=True):
        yield tier, _instances(spec, fabric, tier) * planes * tier.count


def _instances(spec: ClusterSpec, fabric: Fabric, tier: Tier) -> int:
    if tier.per == CLUSTER:
        return 1
    names = {attach.nodes for attach in fabric.attach}
    serves_all = None in names
    counts: dict[str, int] = {}
    for group in spec.node_groups:
        if not serves_all and group.name not in names:
            continue
        holder = group.name if group.inside is None else group.inside.nodes
        counts[holder] = max(counts.get(holder, 0), group_counts(group).get(tier.per, 0))
    return sum(counts.values())
