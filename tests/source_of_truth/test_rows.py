"""What is told to sources of truth: rows in an order in which they can be taken, in words that the servers know."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
import yaml
from click.testing import CliRunner
from tests.report.specs import plan_of, spec_path

from clusterwright.cli.inventory import inventory
from clusterwright.report.records import Inventory
from clusterwright.source_of_truth.listing import Listing
from clusterwright.source_of_truth.rows import KeptRow, Ref
from clusterwright.source_of_truth.systems import SERVER_KINDS, loaded_files
from clusterwright.source_of_truth.words import interface_type

LABS = ("lab-roce", "lab-ib", "lab-border")


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
    switch = next(each for each in every if each.technology == "infiniband" and each.role == "down")
    adapter = next(each for each in every if each.technology == "infiniband" and each.role == "host")
    model = {device.name: plan.spec.catalogue[device.model] for device in plan.devices}
    for each in (switch, adapter):
        assert interface_type(each, model[each.device], by_lanes=True) == "infiniband-ndr-4x"
        assert interface_type(each, model[each.device], by_lanes=False) == "infiniband-ndr"
    half = replace_speed(switch, 200)
    assert interface_type(half, model[switch.device], by_lanes=True) == "infiniband-ndr-2x"


def replace_speed(interface: Any, speed: int) -> Any:
    return interface._replace(speed_gbps=speed)


def test_states_come_from_the_exceptions() -> None:
    plan = plan_of("lab-roce")
    states = {"gpu-p00r00n0": "drained", "gpu-p00r00n1": "out-of-service"}
    devices = tuple(replace(each, state=states.get(each.name, each.state)) for each in plan.devices)
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
        each for each in csv.DictReader(io.StringIO(netbox["13-cables.csv"]))
        if (each["side_a_device"], each["side_a_name"]) == ("gpu-p00r00n0", "be0")
    )  # fmt: skip
    assert (cable["side_b_device"], cable["side_b_name"], cable["length"]) == ("rtsw-p00r00", "eth2/1/1", "2")
    addresses = list(csv.DictReader(io.StringIO(netbox["15-ip-addresses.csv"])))
    assert sum(each["is_primary"] == "true" for each in addresses) == 29
    assert {each["site"] for each in csv.DictReader(io.StringIO(netbox["11-devices.csv"]))} == {"ams1"}
    nautobot = tmp_path / "nautobot"
    interfaces = {
        each["id"] for each in csv.DictReader(io.StringIO((nautobot / "11-interfaces.csv").read_text(encoding="utf-8")))
    }
    ends = list(csv.DictReader(io.StringIO((nautobot / "12-cables.csv").read_text(encoding="utf-8"))))
    assert {each[f"termination_{side}_id"] for each in ends for side in "ab"} <= interfaces


def test_what_fills_a_nautobot_from_within_is_its_rows_and_a_program() -> None:
    inventory = Inventory(plan_of("lab-tenants"))
    files = {name: "".join(lines) for name, lines in loaded_files(inventory).items()}
    tables, *rows = map(json.loads, files["rows.jsonl"].splitlines())
    planned = list(SERVER_KINDS["nautobot"].rows(Listing(inventory)))
    assert [(name, tuple(key)) for name, key, _ in rows] == [(row.table, row.key) for row in planned]
    assert {name for name, _, _ in rows} <= {table["name"] for table in tables}
    compile(files["load.py"], "load.py", "exec")
