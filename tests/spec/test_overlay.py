"""The overlay file: read, counted among addresses and GUIDs, told in the inventory and to sources of truth."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.report.specs import INVENTORY

from clusterwright.extras.source_of_truth.listing import Listing
from clusterwright.extras.source_of_truth.systems import SERVER_KINDS
from clusterwright.finding import SpecError
from clusterwright.lists.as_csv import csv_files
from clusterwright.lists.as_json import json_lines
from clusterwright.lists.records import Inventory
from clusterwright.plan.boot import boot_nics
from clusterwright.plan.build import build_plan
from clusterwright.plan.model import Plan
from clusterwright.spec.labels.overlay import overlay_text, read_overlay
from clusterwright.spec.load import load_spec, overlay_file

NOTED = """\
device,port,serial,asset_tag,rack,unit,mac,guid,cable
gpu-p00r00n0,,FXK2290014,A-77,p00r00,1,,,
gpu-p00r00n0,fe0,,,,,0C-42-A1-5B-00-0C,,C-1041
gpu-p00r00n0,bmc,,,,,0c42.a15b.00ff,,
"""


def planned(folder: Path, noted: str, name: str = "lab-roce", more: str = "") -> Plan:
    spec = folder / "cluster.yaml"
    spec.write_text(f"version: 1\nextends: {INVENTORY / name}.yaml\n{more}", encoding="utf-8")
    overlay_file(spec).write_text(noted, encoding="utf-8")
    return build_plan(load_spec(spec))


def test_what_is_noted_stands_in_the_inventory(tmp_path: Path) -> None:
    inventory = Inventory(planned(tmp_path, NOTED))
    document = json.loads("".join(json_lines(inventory, {})))
    device = document["devices"][0]
    assert (device["name"], device["serial"], device["asset_tag"]) == ("gpu-p00r00n0", "FXK2290014", "A-77")
    macs = {each["name"]: each["mac"] for each in document["interfaces"] if each["mac"]}
    assert macs == {"fe0": "0c:42:a1:5b:00:0c", "bmc": "0c:42:a1:5b:00:ff"}
    (cable,) = (each for each in document["cables"] if each["number"])
    assert (cable["a"], cable["number"]) == ({"device": "gpu-p00r00n0", "port": "fe0"}, "C-1041")
    assert "FXK2290014,A-77" in csv_files(inventory)["devices.csv"]


def test_what_is_noted_is_told_to_sources_of_truth(tmp_path: Path) -> None:
    listing = Listing(Inventory(planned(tmp_path, NOTED)))
    netbox = {(row.table, row.key): row.fields for row in SERVER_KINDS["netbox"].rows(listing)}
    assert netbox["devices", ("gpu-p00r00n0",)]["serial"] == "FXK2290014"
    mac = ("gpu-p00r00n0", "fe0", "0C:42:A1:5B:00:0C")
    assert netbox["mac-addresses", mac]["mac_address"] == "0C:42:A1:5B:00:0C"
    assert netbox["primary-macs", ("gpu-p00r00n0", "fe0")]["primary_mac_address"].key == mac
    nautobot = {(row.table, row.key): row.fields for row in SERVER_KINDS["nautobot"].rows(listing)}
    assert nautobot["interfaces", ("gpu-p00r00n0", "bmc")]["mac_address"] == "0C:42:A1:5B:00:FF"
    assert [row["label"] for (table, _), row in nautobot.items() if table == "cables" and "label" in row] == ["C-1041"]


def test_a_noted_address_is_what_a_node_boots_with(tmp_path: Path) -> None:
    (tmp_path / "macs.csv").write_text("device,port,mac\ngpu-p00r00n1,fe0,0c:42:a1:5b:00:1c\n", encoding="utf-8")
    boot = "boot: {servers: services, fabric: frontend, macs: macs.csv}\n"
    found = boot_nics(planned(tmp_path, NOTED, more=boot))
    first = {name: nics[0] for name, nics in found.items()}
    assert (first["gpu-p00r00n0"].mac, first["gpu-p00r00n0"].is_planned) == (0x0C42A15B000C, False)
    assert (first["gpu-p00r00n1"].mac, first["gpu-p00r00n1"].is_planned) == (0x0C42A15B001C, False)
    assert first["gpu-p00r01n0"].is_planned


def test_a_noted_guid_is_what_the_subnet_manager_is_told(tmp_path: Path) -> None:
    rows = "device,port,guid\ngpu-s00r00n0,be0,0x0c42a10300b2e41c\nleaf-s00-00,,0x0c42a10300b2e400\n"
    plan = planned(tmp_path, rows, "lab-ib")
    guids = {(end.device, end.port): end.guid for cable in plan.cables for end in (cable.a, cable.b)}
    assert guids["gpu-s00r00n0", "be0"] == 0x0C42A10300B2E41C
    assert plan.by_name["leaf-s00-00"].guid == 0x0C42A10300B2E400
    rows_told = {row.key: row.fields for row in SERVER_KINDS["netbox"].rows(Listing(Inventory(plan)))}
    assert rows_told["gpu-s00r00n0", "be0"]["wwn"] == "0C:42:A1:03:00:B2:E4:1C"
    assert "wwn" not in rows_told["gpu-s00r00n0", "be1"], "a placeholder is nobody's label"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("device,serail\nx,1\n", 'Did you mean "serial"?'),
        ("port,mac\nfe0,0c:42:a1:5b:00:0c\n", "Name the device of each row."),
        ("device,serial,serial\nx,1,2\n", "is there twice"),
        ("", "has no header"),
        ("device,unit\nx,0\n", '"0" is no rack unit.'),
        ("device,unit\nx,first\n", '"first" is no rack unit.'),
        ("device,serial\nx,1,2\n", "has 3 of 2 fields"),
        ("device,serial\n,1\n", "names no device"),
        ("device,mac\nx,0c:42:a1:5b:00:0c\n", "Name the port."),
        ("device,port,guid\nx,be0,0c:42:a1:5b:00:0c\n", "a MAC address"),
        ("device,port,mac\nx,fe0,01:00:5e:00:00:01\n", "not an adapter's MAC address"),
        ("device,serial\nx," + "9" * 51 + "\n", "at most 50 characters"),
    ],
)
def test_what_cannot_be_understood_is_refused_at_its_line(text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(SpecError) as refused:
        planned(tmp_path, text)
    (finding,) = refused.value.findings
    assert finding.code == "CW280"
    assert said in finding.message + finding.hint
    assert finding.position is not None
    assert finding.position.file == str(tmp_path / "cluster.overlay.csv")


def test_a_written_file_reads_the_same(tmp_path: Path) -> None:
    file = tmp_path / "x.overlay.csv"
    file.write_text(NOTED, encoding="utf-8")
    before, _ = read_overlay(file, "x")
    file.write_text(overlay_text(before.rows), encoding="utf-8")
    after, findings = read_overlay(file, "x")
    assert not findings
    assert after == before
