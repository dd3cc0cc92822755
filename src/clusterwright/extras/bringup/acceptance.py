"""The acceptance plan of a group: its ordered steps."""

from __future__ import annotations

from clusterwright.extras.bringup import infiniband_steps, roce_steps
from clusterwright.extras.bringup.steps import Acceptance, AcceptanceLimits
from clusterwright.extras.bringup.traffic_steps import bandwidth_steps, ring_steps
from clusterwright.extras.bringup.unit import BringupUnit, unit_of
from clusterwright.plan.model import Plan


def acceptance_plans(plan: Plan, group: str, limits: AcceptanceLimits) -> tuple[Acceptance, ...]:
    """One plan for each RDMA fabric of the group. Raises ClusterwrightError as ``unit_of`` does."""
    return tuple(_acceptance(plan, unit, limits) for unit in unit_of(plan, group))


def _acceptance(plan: Plan, unit: BringupUnit, limits: AcceptanceLimits) -> Acceptance:
    technology = infiniband_steps if unit.fabric.technology == "infiniband" else roce_steps
    steps = [*technology.first_steps(plan, unit, limits), *bandwidth_steps(plan, unit, limits)]
    steps += ring_steps(plan, unit, limits)
    if len(unit.nodes) > 1:
        steps.append(technology.last_step(plan, unit, limits))
    return Acceptance(
        cluster=plan.name,
        group=unit.group,
        fabric=unit.fabric.name,
        technology=unit.fabric.technology,
        nodes=len(unit.nodes),
        steps=tuple(steps),
    )
