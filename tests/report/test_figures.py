"""Figures and totals: counted by hand for a plan made by hand, and against the planner's arithmetic for every spec."""

from __future__ import annotations

import pytest
from tests.report.handmade import handmade_plan
from tests.report.specs import SPECS, plan_of

from clusterwright.plan.figures import figures as arithmetic
from clusterwright.plan.skeleton import build_skeleton
from clusterwright.report.figures import figures
from clusterwright.report.ports import available_ports
from clusterwright.report.totals import cable_totals, power_w, rack_kinds, tier_totals
from clusterwright.spec.hardware.cages import PortBlock, PortMode
from clusterwright.spec.hardware.models import HardwareModel


def test_figures_of_a_plan_made_by_hand() -> None:
    assert figures(handmade_plan()) == {
        "gpus": 64,
        "groups.pod.train": 2,
        "groups.rack.train": 4,
        "links.backend.atsw": 12,  # 4 CTSWs to 3 ATSWs
        "links.backend.ctsw": 8,  # 4 racks with 2 uplinks
        "links.backend.rtsw": 64,  # 8 nodes with 8 NICs
        "narrowest.backend.ctsw": pytest.approx(64 / 12),
        "narrowest.backend.rtsw": 8.0,
        "nodes": 8,
        "oversubscription.backend.ctsw": pytest.approx(64 / 12),
        "oversubscription.backend.rtsw": 8.0,
        "ports_used.atsw": 12,
        "ports_used.ctsw": 8 + 12,
        "ports_used.rtsw": 64 + 8,
        "power_kw": 99.8,  # 8 nodes of 10 kW and 11 switches of 1.8 kW
        "racks": 4,
        "switches.atsw": 3,
        "switches.ctsw": 4,
        "switches.rtsw": 4,
    }


@pytest.mark.parametrize("name", SPECS)
def test_counting_the_plan_comes_to_what_the_planner_computed(name: str) -> None:
    plan = plan_of(name)
    computed = arithmetic(plan.spec, build_skeleton(plan.spec))
    assert figures(plan) == pytest.approx(dict(computed), rel=1e-9)


def test_tiers_of_a_plan_made_by_hand() -> None:
    rtsw, ctsw, atsw = tier_totals(handmade_plan())
    assert [tier.role for tier in (rtsw, ctsw, atsw)] == ["rtsw", "ctsw", "atsw"]
    assert (rtsw.links, rtsw.speeds) == (64, ((400, 64),))
    assert (rtsw.bisection_tbps, rtsw.bisection_share) == (12.8, 1.0)
    assert (ctsw.bisection_tbps, ctsw.bisection_share) == (1.6, 0.125)  # the 8 uplinks of the racks
    assert (atsw.bisection_tbps, atsw.bisection_share) == (1.6, 0.125)  # 12 links above them help nobody
    assert (atsw.oversubscription, atsw.ports_used, atsw.ports_available) == (None, 12, 3 * 1024)


def test_one_kind_of_rack_holds_two_nodes_and_their_switch() -> None:
    (kind,) = rack_kinds(handmade_plan())
    assert (kind.count, kind.power_w, kind.weight_kg, kind.assumed) == (4, 2 * 10_000 + 1_800, 280.0, True)
    assert [(o.unit, o.role) for o in kind.occupants] == [(1, "node"), (9, "node"), (17, "rtsw")]


def test_power_and_cabling_add_up() -> None:
    plan = handmade_plan()
    assert power_w(plan) == 8 * 10_000 + 11 * 1_800
    assert [(c.medium, c.length_m, c.count) for c in cable_totals(plan)] == [("dac", 3.0, 64), ("smf", 30.0, 20)]


def test_a_mode_that_disables_the_neighbouring_block_costs_its_ports() -> None:
    odd = PortBlock("odd", ("e1", "e3"), "QSFP", (PortMode("400G", 400, ("/1",), disables="even"),))
    even = PortBlock("even", ("e2", "e4"), "QSFP", (PortMode("200G", 200, ("/1",)),))
    model = HardwareModel(
        name="m", kind="switch", manufacturer="", part="", technology=(), network_os=None, platform=None, asic=None,
        units=1, power_w=0, weight_kg=0, blocks=(odd, even), management=(), nic_groups=(), gpus=None, chips=None,
        capacity_tb=0, assumed=(),
    )  # fmt: skip
    assert available_ports(model, {"e1/1": 400}) == 2
    assert available_ports(model, {"e2/1": 200}) == 2
