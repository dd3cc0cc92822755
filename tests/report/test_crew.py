"""What cabling crews are given: lists that come back as they were written, bundles that add up, labels that differ."""

from __future__ import annotations

import csv
from collections import Counter
from datetime import date
from typing import TYPE_CHECKING

import pytest
from tests.report.specs import plan_of, spec_path

from clusterwright.extras.crew.files import crew_files
from clusterwright.extras.monitoring.neighbours import expected_neighbours
from clusterwright.lists.records import Inventory
from clusterwright.lists.writing import replace_files
from clusterwright.plan.allocation.imported import pin
from clusterwright.plan.build import build_plan
from clusterwright.spec.allocated.point_to_point import read_cables
from clusterwright.spec.hardware.port_names import PortNames
from clusterwright.spec.load import load_spec

if TYPE_CHECKING:
    from pathlib import Path

    from clusterwright.plan.model import Plan

LABS = ("lab-roce", "lab-ib", "lab-nvue", "lab-sonic", "lab-border")


def tables(plan: Plan) -> dict[str, list[dict[str, str]]]:
    return {
        name: list(csv.DictReader("".join(lines).splitlines())) for name, lines in crew_files(Inventory(plan)).items()
    }


@pytest.mark.parametrize("name", LABS)
def test_point_to_point_lists_come_back_as_the_cables_that_they_were(name: str, tmp_path: Path) -> None:
    plan = plan_of(name)
    replace_files(tmp_path, crew_files(Inventory(plan)))
    found = [row for file in sorted(tmp_path.glob("p2p_*.csv")) for row in read_cables(file)]
    planned = {(cable.a.device, cable.a.port, cable.b.device, cable.b.port) for cable in plan.cables}
    assert {(row.a_node, row.a_port, row.z_node, row.z_port) for row in found} == planned
    assert len(found) == len(planned)
    assert pin(plan, found, "p2p", date(2026, 6, 1)).cables == plan.cables


def test_the_columns_are_those_of_the_cable_validation_tool() -> None:
    found = tables(plan_of("lab-ib"))
    ours = set(found["p2p_ethernet.csv"][0])
    assert {"A-Rack", "A-U", "A-Node Name", "A-Type", "A-Port"} < ours
    assert {"Z-Rack", "Z-RU", "Z-Node Name", "Z-Type", "Z-Port", "Protocol"} < ours
    assert {row["Protocol"] for row in found["p2p_infiniband.csv"]} == {"ib"}
    types = {row["A-Type"] for name in ("p2p_infiniband.csv", "p2p_ethernet.csv") for row in found[name]}
    assert types == {"Host", "Switch"}


def test_from_1_7_on_the_cable_validation_tool_has_every_cable_under_its_new_columns() -> None:
    plan = plan_of("lab-ib")
    rows = tables(plan)["cable-validation/links.csv"]
    assert list(rows[0]) == ["A-Node", "A-Port", "Z-Node", "Z-Port", "Protocol"]
    infiniband = {fabric.name for fabric in plan.spec.fabrics if fabric.technology == "infiniband"}
    planned = [
        (c.a.device, c.a.port, c.b.device, c.b.port, "ib" if c.fabric in infiniband else "ethernet")
        for c in plan.cables
    ]
    assert sorted(tuple(row.values()) for row in rows) == sorted(planned)


def test_mission_control_has_every_ethernet_cable_once_and_its_bundles_are_the_pulls() -> None:
    plan = plan_of("lab-ib")
    rows = tables(plan)["mission-control/p2p_ethernet.csv"]
    assert list(rows[0]) == [
        "#", "BUNDLE_ID", "SEQ", "SRC_RACKROLE", "SRC_RACK", "SRC_U", "SRC_NAME", "SRC_HCA_PORT", "SRC_TRANSCEIVER",
        "DST_RACKROLE", "DST_RACK", "DST_U", "DST_NAME", "DST_PORT", "DST_TRANSCEIVER",
    ]  # fmt: skip
    ethernet = {fabric.name for fabric in plan.spec.fabrics if fabric.technology != "infiniband"}
    planned = [(c.a.device, c.a.port, c.b.device, c.b.port) for c in plan.cables if c.fabric in ethernet]
    found = [(row["SRC_NAME"], row["SRC_HCA_PORT"], row["DST_NAME"], row["DST_PORT"]) for row in rows]
    assert sorted(found) == sorted(planned)
    bundles = {row["BUNDLE_ID"]: (row["SRC_RACK"], row["DST_RACK"]) for row in rows}
    assert len(bundles) == len(set(bundles.values()))
    assert len({(row["BUNDLE_ID"], row["SEQ"]) for row in rows}) == len(rows)


@pytest.mark.parametrize("name", LABS)
def test_every_cable_is_in_one_bundle_and_has_two_labels_of_its_own(name: str) -> None:
    plan = plan_of(name)
    found = tables(plan)
    assert sum(int(row["cables"]) for row in found["pulls.csv"]) == len(plan.cables)
    labels = [row["label"] for row in found["labels.csv"]]
    assert len(set(labels)) == len(labels) == 2 * len(plan.cables)
    ends = {label.split(" / ")[0] for label in labels}
    assert len(ends) == 2 * len(plan.cables), "no port has another's identifier"
    assert {frozenset(label.split(" / ")) for label, count in Counter(labels).items() if count != 1} == set()


def test_trays_hold_what_is_pulled_through_them(tmp_path: Path) -> None:
    file = tmp_path / "floor.yaml"
    rows = "[{name: A, racks: [p00r00..01, p00x00, x00]}, {name: B, racks: [p01r00..01, p01x00, s00, v00]}]"
    file.write_text(
        f"extends: {spec_path('lab-roce')}\n"
        f"site: {{floor: {{row_pitch_m: 3, tray_m: 2.6, crossings_m: [2], rows: {rows}}}}}\n"
    )
    plan = build_plan(load_spec(file))
    found = tables(plan)
    between = [row for row in found["pulls.csv"] if row["from_rack"] != row["to_rack"]]
    assert {row["length_from"] for row in found["pulls.csv"]} == {"positions"}
    assert {row["pathway"] for row in between} == {"A", "B", "B > crossing 2 m > A"}
    crossing = sum(int(row["cables"]) for row in between if ">" in row["pathway"])
    assert crossing == sum(int(row["cables"]) for row in found["trays.csv"] if row["pathway"] == "crossing 2 m")
    assert found["labels.csv"][0]["label"] == "A01-01:be0 / A01-17:eth2/1/1", "row, place and unit after ANSI/TIA-606"
    placed = {row["name"]: (row["row"], row["position"]) for row in Inventory(plan).racks()}
    assert placed["p01r00"] == ("B", 1)


def test_labels_name_ports_as_their_devices_announce_them() -> None:
    plan = plan_of("lab-sonic")
    neighbours = expected_neighbours(Inventory(plan))
    heard = {(device, port) for below in neighbours.values() for device, port in below.values()}
    switches = {device.name for device in plan.devices if device.role == "rtsw"}
    rows = [row for row in tables(plan)["labels.csv"] if row["device"] in switches]
    names = PortNames(plan.spec.catalogue[plan.by_name[min(switches)].model])
    assert any(row["panel"] != row["port"] for row in rows)
    for row in rows:
        near = row["label"].split(" / ")[0]
        assert near.endswith(f":{row['panel']}")
        assert names.of_list(row["panel"], in_use=[row["port"]]) == row["port"]
        if row["port"] != "eth0":
            assert (row["device"], row["panel"]) in heard
