"""Power of racks: figures counted by hand, switches where their power is left, and findings at the line to change."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest
from tests.plan.grown import data_of, grow
from tests.plans import plan_of, plan_with
from tests.rules.overlays import findings_of

from clusterwright.finding import Finding
from clusterwright.plan.figures import figures as arithmetic
from clusterwright.plan.model import Plan
from clusterwright.plan.skeleton import build_skeleton
from clusterwright.report.figures import figures

NODE_W, SERVER_W, STORAGE_W = 10_200, 600, 300
RTSW_W, RSW_W, CHASSIS_W, MGMT_W = 2_600, 1_300, 6_476, 106
RACK_W = 2 * NODE_W + RTSW_W + RSW_W
CLUSTER_RACK_W = 4 * CHASSIS_W + MGMT_W  # two ATSWs, two SSWs and the management switch
TRAYS = """
nodes:
  - {name: trays, model: nvl72-switch-tray, role: tray, prefix: nvl, inside: {nodes: compute, level: pod, count: 1}}
"""


def watts_by_rack(plan: Plan) -> dict[str, int]:
    watts: dict[str, int] = defaultdict(int)
    for device in plan.devices:
        watts[device.rack] += plan.spec.catalogue[device.model].power_w
    return dict(watts)


def of_power(findings: tuple[Finding, ...]) -> list[Finding]:
    return [finding for finding in findings if finding.code in {"CW707", "CW708"}]


def test_the_fullest_rack_of_the_lab_is_that_of_its_chassis() -> None:
    counted = figures(plan_of("lab-roce"))
    others_w = 2 * STORAGE_W + SERVER_W + 2 * RSW_W
    assert counted["power_kw"] == (4 * RACK_W + 4 * CHASSIS_W + CLUSTER_RACK_W + others_w) / 1000
    assert counted["rack_power_kw"] == CLUSTER_RACK_W / 1000


def test_switches_of_no_rack_go_where_their_power_is_left(tmp_path: Path) -> None:
    assert watts_by_rack(plan_of("lab-roce"))["x00"] == CLUSTER_RACK_W
    watts = watts_by_rack(plan_with(tmp_path, "lab-roce", f"site: {{rack_power_w: {RACK_W}}}\n"))
    assert watts["x00"] == 3 * CHASSIS_W
    assert watts["x01"] == CHASSIS_W + MGMT_W
    assert watts["p00r00"] == RACK_W
    assert not of_power(findings_of(tmp_path, f"site: {{rack_power_w: {RACK_W}}}\n", "lab-roce"))


def test_one_watt_less_than_a_rack_draws_is_reported_once(tmp_path: Path) -> None:
    (finding,) = of_power(findings_of(tmp_path, f"site: {{rack_power_w: {RACK_W - 1}}}\n", "lab-roce"))
    assert finding.path == "nodes[compute].levels[rack].of"
    assert finding.message == (
        "p00r00 draws 24,300 W: 2 grand-teton-h100 of 10,200 W, 1 minipack2 of 2,600 W, 1 wedge400-grand-teton of "
        "1,300 W; a rack may draw 24,299 W. 4 racks of compute draw more than that."
    )
    assert finding.hint == "Put no more than 1 grand-teton-h100 into a rack, or give racks more power."


def test_racks_of_switches_alone_are_reported_at_the_limit(tmp_path: Path) -> None:
    findings = of_power(findings_of(tmp_path, "site: {rack_power_w: 6000}\n", "lab-roce"))
    assert [finding.path for finding in findings] == ["nodes[compute].levels[rack].of", "site.rack_power_w"]
    assert findings[0].hint == "Choose models that draw less, or give racks more power."
    assert findings[1].message == (
        "p00x00 draws 6,476 W: 1 dcs-7804r3 of 6,476 W; a rack may draw 6,000 W. "
        "8 racks of switches draw more than that."
    )


def test_allocated_switches_stay_in_a_rack_that_lost_power(tmp_path: Path) -> None:
    case = grow(tmp_path, data_of("lab-roce"), lambda data: data["site"].update(rack_power_w=RACK_W))
    assert watts_by_rack(case.after)["x00"] == CLUSTER_RACK_W
    assert watts_by_rack(case.unaided)["x00"] == 3 * CHASSIS_W


def test_devices_in_no_rack_are_named_and_leave_no_fullest_rack(tmp_path: Path) -> None:
    text = f"site: {{rack_power_w: 30000}}\n{TRAYS}\n"
    (finding,) = of_power(findings_of(tmp_path, text, "lab-roce"))
    assert (finding.code, finding.path) == ("CW708", "nodes[trays].name")
    assert finding.message.startswith("2 trays are in no level called rack")
    plan = plan_with(tmp_path, "lab-roce", text)
    for counted in (figures(plan), arithmetic(plan.spec, build_skeleton(plan.spec))):
        assert "power_kw" in counted
        assert "rack_power_kw" not in counted


@pytest.mark.parametrize("limit", ["", "site: {rack_power_w: 60000}\n"])
def test_switches_of_a_provider_leave_no_figure(limit: str, tmp_path: Path) -> None:
    base = Path(__file__).parents[1] / "schema_keys/specs/rented.yaml"
    findings = of_power(findings_of(tmp_path, f"extends: {base}\n{limit}"))
    assert [finding.code for finding in findings] == (["CW708", "CW708"] if limit else [])
    plan = plan_with(tmp_path, str(base.with_suffix("")), limit)
    for counted in (figures(plan), arithmetic(plan.spec, build_skeleton(plan.spec))):
        assert not [name for name in counted if "power" in name]


def test_a_promise_of_power_is_compared(tmp_path: Path) -> None:
    promise = "expect: [{{figure: rack_power_kw, at_most: {}, assumed: The hall has no more.}}]\n"
    assert not findings_of(tmp_path, promise.format(26.01), "lab-roce")
    (finding,) = findings_of(tmp_path, promise.format(26), "lab-roce")
    assert finding.code == "CW203"
