"""Domains: the groups of nodes between which a fabric's bandwidth may change, from the smallest to the cluster.

A rack with a switch of its own is one, a pod with a tier of switches another; a row of racks that no tier ends at is
none. On a rail-optimised fabric the domain is the group whose nodes share their leaf on each rail.
"""

from __future__ import annotations

from clusterwright.plan.model import Plan
from clusterwright.spec.fabric import Fabric


def data_fabric(plan: Plan, node_group: str) -> Fabric | None:
    """The fabric that jobs on a node group use: its NCCL profile's, else the first that carries RDMA to it."""
    attached = [fabric for fabric in plan.spec.fabrics if any(attach.nodes == node_group for attach in fabric.attach)]
    nccl = plan.spec.nccl(node_group)
    if nccl is not None:
        chosen = next((fabric for fabric in attached if fabric.name == nccl.fabric), None)
        if chosen is not None:
            return chosen
    return next((fabric for fabric in attached if fabric.technology != "ethernet"), None)


def domain_levels(plan: Plan, node_group: str) -> tuple[str, ...]:
    """The levels of a node group at which a tier of its data fabric stands, the smallest first; never the cluster."""
    group = plan.spec.node_group(node_group)
    fabric = data_fabric(plan, node_group)
    if group is None or fabric is None:
        return ()
    tiers = {tier.per for tier in fabric.tiers}
    return tuple(level.name for level in group.levels if level.name in tiers)
