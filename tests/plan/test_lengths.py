"""Cables are as long as the way between their ends: within a rack always, between racks where the floor is known."""

from __future__ import annotations

from pathlib import Path

import pytest

from clusterwright import data_files
from clusterwright.plan.build import build_plan
from clusterwright.plan.model import Cable, Plan
from clusterwright.plan.racks.lengths import RACK_UNIT_M, runs_of
from clusterwright.spec.load import load_spec

INVENTORY = data_files.folder("inventory")
FLOOR = """\
extends: %s
site:
  floor:
    row_pitch_m: 3
    tray_m: 2.6
    %s
    rows:
      - {name: A, racks: [p00r00..01, p00x00, x00, v00]}
      - {name: B, racks: [p01r00..01, p01x00]}
"""


def planned(folder: Path, more: str = "slack_m: 0.5") -> Plan:
    file = folder / "floor.yaml"
    file.write_text(FLOOR % (INVENTORY / "lab-roce.yaml", more))
    return build_plan(load_spec(file))


def between(plan: Plan, one: str, other: str) -> Cable:
    return next(cable for cable in plan.cables if (cable.a.device, cable.b.device) == (one, other))


def cables_in_one_rack(plan: Plan) -> list[Cable]:
    """Cables whose two ends stand in the same rack."""
    racks = {group.name for group in plan.groups if group.level == "rack"}
    rack_of = {device.name: device.rack for device in plan.devices}
    return [c for c in plan.cables if rack_of[c.a.device] == rack_of[c.b.device] and rack_of[c.a.device] in racks]


@pytest.mark.parametrize("name", ["lab-roce", "lab-sonic", "roce-24k"])
def test_no_cable_within_a_stated_rack_is_longer_than_a_rack_needs(name: str) -> None:
    plan = build_plan(load_spec(INVENTORY / f"{name}.yaml"))
    cables = [cable for cable in cables_in_one_rack(plan) if cable.a.side == "host"]
    assert cables, name
    for cable in cables:
        apart = abs(plan.by_name[cable.a.device].unit - plan.by_name[cable.b.device].unit) * RACK_UNIT_M
        assert apart < cable.length_m <= 3, cable


def test_a_length_that_fits_every_rack_stays_as_the_tier_says_it() -> None:
    plan = build_plan(load_spec(INVENTORY / "lab-roce.yaml"))
    assert {cable.length_m for cable in plan.cables if cable.medium == "dac"} == {2}
    assert not runs_of(plan).between("rsw-p01r00", "ssw-00", 20).is_measured


@pytest.mark.parametrize("name", ["lab-tenants", "lab-ib", "rsc-phase1"])
def test_a_rack_that_the_planner_chose_for_a_switch_shortens_no_cable(name: str) -> None:
    plan = build_plan(load_spec(INVENTORY / f"{name}.yaml"))
    cables = [
        c for c in cables_in_one_rack(plan) if plan.by_name[c.b.device].rack not in plan.by_name[c.b.device].groups
    ]
    assert cables, name
    assert [cable for cable in cables if cable.length_m != cable.stated_m] == []


def test_buffers_are_sized_for_the_stated_length_of_a_cable_that_is_ordered_shorter(tmp_path: Path) -> None:
    cable = between(planned(tmp_path), "rsw-p01r00", "ssw-00")
    assert (cable.length_m, cable.stated_m, cable.headroom_m) == (10, 20, 20)


def test_a_length_that_nobody_states_is_no_floor(tmp_path: Path) -> None:
    file = tmp_path / "short.yaml"
    text = (INVENTORY / "lab-roce.yaml").read_text()
    file.write_text(text.replace("down: {medium: mmf, length_m: 20}", "down: {medium: mmf}"))
    cables = [c for c in build_plan(load_spec(file)).cables if (c.fabric, c.tier) == ("backend", 1)]
    assert {cable.headroom_m for cable in cables} == {20}


def test_the_way_between_rows_goes_up_along_across_and_down(tmp_path: Path) -> None:
    plan = planned(tmp_path)
    run = runs_of(plan).between("rsw-p01r00", "ssw-00", 20)
    upright = sum(
        2.6 - (device.unit - 1 + plan.spec.catalogue[device.model].units / 2) * RACK_UNIT_M
        for device in (plan.by_name["rsw-p01r00"], plan.by_name["ssw-00"])
    )
    way = upright + 3 * 0.6 + 3 + 2 * 0.5  # three racks along, a row across, slack at both ends
    assert 7 < way < 10
    assert (run.length_m, run.trays, run.is_measured) == (10, ("A", "B")[::-1], True)
    assert between(plan, "rsw-p01r00", "ssw-00").length_m == 10
    assert between(plan, "rsw-p00r00", "ssw-00").length_m == runs_of(plan).between("rsw-p00r00", "ssw-00", 20).length_m


def test_a_way_that_crosses_far_off_is_longer_by_there_and_back(tmp_path: Path) -> None:
    run = runs_of(planned(tmp_path, "crossings_m: [12]")).between("rsw-p01r00", "ssw-00", 20)
    assert run.trays == ("B", "crossing 12 m", "A")
    assert run.length_m == 30  # 11.7 m to the crossing, 3 m across, 9.9 m back, down and up


def test_a_cable_is_ordered_in_a_length_that_is_sold(tmp_path: Path) -> None:
    plan = planned(tmp_path, "lengths_m: [9, 1, 3]")
    lengths = {cable.length_m for cable in plan.cables if "s00" not in cable.a.device and cable.medium != "backplane"}
    assert lengths <= {1, 3, 9, *range(10, 40)}
    assert between(plan, "rsw-p01r00", "ssw-00").length_m == 9


def test_a_rack_without_a_place_keeps_the_length_of_its_tier(tmp_path: Path) -> None:
    plan = planned(tmp_path)
    assert between(plan, "rsw-s00", "ssw-00").length_m == 20
