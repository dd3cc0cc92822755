"""Comparing two plans: every part of it in the order in which people should read it."""

from __future__ import annotations

from clusterwright.compare.addresses import address_changes
from clusterwright.compare.cables import cable_changes
from clusterwright.compare.changes import PlanChanges
from clusterwright.compare.devices import device_changes
from clusterwright.compare.isolation import isolation_changes
from clusterwright.plan.allocation.standing import Standing
from clusterwright.plan.model import Plan
from clusterwright.spec.allocated.facts import NOTHING_STANDS


def compare_plans(before: Plan, after: Plan) -> PlanChanges:
    """What differs between two plans, false when nothing does."""
    devices = device_changes(before, after)
    fabric = Standing(after.spec, NOTHING_STANDS).fabric
    return PlanChanges(
        before=before.name,
        after=after.name,
        isolation=isolation_changes(before.spec, after.spec),
        devices=devices,
        cables=cable_changes(before, after, devices.renamed, fabric),
        addresses=tuple(address_changes(before, after, devices.renamed, fabric)),
    )
