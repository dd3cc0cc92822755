"""The margin of a fabric's drawing: devices of each row by role, and one number where there are many roles."""

from __future__ import annotations

import pytest
from tests.plan.mixed_leaves import mixed_plan
from tests.plans import plan_of

from clusterwright.plan.model import Plan, fabric_of
from clusterwright.report.topology_svg import topology_drawing


def margins(plan: Plan, fabric: str) -> list[str]:
    """What the margin names of each row, from the endpoints upwards."""
    shapes = topology_drawing(plan, fabric_of(plan, fabric)).shapes
    return [shape.text for shape in shapes if shape.attributes.get("class") == "sum-name"]


@pytest.mark.parametrize("system", ["eos", "nvue"])
def test_tiers_beside_each_other_are_named(system: str) -> None:
    assert margins(mixed_plan(system), "backend") == ["8 node", "2 leaf + 2 bleaf", "4 spine"]


def test_many_roles_are_one_number() -> None:
    assert margins(plan_of("lab-roce"), "management")[0].endswith(" devices")
