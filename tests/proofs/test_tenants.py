"""Two tenants with settings of their own: proven beside each other, and told apart from a node that strayed."""

from __future__ import annotations

import re

import pytest
from tests.plans import plan_of
from tests.proofs.ethernet_trees import NCCL, SCRIPT, Edit, Place, tree, verdict

from clusterwright.hosts.nccl.files import settings_by_node
from clusterwright.intent.needs.table import needs_of

SPEC = "lab-tenants"
VISION, LANGUAGE = "vis-p00r03n1", "lang-p01r02n2"


def put(old: str, new: str) -> Edit:
    return lambda text: re.sub(old, new, text, count=1, flags=re.M)


@pytest.mark.parametrize("declared", [True, False], ids=["spec", "folder"])
def test_the_classes_of_both_tenants_are_proven(declared: bool) -> None:
    judged = verdict("qos", tree(SPEC, declaration=declared))
    assert not judged.counterexamples, [str(example) for example in judged.counterexamples[:3]]
    assert judged.is_proven or not declared


@pytest.mark.parametrize("declared", [True, False], ids=["spec", "folder"])
@pytest.mark.parametrize(
    "place",
    [(VISION, NCCL), (LANGUAGE, NCCL)],
    ids=["the first tenant", "the second"],
)
def test_a_node_with_the_other_tenant_s_settings_is_found(place: Place, declared: bool) -> None:
    """Each setting is right by itself: it is another one than that of all nodes of the same profile."""
    swapped = {VISION: ("224", "192"), LANGUAGE: ("192", "224")}[place[0]]
    edit = put(rf"^NCCL_IB_FIFO_TC={swapped[0]}$", f"NCCL_IB_FIFO_TC={swapped[1]}")
    judged = verdict("qos", tree(SPEC, {place: edit}, declaration=declared))
    assert [example.device for example in judged.counterexamples] == [place[0]]


def test_a_node_whose_connections_have_another_class_is_found() -> None:
    edit = put(r"^(.*cma_roce_tos .* -t) \d+$", r"\1 104")
    judged = verdict("qos", tree(SPEC, {(LANGUAGE, SCRIPT): edit}))
    assert {example.device for example in judged.counterexamples} == {LANGUAGE}


def test_each_tenant_has_its_own_nccl_and_the_origin_of_each_value() -> None:
    plan = plan_of(SPEC)
    by_group = {plan.by_name[node].node_group: settings for settings, node in settings_by_node(plan).items()}
    assert by_group.keys() == {"vision", "language"}
    for index, (group, pairs) in enumerate((("vision", "4"), ("language", "8"))):
        (own,) = (each for each in by_group[group] if each.name == "NCCL_IB_QPS_PER_CONNECTION")
        assert (own.value, own.origin) == (pairs, ("nccl", index, "qps_per_connection"))
    assert any(each.name == "TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC" for each in by_group["language"])
    assert not any(each.name == "TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC" for each in by_group["vision"])


def test_tenants_need_nothing_of_each_other() -> None:
    plan = plan_of(SPEC)
    rows = needs_of(plan.spec, {device.name: device.node_group for device in plan.devices})
    between = {(need.who.name, need.whom.name) for need in rows}
    assert {("vision", "vision"), ("language", "language"), ("vision", "services")} <= between
    assert not between & {("vision", "language"), ("language", "vision")}
