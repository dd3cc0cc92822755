"""A pod has one name, that of its group; whoever names one may also say the layer that its stack is called after."""

from __future__ import annotations

import pytest
from tests.report.specs import plan_of

from clusterwright.deploy.pulumi.units import choose, cut
from clusterwright.extras.bringup.unit import unit_of
from clusterwright.finding import ClusterwrightError
from clusterwright.lists.records import Inventory
from clusterwright.plan.pod_names import group_named, layers


@pytest.mark.parametrize("name", ["lab-roce", "lab-ib", "rsc-phase1"])
def test_every_layer_is_a_stack_and_every_pod_has_one(name: str) -> None:
    plan = plan_of(name)
    assert {stack.layer: stack.pod for stack in cut(plan) if stack.pod} == layers(plan)
    assert set(layers(plan).values()) == {device.pod for device in plan.devices} - {""}


def test_a_pod_is_found_by_either_name_everywhere() -> None:
    plan = plan_of("lab-roce")
    assert group_named(plan, "pod1") == group_named(plan, "p01") == "p01"
    assert Inventory(plan, "pod1").device_list == Inventory(plan, "p01").device_list
    assert Inventory(plan, "storage-rack0").device_list == Inventory(plan, "s00").device_list
    assert choose(cut(plan), ["pod1"]) == choose(cut(plan), ["p01"])
    assert unit_of(plan, "pod1") == unit_of(plan, "p01")
    with pytest.raises(ClusterwrightError, match='no group "pod7"; it has p00, p01, s00, v00'):
        group_named(plan, "pod7")
