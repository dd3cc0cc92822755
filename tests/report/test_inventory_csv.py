"""The inventory as CSV: readable by spreadsheets, harmless to them, in the order of the floor."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from typing import TYPE_CHECKING

from tests.cli.in_process import command
from tests.golden_files import assert_golden
from tests.report.handmade import handmade_plan
from tests.report.specs import plan_of, spec_path

from clusterwright.lists.as_csv import csv_files, csv_lines, natural_key
from clusterwright.lists.records import Inventory

if TYPE_CHECKING:
    from pathlib import Path


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text, newline="")))


def test_golden() -> None:
    for name, lines in csv_lines(Inventory(plan_of("lab-roce"))).items():
        assert_golden(f"inventory/lab-roce/{name}", "".join(lines).encode())


def test_cables_are_sorted_by_rack_unit_and_port() -> None:
    plan = plan_of("lab-roce")
    found = rows(csv_files(Inventory(plan))["cables.csv"])
    assert len(found) == len(plan.cables)
    keys = [(natural_key(r["a_rack"]), float(r["a_unit"] or 0), r["a_device"], natural_key(r["a_port"])) for r in found]
    assert keys == sorted(keys)
    assert natural_key("eth1/2/1") < natural_key("eth1/10/1")


def test_cells_that_a_spreadsheet_would_run_are_made_text() -> None:
    plan = handmade_plan()
    for dangerous in ("=HYPERLINK(1)", "+1", "-1", "@SUM(1)"):
        devices = (replace(plan.devices[0], image=dangerous), *plan.devices[1:])
        first = rows(csv_files(Inventory(replace(plan, devices=devices)))["devices.csv"])[0]
        assert first["image"] == "'" + dangerous


def test_the_command_writes_a_file_a_list_and_asks_for_a_folder(tmp_path: Path) -> None:
    arguments = ("inventory", spec_path("lab-roce"), "--format", "csv")
    refused = command(*arguments, cwd=tmp_path)
    assert refused.returncode == 2
    assert "--out DIR" in refused.stderr
    assert command(*arguments, "--out", tmp_path / "sheets", cwd=tmp_path).returncode == 0
    written = {path.name for path in (tmp_path / "sheets").iterdir()}
    assert written == set(csv_lines(Inventory(plan_of("lab-roce"))))
    assert {"devices.csv", "interfaces.csv", "cables.csv", "addresses.csv", "materials.csv"} <= written
