"""Tiers that state where they stand: network racks of that level, lengths between them, heights and power of racks."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.plan.grown import Data, data_of, grow
from tests.plans import plan_of, plan_with
from tests.rules.overlays import codes, findings_of

from clusterwright.plan.model import Plan
from clusterwright.report.figures import figures

STATED = """
fabrics:
  - name: backend
    tiers:
      - {role: rtsw, stands: pod, down: {medium: mmf, length_m: 20}}
      - {role: ctsw, stands: pod}
"""
CHASSIS_W, RTSW_W = 6_476, 2_600


def racks_of(plan: Plan, role: str) -> list[str]:
    return [device.rack for device in plan.devices if device.role == role]


def places_of(plan: Plan, role: str) -> list[tuple[str, float]]:
    return [(device.rack, device.unit) for device in plan.devices if device.role == role]


def lengths_between(plan: Plan, lower: str, upper: str) -> set[float]:
    lengths: set[float] = set()
    for cable in plan.cables:
        if (plan.by_name[cable.a.device].role, plan.by_name[cable.b.device].role) == (lower, upper):
            lengths.add(cable.length_m)
    return lengths


def test_switches_stand_in_network_racks_of_the_level(tmp_path: Path) -> None:
    assert racks_of(plan_of("lab-roce"), "rtsw") == ["p00r00", "p00r01", "p01r00", "p01r01"]
    plan = plan_with(tmp_path, "lab-roce", STATED)
    assert racks_of(plan, "rtsw") == ["p00x00", "p00x00", "p01x00", "p01x00"]
    assert racks_of(plan, "ctsw") == ["p00x00", "p00x00", "p01x00", "p01x00"]


def test_a_switch_of_a_pod_can_stand_in_racks_of_the_cluster(tmp_path: Path) -> None:
    plan = plan_with(tmp_path, "lab-roce", STATED.replace("pod", "cluster"))
    assert set(racks_of(plan, "rtsw")) == {"x00"}


def test_cables_in_a_stated_network_rack_are_as_long_as_its_units_need(tmp_path: Path) -> None:
    assert lengths_between(plan_of("lab-roce"), "rtsw", "ctsw") == {20}
    plan = plan_with(tmp_path, "lab-roce", STATED)
    assert lengths_between(plan, "rtsw", "ctsw") == {1.5, 2}
    assert lengths_between(plan, "node", "rtsw") == {20}
    assert lengths_between(plan, "ctsw", "atsw") == {30}


def test_one_tier_that_states_nothing_keeps_the_lengths_of_its_cables(tmp_path: Path) -> None:
    plan = plan_with(tmp_path, "lab-roce", STATED.replace("{role: ctsw, stands: pod}", "{role: ctsw}"))
    assert racks_of(plan, "ctsw") == racks_of(plan, "rtsw")  # by chance of the planner, which may change
    assert lengths_between(plan, "rtsw", "ctsw") == {20}


@pytest.mark.parametrize(("code", "site"), [("CW701", "rack_units: 18"), ("CW707", "rack_power_w: 21800")])
def test_racks_of_nodes_have_room_and_power_without_their_switch(tmp_path: Path, code: str, site: str) -> None:
    text = f"site: {{{site}}}\n"
    assert code in codes(findings_of(tmp_path, text, "lab-roce"))
    assert code not in codes(findings_of(tmp_path, text + STATED, "lab-roce"))


def test_power_of_network_racks_counts_the_switches_that_stand_there(tmp_path: Path) -> None:
    plan = plan_with(tmp_path, "lab-roce", STATED)
    assert figures(plan)["rack_power_kw"] == figures(plan_of("lab-roce"))["rack_power_kw"]
    watts = sum(plan.spec.catalogue[device.model].power_w for device in plan.devices if device.rack == "p00x00")
    assert watts == 2 * CHASSIS_W + 2 * RTSW_W


def stand_in_pods(data: Data) -> None:
    tiers = {tier["role"]: tier for tier in data["fabrics"][0]["tiers"]}
    tiers["rtsw"].update(stands="pod", down={"medium": "mmf", "length_m": 20})
    tiers["ctsw"].update(stands="pod")


def test_allocated_switches_move_only_where_the_spec_no_longer_has_them(tmp_path: Path) -> None:
    case = grow(tmp_path, data_of("lab-roce"), stand_in_pods)
    assert racks_of(case.after, "rtsw") == ["p00x00", "p00x00", "p01x00", "p01x00"]
    assert places_of(case.after, "ctsw") == places_of(case.before, "ctsw")
    moved = [change.device for change in case.changes.devices.changed if change.field == "rack"]
    assert moved == ["rtsw-p00r00", "rtsw-p00r01", "rtsw-p01r00", "rtsw-p01r01"]


def test_an_allocated_network_rack_of_a_stated_level_stays_as_it_is(tmp_path: Path) -> None:
    data = data_of("lab-roce")
    stand_in_pods(data)

    def grow_pods(grown: Data) -> None:
        grown["nodes"][0]["count"] = 12

    case = grow(tmp_path, data, grow_pods)
    assert case.moved()["numbers"] == 0
    assert racks_of(case.after, "rtsw")[-1] == "p02x00"


def test_a_level_inside_that_of_the_switches_is_refused(tmp_path: Path) -> None:
    text = STATED.replace("{role: ctsw, stands: pod}", "{role: ctsw, stands: rack}")
    (finding,) = [finding for finding in findings_of(tmp_path, text, "lab-roce") if finding.code == "CW709"]
    assert finding.path == "fabrics[backend].tiers[ctsw].stands"
    assert finding.message == "ctsw switches serve a whole pod, which lies in no rack."
    assert finding.hint == "Name pod or cluster, or leave out `stands`."


def test_switches_of_the_cluster_stand_in_no_pod_of_it(tmp_path: Path) -> None:
    text = STATED.replace("{role: ctsw, stands: pod}", "{role: atsw, stands: pod}")
    (finding,) = [finding for finding in findings_of(tmp_path, text, "lab-roce") if finding.code == "CW709"]
    assert finding.hint == "Name cluster, or leave out `stands`."


def test_an_unknown_level_is_reported_once(tmp_path: Path) -> None:
    findings = findings_of(tmp_path, STATED.replace("ctsw, stands: pod", "ctsw, stands: row"), "lab-roce")
    assert [(finding.code, finding.path) for finding in findings] == [("CW155", "fabrics[backend].tiers[ctsw].stands")]
