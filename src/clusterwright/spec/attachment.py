"""Cabling of a fabric's hosts to tiers, and the order of tiers, as far as the spec determines them.

Tiers are written from the bottom up. An uplink leads to one of the later tiers: one in `up.to`, or, without that, any
around a switch of the tier. So two tiers may lie side by side below a third one.
"""

from __future__ import annotations

from dataclasses import dataclass

from clusterwright.spec.fabric import Attach, Fabric, Tier
from clusterwright.spec.hardware.models import NicGroup
from clusterwright.spec.model import CLUSTER, ClusterSpec, NodeGroup


def attached_tier(fabric: Fabric, attach: Attach, group: NodeGroup) -> Tier | None:
    """The tier cabled to the NICs of a group: the attachment's, or else the lowest tier around the nodes.

    That need not be the fabric's lowest: nodes with racks outside of pods stand under the tier above the pods'.
    """
    if attach.to is not None:
        return fabric.tier(attach.to)
    levels = {level.name for level in group.levels} | {CLUSTER}
    for tier in fabric.tiers:
        if tier.per in levels:
            return tier
    return None


def attached_nics(spec: ClusterSpec, attach: Attach) -> NicGroup | None:
    """The NIC group of an attachment; None for management ports and for unknown names."""
    group = spec.node_group(attach.nodes or "")
    if group is None:
        return None
    return group.model.nic_group(attach.nics or "")


def leaves_of_gpus(spec: ClusterSpec, fabric: Fabric) -> tuple[Tier, ...]:
    """The tiers cabled to nodes with GPUs, in the order of the spec; nodes on free ports do not count."""
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
    """For each tier the possible targets of its uplinks; a switch takes the first one around it."""
    levels: tuple[int, ...]
    """For each tier the largest number of tiers below it in a chain; 0 for a tier without uplinks to it."""

    def next_above(self, tier: int) -> int | None:
        """The usual target of a tier's uplinks, with an exception for switches without it around; None for the highest
        tier."""
        return self.above[tier][0] if self.above[tier] else None

    def next_below(self, tier: int) -> tuple[int, ...]:
        """The tiers directly below this one."""
        return tuple(lower for lower in range(tier) if self.next_above(lower) == tier)

    def at_or_below(self, tier: int) -> tuple[int, ...]:
        """The tier, and all tiers with uplinks to it, directly or over others."""
        members = {tier}
        for lower in reversed(range(tier)):
            if members.intersection(self.above[lower]):
                members.add(lower)
        return tuple(sorted(members))

    def is_on_way(self, tier: int, reference: int) -> bool:
        """Whether a tier lies above or below ``reference``, or is it."""
        return reference in self.at_or_below(tier) or tier in self.at_or_below(reference)


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
    """The levels around each kind of node on the fabric."""
    names = {attach.nodes for attach in fabric.attach}
    places = []
    for group in spec.node_groups:
        if group.name not in names and None not in names:
            continue
        levels = [level.name for level in group.levels]
        places.append(frozenset([*levels, CLUSTER]))
    return places


def _above(fabric: Fabric, tier: int, places: list[frozenset[str]]) -> tuple[int, ...]:
    """The possible targets of a tier's uplinks: those in `up.to`, else later tiers around it, else all later ones."""
    later = tuple(range(tier + 1, len(fabric.tiers)))
    up = fabric.tiers[tier].up
    if up is not None and up.to:
        return tuple(upper for upper in later if fabric.tiers[upper].role in up.to)
    around = []
    for upper in later:
        levels = {fabric.tiers[tier].per, fabric.tiers[upper].per}
        if any(levels <= place for place in places):
            around.append(upper)
    return tuple(around) or later
