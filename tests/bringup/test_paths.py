"""Thresholds follow the plan and its routes: tests share no cable, and rings get what the busiest one leaves."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import pytest
from tests.plans import plan_of, plan_with

from clusterwright.extras.bringup.acceptance import acceptance_plans
from clusterwright.extras.bringup.check_bandwidth import check_bandwidth
from clusterwright.extras.bringup.matrix import across
from clusterwright.extras.bringup.paths import CabledPaths, busiest
from clusterwright.extras.bringup.steps import AcceptanceLimits, Step
from clusterwright.extras.bringup.traffic_steps import ring_share
from clusterwright.extras.bringup.unit import BringupUnit, unit_of
from clusterwright.plan.model import Plan

TWO_TO_ONE = """fabrics:
  - name: backend
    tiers: [{role: rtsw, up: {links: 8}}]
expect:
  - {figure: oversubscription.backend.rtsw, value: 2, assumed: "Half is enough here."}
  - {figure: oversubscription.backend.ctsw, value: 4, assumed: "Narrow above the pod."}
"""
# one leaf for each rail of four nodes: rings of eight nodes cross the spines
SMALL_UNITS = """nodes:
  - name: compute
    levels: [{name: rack, of: 2}, {name: su, of: 2}, {name: hall, of: 2}]
expect:
  - {figure: switches.leaf, value: 32, assumed: "One for each rail of each scalable unit."}
  - {figure: oversubscription.backend.leaf, value: 0.5, assumed: "Half empty."}
"""
SLOW_UPLINKS = """fabrics:
  - name: backend
    tiers:
      - {role: rtsw, up: {links: 16, speed_gbps: 200}}
expect:
  - {figure: oversubscription.backend.rtsw, value: 2, assumed: "Half is enough here."}
"""


def unit(plan: Plan, group: str) -> BringupUnit:
    return unit_of(plan, group)[0]


def steps(plan: Plan, group: str) -> dict[str, Step]:
    return {step.key: step for step in acceptance_plans(plan, group, AcceptanceLimits())[0].steps}


@pytest.mark.parametrize("overlay", ["", TWO_TO_ONE], ids=["1:1", "2:1"])
def test_no_two_tests_of_a_round_can_meet(overlay: str, tmp_path: Path) -> None:
    plan = plan_with(tmp_path, "lab-roce", overlay)
    own = unit(plan, "p00")
    rounds = across(own, CabledPaths(plan, "backend"))
    assert len(rounds) == 8, "eight NICs of a node are on one switch"
    for tests in rounds:
        for one, other in combinations(tests, 2):
            assert not one.path.hops & other.path.hops
            assert {one.server, one.client}.isdisjoint({other.server, other.client}) or one.near != other.near
    assert {frozenset((t.near.switch, t.far.switch)) for tests in rounds for t in tests} == {
        frozenset(("rtsw-p00r00", "rtsw-p00r01"))
    }


def test_rails_with_switches_of_their_own_run_at_once(tmp_path: Path) -> None:
    plan = plan_with(tmp_path, "lab-ib", SMALL_UNITS)
    group = next(g.name for g in plan.groups if g.level == "hall")
    own = unit(plan, group)
    rounds = across(own, CabledPaths(plan, "backend"))
    assert len(rounds) == 1
    assert len(rounds[0]) == 8
    assert ring_share(plan, own, range(8)).part == 1, "each leaf has one flow in and one out"
    assert steps(plan, group)["unit-rings"].thresholds[0].value == pytest.approx(8 * 397.4766 / 8 * 0.9, abs=0.1)


def test_a_ring_over_an_oversubscribed_tier_gets_what_the_plan_leaves(tmp_path: Path) -> None:
    whole, half = plan_of("lab-roce"), plan_with(tmp_path, "lab-roce", TWO_TO_ONE)
    at_once = [ring_share(plan, unit(plan, "p00"), range(8)) for plan in (whole, half)]
    assert at_once[1].part < at_once[0].part < 1
    assert at_once[0].part == pytest.approx(4 / 7)
    assert at_once[0].why == "of 8 × 4 connections over 16 cables up to 7 meet on one"
    alone = ring_share(half, unit(half, "p00"), [3])
    assert alone.part == 1, "one NIC has eight cables to itself"


def test_a_slow_way_lowers_what_a_pair_must_reach(tmp_path: Path) -> None:
    plan = plan_with(tmp_path, "lab-roce", SLOW_UPLINKS)
    found = steps(plan, "p00")
    assert found["bandwidth"].thresholds[0].value == pytest.approx(400 * 4096 / 4198 * 0.97, abs=0.1)
    assert found["bandwidth-across"].thresholds[0].value == pytest.approx(200 * 4096 / 4198 * 0.97, abs=0.1)


def test_the_busiest_cable() -> None:
    assert busiest(1, 16, 64) == 1
    assert busiest(8, 16, 64) == 4
    assert busiest(8, 1, 2) == 8


def report(rate: float, one: str, other: str, device: str = "mlx5_0") -> str:
    return (
        f"# pair {one} {device} {other} {device}\n"
        " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n"
        f" 8388608    20000            {rate:.2f}             {rate:.2f}    0.005\n"
    )


def test_a_slow_link_is_found_and_a_pair_is_judged_by_its_own_way(tmp_path: Path) -> None:
    plan = plan_with(tmp_path, "lab-roce", SLOW_UPLINKS)
    text = report(195.0, "gpu-p00r00n0", "gpu-p00r01n0") + report(195.0, "gpu-p00r00n0", "gpu-p00r00n1")
    text += report(99.0, "gpu-p00r00n1", "gpu-p00r01n1")
    verdicts = check_bandwidth(plan, None, text, "perftest", AcceptanceLimits()).verdicts
    assert [verdict.holds for verdict in verdicts] == [True, False, False]


def test_a_nic_out_of_service_is_not_asked_for(tmp_path: Path) -> None:
    overlay = "exceptions:\n  - {device: gpu-p00r00n0, port: be3, state: out-of-service, reason: broken cage}\n"
    plan = plan_with(tmp_path, "lab-roce", overlay)
    assert len(unit(plan, "p00").nics["gpu-p00r00n0"]) == 7
    missing = check_bandwidth(
        plan, "p00", report(390, "gpu-p00r00n0", "gpu-p00r00n1"), "perftest", AcceptanceLimits()
    ).verdicts
    assert not [v for v in missing if "gpu-p00r00n0 mlx5_3" in v.subject]
