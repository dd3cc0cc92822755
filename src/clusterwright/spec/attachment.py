"""Where a fabric's hosts are cabled to, and which tiers lie above one another, as far as the spec itself says so.

Tiers are written from the bottom up. An uplink leads to one of the tiers after its own: to those that `up.to` names,
else to any that stands around a switch of the tier. So two tiers may lie side by side below a third one.
"""

from __future__ import annotations

from dataclasses import dataclass

from clusterwright.spec.fabric import Attach, Fabric, Tier
from clusterwright.spec.hardware.models import NicGroup
from clusterwright.spec.model import CLUSTER, ClusterSpec, NodeGroup


def attached_tier(fabric: Fabric, attach: Attach, group: NodeGroup) -> Tier | None:
    """The tier that the NICs of a group are cabled to: the one that the attachment names, else the lowest around them.

    That need not be the fabric's lowest: nodes whose racks are in no pod stand under the tier above the pods'.
    """
    if attach.to is not None:
        return fabric.tier(attach.to)
    levels = {level.name for level in group.levels} | {CLUSTER}
    return next((tier for tier in fabric.tiers if tier.per in levels), None)


def attached_nics(spec: ClusterSpec, attach: Attach) -> NicGroup | None:
    """The NIC group of an attachment; None for management ports and for unknown names."""
    group = spec.node_group(attach.nodes or "")
    if group is None:
        return None
    return group.model.nic_group(attach.nics or "")


def leaves_of_gpus(spec: ClusterSpec, fabric: Fabric) -> tuple[Tier, ...]:
    """The tiers that nodes with GPUs are cabled to, but for nodes that take free ports, in the order of the spec."""
    roles: set[str] = set()
    for attach in fabric.attach:
        group = spec.node_group(attach.nodes or "")
        if group is None or group.model.gpus is None or attach.to is not None:
            continue
        tier = attached_tier(fabric, attach, group)
        if tier is not None:
            roles.add(tier.role)
    return tuple(tier for tier in fabric.tiers if tier.role in roles)


@dataclass(frozen=True, slots=True)
class TierOrder:
    """The order of a fabric's tiers, each by its index in the spec."""

    above: tuple[tuple[int, ...], ...]
    """For each tier those to which its uplinks may lead; a switch takes the first that stands around it."""
    levels: tuple[int, ...]
    """For each tier how many tiers lie below it, one over the other, at most: 0 for those that nothing climbs to."""

    def next_above(self, tier: int) -> int | None:
        """The tier to which uplinks lead unless a switch has none of it around; None for the highest tier."""
        return self.above[tier][0] if self.above[tier] else None

    def next_below(self, tier: int) -> tuple[int, ...]:
        """The tiers whose next one above is this one."""
        return tuple(lower for lower in range(tier) if self.next_above(lower) == tier)

    def at_or_below(self, tier: int) -> tuple[int, ...]:
        """The tier, and all from which uplinks lead to it, over others or at once."""
        members = {tier}
        for lower in reversed(range(tier)):
            if members.intersection(self.above[lower]):
                members.add(lower)
        return tuple(sorted(members))

    def is_on_way(self, tier: int, other: int) -> bool:
        """Whether a tier lies above or below another one, or is it."""
        return other in self.at_or_below(tier) or tier in self.at_or_below(other)


def tier_order(spec: ClusterSpec, fabric: Fabric) -> TierOrder:
    """The order of a fabric's tiers."""
    places = _places(spec, fabric)
    above = tuple(_above(fabric, tier, places) for tier in range(len(fabric.tiers)))
    levels: list[int] = []
    for tier in range(len(fabric.tiers)):
        below = [levels[lower] for lower in range(tier) if tier in above[lower]]
        levels.append(max(below, default=-1) + 1)
    return TierOrder(above=above, levels=tuple(levels))


def _places(spec: ClusterSpec, fabric: Fabric) -> list[frozenset[str]]:
    """The levels around each kind of node that the fabric serves."""
    names = {attach.nodes for attach in fabric.attach}
    served = [group for group in spec.node_groups if group.name in names or None in names]
    return [frozenset([*(level.name for level in group.levels), CLUSTER]) for group in served]


def _above(fabric: Fabric, tier: int, places: list[frozenset[str]]) -> tuple[int, ...]:
    later = tuple(range(tier + 1, len(fabric.tiers)))
    up = fabric.tiers[tier].up
    if up is not None and up.to:
        return tuple(upper for upper in later if fabric.tiers[upper].role in up.to)
    per = fabric.tiers[tier].per
    around = [upper for upper in later if any({per, fabric.tiers[upper].per} <= place for place in places)]
    return tuple(around) or later
