"""What is told to sources of truth: rows in an order in which they can be taken, in words that the servers know."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, uuid5

import pytest
import yaml
from click.testing import CliRunner
from tests.report.specs import IPOIB, plan_of, spec_path

from clusterwright.cli.inventory import inventory
from clusterwright.extras.source_of_truth.listing import Listing
from clusterwright.extras.source_of_truth.rows import KeptRow, Ref
from clusterwright.extras.source_of_truth.systems import SERVER_KINDS, loaded_files
from clusterwright.extras.source_of_truth.words import interface_type
from clusterwright.lists.records import Inventory
from clusterwright.plan.build import build_plan
from clusterwright.spec.load import load_spec, overlay_file

LABS = ("lab-roce", "lab-ib", "lab-border", IPOIB)


def rows_of(kind: str, name: str, pod: str | None = None) -> tuple[KeptRow, ...]:
    return tuple(SERVER_KINDS[kind].rows(Listing(Inventory(plan_of(name), pod))))


def references(value: Any) -> Iterator[Ref]:
    if isinstance(value, Ref):
        yield value
    elif isinstance(value, dict):
        for each in value.values():
            yield from references(each)
    elif isinstance(value, tuple):
        for each in value:
            yield from references(each)


@pytest.mark.parametrize("name", LABS)
@pytest.mark.parametrize("kind", SERVER_KINDS)
def test_every_row_stands_once_and_after_what_it_refers_to(kind: str, name: str) -> None:
    order = [table.name for table in SERVER_KINDS[kind].tables]
    seen: set[Ref] = set()
    at = 0
    for row in rows_of(kind, name):
        assert order.index(row.table) >= at, row
        at = order.index(row.table)
        assert Ref(row.table, row.key) not in seen
        missing = {ref for ref in references(row.fields) if ref.table != "statuses"} - seen
        assert not missing, row
        seen.add(Ref(row.table, row.key))


@pytest.mark.parametrize("kind", SERVER_KINDS)
def test_of_one_pod_no_row_leaves_it(kind: str) -> None:
    rows = rows_of(kind, "lab-roce", "p00")
    devices = {row.key[0] for row in rows if row.table == "devices"}
    assert devices < {device.name for device in plan_of("lab-roce").devices}
    assert {key for row in rows if row.table == "cables" for key in row.key[::2]} <= devices


@pytest.mark.parametrize("kind", SERVER_KINDS)
def test_of_one_pod_everything_is_told_as_of_the_whole_cluster(kind: str) -> None:
    whole = {(row.table, row.key): row.fields for row in rows_of(kind, "lab-roce")}
    for row in rows_of(kind, "lab-roce", "p00r00"):
        assert row.fields == whole[row.table, row.key]


def test_the_whole_lab_is_listed() -> None:
    plan = plan_of("lab-roce")
    for kind in SERVER_KINDS:
        rows = rows_of(kind, "lab-roce")
        count = {table.name: sum(row.table == table.name for row in rows) for table in SERVER_KINDS[kind].tables}
        assert (count["devices"], count["cables"], count["interfaces"]) == (len(plan.devices), len(plan.cables), 2032)
        assert count["ip-addresses"] == len(list(Inventory(plan).addresses())) == 371
        # The management switch itself has no port on its own network.
        assert count["reachable-at"] == len(plan.devices) - 1


def test_infiniband_types_say_on_how_many_lanes() -> None:
    plan = plan_of("lab-ib")
    every = list(Inventory(plan).interfaces())
    switch = next(
        each for each in every if each.properties.technology == "infiniband" and each.properties.role == "down"
    )
    adapter = next(
        each for each in every if each.properties.technology == "infiniband" and each.properties.role == "host"
    )
    model = {device.name: plan.spec.catalogue[device.model] for device in plan.devices}
    for each in (switch, adapter):
        assert interface_type(each, model[each.device], by_lanes=True) == "infiniband-ndr-4x"
        assert interface_type(each, model[each.device], by_lanes=False) == "infiniband-ndr"
    half = replace_speed(switch, 200)
    assert interface_type(half, model[switch.device], by_lanes=True) == "infiniband-ndr-2x"


def replace_speed(interface: Any, speed: int) -> Any:
    return interface._replace(properties=interface.properties._replace(speed_gbps=speed))


def test_states_come_from_the_exceptions() -> None:
    plan = plan_of("lab-roce")
    states = {"gpu-p00r00n0": "drained", "gpu-p00r00n1": "out-of-service"}
    devices = tuple(replace(device, state=states.get(device.name, device.state)) for device in plan.devices)
    rows = SERVER_KINDS["netbox"].rows(Listing(Inventory(replace(plan, devices=devices))))
    told = {row.key[0]: row.fields["status"] for row in rows if row.table == "devices"}
    assert (told["gpu-p00r00n0"], told["gpu-p00r00n1"], told["gpu-p00r01n0"]) == ("offline", "failed", "active")


def test_the_files_have_names_that_people_use(tmp_path: Any) -> None:
    for kind in SERVER_KINDS:
        arguments = [str(spec_path("lab-roce")), "--format", kind, "--out", str(tmp_path / kind), "--site", "ams1"]
        assert CliRunner().invoke(inventory, arguments, standalone_mode=False).return_value == 0
    netbox = {path.name: path.read_text(encoding="utf-8") for path in (tmp_path / "netbox").iterdir()}
    assert sorted(netbox)[:3] == ["01-tags.csv", "02-manufacturers.csv", "03-device-types.yaml"]
    types = {each["model"]: each for each in yaml.safe_load_all(netbox["03-device-types.yaml"])}
    assert types["minipack2"] == {
        "manufacturer": "Meta", "model": "minipack2", "slug": "meta-minipack2",
        "part_number": types["minipack2"]["part_number"], "u_height": 4, "is_full_depth": True,
        "weight": types["minipack2"]["weight"], "weight_unit": "kg",
    }  # fmt: skip
    (cable,) = (
        row for row in csv.DictReader(io.StringIO(netbox["13-cables.csv"]))
        if (row["side_a_device"], row["side_a_name"]) == ("gpu-p00r00n0", "be0")
    )  # fmt: skip
    assert (cable["side_b_device"], cable["side_b_name"], cable["length"]) == ("rtsw-p00r00", "eth2/1/1", "2")
    addresses = list(csv.DictReader(io.StringIO(netbox["15-ip-addresses.csv"])))
    assert sum(address["is_primary"] == "true" for address in addresses) == 29
    assert {row["site"] for row in csv.DictReader(io.StringIO(netbox["11-devices.csv"]))} == {"ams1"}
    nautobot = tmp_path / "nautobot"
    interfaces = {
        row["id"] for row in csv.DictReader(io.StringIO((nautobot / "11-interfaces.csv").read_text(encoding="utf-8")))
    }
    ends = list(csv.DictReader(io.StringIO((nautobot / "12-cables.csv").read_text(encoding="utf-8"))))
    assert {each[f"termination_{side}_id"] for each in ends for side in "ab"} <= interfaces


@pytest.mark.parametrize("kind", sorted(SERVER_KINDS))
def test_what_fills_a_server_from_within_is_its_rows_and_a_program(kind: str) -> None:
    inventory = Inventory(plan_of("lab-tenants"))
    files = {name: "".join(lines) for name, lines in loaded_files(SERVER_KINDS[kind], inventory).items()}
    tables, *rows = map(json.loads, files["rows.jsonl"].splitlines())
    planned = list(SERVER_KINDS[kind].rows(Listing(inventory)))
    assert [(name, tuple(key)) for name, key, _ in rows] == [(row.table, row.key) for row in planned]
    assert {name for name, _, _ in rows} <= {table["name"] for table in tables}
    compile(files["load.py"], "load.py", "exec")


def test_what_needs_quotation_marks_has_them(tmp_path: Path) -> None:
    """Rows are written by what they have in common; a word that CSV or JSON writes otherwise is no such row's."""
    serial, label = 'two "quoted", 100%s', "tray 7, left"
    noted = 'device,port,serial,cable\ngpu-p00r00n0,,"two ""quoted"", 100%s",\ngpu-p00r00n0,be0,,"tray 7, left"\n'
    spec = tmp_path / "lab.yaml"
    spec.write_text(f"version: 1\nextends: {spec_path('lab-roce')}\n", encoding="utf-8")
    overlay_file(spec).write_text(noted, encoding="utf-8")
    plan = build_plan(load_spec(spec))
    names = {"netbox": ("11-devices", "13-cables"), "nautobot": ("10-devices", "12-cables")}
    for kind, (devices, cables) in names.items():
        files = {name: "".join(lines) for name, lines in SERVER_KINDS[kind].files(Listing(Inventory(plan))).items()}
        told = {row["name"]: row for row in csv.DictReader(io.StringIO(files[f"{devices}.csv"]))}
        assert (told["gpu-p00r00n0"]["serial"], told["gpu-p00r00n1"]["serial"]) == (serial, "")
        laid = csv.DictReader(io.StringIO(files[f"{cables}.csv"]))
        assert [each["label"] for each in laid if each["label"]] == [label]
    rows = [
        json.loads(line)
        for line in "".join(loaded_files(SERVER_KINDS["nautobot"], Inventory(plan))["rows.jsonl"]).splitlines()[1:]
    ]
    assert [row[2]["serial"] for row in rows if row[0] == "devices" and "serial" in row[2]] == [serial]


@pytest.mark.parametrize("kind", SERVER_KINDS)
def test_rows_are_decided_once_a_pattern_and_none_is_kept(kind: str) -> None:
    server, listing = SERVER_KINDS[kind], Listing(Inventory(plan_of("lab-roce")))
    for name in ("interfaces", "cables", "ip-addresses"):
        patterns = [pattern for pattern, _ in server.rows_by_table[name](listing)]
        assert len(set(patterns)) < len(patterns) / 10
    read = iter(server.files(listing)["11-interfaces.csv" if kind == "nautobot" else "12-interfaces.csv"])
    assert next(read).count("\n") == 1, "the header comes before any row is made"


def test_ids_are_those_of_uuid5() -> None:
    name = "clusterwright\ninterfaces\ngpu-p00r00n0\nbe0"
    lines = "".join(SERVER_KINDS["nautobot"].files(Listing(Inventory(plan_of("lab-roce"))))["11-interfaces.csv"])
    found = {(row["device__name"], row["name"]): row["id"] for row in csv.DictReader(io.StringIO(lines))}
    assert found["gpu-p00r00n0", "be0"] == str(uuid5(NAMESPACE_URL, name))
