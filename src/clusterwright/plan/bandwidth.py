"""What a tier carries, counted cable by cable: the one meaning of oversubscription for lint, reports and promises.

Domains: the groups of nodes between which a fabric's bandwidth may change, from the smallest to the cluster.

A rack with a switch of its own is one, a pod with a tier of switches another; a row of racks that no tier ends at is
none. On a rail-optimised fabric the domain is the group whose nodes share their leaf on each rail.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from math import inf

from clusterwright.plan.model import Cable, Plan
from clusterwright.spec.fabric import Fabric


def oversubscription(plan: Plan, cables: Iterable[Cable]) -> Mapping[tuple[str, str], float]:
    """The bandwidth of all NICs at or below a tier over that of the tier's uplinks, by fabric and role.

    Counted over ``cables``: all of the plan's for what is designed, those in service for what is left of it. Infinite
    where NICs have no uplink among them; the uppermost tiers have no entry.
    """
    nics: Counter[tuple[str, int]] = Counter()
    up: Counter[tuple[str, str]] = Counter()
    for cable in cables:
        if cable.a.side == "up":
            up[cable.fabric, plan.by_name[cable.a.device].role] += cable.speed_gbps
        else:
            nics[cable.fabric, cable.tier] += cable.speed_gbps
    found: dict[tuple[str, str], float] = {}
    for fabric in plan.spec.fabrics:
        below = 0
        for depth, tier in enumerate(fabric.tiers):
            below += nics[fabric.name, depth]
            if tier.up is not None:
                gbps = up[fabric.name, tier.role]
                found[fabric.name, tier.role] = below / gbps if gbps else inf if below else 0.0
    return found


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
