"""NICs that go wherever a tier has ports left: managers, storage and services on a rail-optimised fabric.

NVIDIA's reference design leaves one node out of four scalable units and gives the eight leaf ports that this frees to
the fabric's managers (DGX SuperPOD H100: 127 nodes in four units).
"""

from __future__ import annotations

from collections.abc import Sequence

from clusterwright.plan.layout import Layout
from clusterwright.plan.ports import capacity
from clusterwright.plan.seats import Attachment, Seat, nic_speeds
from clusterwright.spec.fabric import Attach, Fabric, Tier
from clusterwright.spec.model import ClusterSpec


def fill_free_ports(
    spec: ClusterSpec,
    layout: Layout,
    fabric: Fabric,
    seats: Sequence[Seat],
    nodes: Sequence[tuple[int, Attach]],
    found: list[Attachment],
) -> list[str]:
    """Append an attachment for each NIC of ``nodes`` (by index, with what says which tier), one switch after another.

    A NIC goes to the switch with the most free ports, the first of them when several are equal, and never to a switch
    that another NIC of its node has while there is one without. Ports that the tier keeps spare stay free. Returns the
    names of the node groups for which nothing was left.
    """
    missing: list[str] = []
    free: dict[str, dict[int, int]] = {}
    for number, attach in nodes:
        group = spec.node_groups[layout.nodes[number].node_group]
        speeds = nic_speeds(group, attach)
        tier = attach.to or ""
        if tier not in free:
            free[tier] = _free(fabric, seats, tier, speeds[0], found)
        left = free[tier]
        used: set[int] = set()
        for nic, speed in enumerate(speeds):
            seat = max(left, key=lambda at: (left[at] > 0, at not in used, left[at], -at), default=None)
            if seat is None or left[seat] <= 0:
                missing.append(group.name)
                break
            left[seat] -= 1
            used.add(seat)
            found.append(Attachment(number, nic, seat, speed))
    return missing


def _free(
    fabric: Fabric, seats: Sequence[Seat], role: str, speed_gbps: int, found: Sequence[Attachment]
) -> dict[int, int]:
    """Ports that each switch of a tier has left at a speed, by seat."""
    tier = fabric.tier(role)
    if tier is None:
        return {}
    depth = fabric.tiers.index(tier)
    offered = _offered(tier, speed_gbps)
    left = {number: offered for number, seat in enumerate(seats) if seat.tier == depth}
    for attachment in found:
        if attachment.seat in left:
            left[attachment.seat] -= 1
    return left


def _offered(tier: Tier, speed_gbps: int) -> int:
    """Ports of one switch for links from below, at one speed: what the uplinks and the spare ones leave."""
    model, up = tier.model, tier.up
    reserved = up.side.blocks if up is not None else ()
    blocks = tier.down.blocks or tuple(block.name for block in model.blocks if block.name not in reserved)
    offered = capacity(model, blocks, speed_gbps, tier.down.mode)
    if up is not None and not reserved:
        elsewhere = capacity(model, (), up.speed_gbps, up.side.mode) - capacity(model, blocks, up.speed_gbps)
        offered -= max(0, up.links - elsewhere)
    return offered - tier.down.spare
