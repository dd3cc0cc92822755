"""Where a fabric's hosts are cabled to, as far as the spec itself says so."""

from __future__ import annotations

from clusterwright.spec.fabric import Attach, Fabric, Tier
from clusterwright.spec.model import CLUSTER, NodeGroup


def attached_tier(fabric: Fabric, attach: Attach, group: NodeGroup) -> Tier | None:
    """The tier that the NICs of a group are cabled to: the one that the attachment names, else the lowest around them.

    That need not be the fabric's lowest: nodes whose racks are in no pod stand under the tier above the pods'.
    """
    if attach.to is not None:
        return fabric.tier(attach.to)
    levels = {level.name for level in group.levels} | {CLUSTER}
    return next((tier for tier in fabric.tiers if tier.per in levels), None)
