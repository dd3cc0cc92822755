"""The inventory as JSON: whole, as its schema says, the same bytes every time, fast enough at full size."""

from __future__ import annotations

import json
import os
import subprocess
from typing import TYPE_CHECKING, Any

import pytest
from jsonschema import Draft202012Validator
from tests.cli.in_process import command
from tests.golden_files import assert_golden
from tests.report.handmade import handmade_plan
from tests.report.specs import INVENTORY, SPECS, plan_of, spec_path

from clusterwright.cli.main import cli
from clusterwright.finding import ClusterwrightError
from clusterwright.lists.as_json import json_lines
from clusterwright.lists.records import Inventory
from clusterwright.report.figures import figures

if TYPE_CHECKING:
    from pathlib import Path

    from clusterwright.plan.model import Plan


def document(plan: Plan, pod: str | None = None) -> str:
    return "".join(json_lines(Inventory(plan, pod), figures(plan)))


@pytest.fixture(scope="module", params=SPECS)
def written(request: pytest.FixtureRequest) -> tuple[Plan, dict[str, Any]]:
    """A reference spec's plan, and its inventory as whoever takes it reads it."""
    plan = plan_of(request.param)
    return plan, json.loads(document(plan))


def one_of_each(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The first record of each form: what is a number, a text or nothing in it, and which of a few words it has."""
    words = ("kind", "role", "side", "technology", "item", "state", "in_service")
    forms = {
        (*(type(v) for v in record.values()), *(str(record.get(word)) for word in words)): record for record in records
    }
    return list(forms.values())


def test_the_schema_accepts_it(written: tuple[Plan, dict[str, Any]]) -> None:
    schema = json.loads((INVENTORY / "schema" / "inventory.schema.json").read_text())
    Draft202012Validator.check_schema(schema)
    checker = Draft202012Validator.FORMAT_CHECKER
    kinds = {key: one_of_each(value) if isinstance(value, list) else value for key, value in written[1].items()}
    problems = Draft202012Validator(schema, format_checker=checker).iter_errors(kinds)
    assert [error.message for error in problems] == []


def test_every_device_and_cable_of_the_plan_is_there_once(written: tuple[Plan, dict[str, Any]]) -> None:
    plan, parsed = written
    assert [device["name"] for device in parsed["devices"]] == [device.name for device in plan.devices]
    ends = [(c["a"]["device"], c["a"]["port"], c["b"]["device"], c["b"]["port"]) for c in parsed["cables"]]
    assert ends == [(c.a.device, c.a.port, c.b.device, c.b.port) for c in plan.cables]
    assert len({(a["fabric"], a["address"]) for a in parsed["addresses"]}) == len(parsed["addresses"])
    assert parsed["totals"] == pytest.approx(dict(figures(plan)))


def test_each_record_has_a_line_of_its_own() -> None:
    plan = handmade_plan()
    lines = document(plan).splitlines()
    for device in plan.devices:
        assert sum(line.startswith(f'{{"name": "{device.name}",') for line in lines) == 1


def test_a_pod_has_its_devices_and_the_cables_that_end_there() -> None:
    plan = handmade_plan()
    parsed = json.loads(document(plan, "p01"))
    names = {device["name"] for device in parsed["devices"]}
    assert len(names) == 4 + 2 + 2
    assert all("p01" in name for name in names)
    assert len(parsed["cables"]) == 32 + 4 + 6
    assert {address["device"] for address in parsed["addresses"]} <= names


def test_an_unknown_pod_is_refused_with_the_names_there_are() -> None:
    with pytest.raises(ClusterwrightError) as refused:
        Inventory(handmade_plan(), "p9")
    assert str(refused.value) == 'handmade has no group "p9"; it has p00, p01.'


def test_golden() -> None:
    assert_golden("inventory/lab-roce/inventory.json", document(plan_of("lab-roce")).encode())


def test_two_hash_seeds_give_the_same_bytes(tmp_path: Path) -> None:
    written = []
    for seed in ("1", "2"):
        out = tmp_path / f"{seed}.json"
        subprocess.run(
            ["clusterwright", "inventory", str(spec_path("lab-ib")), "--out", str(out)],
            env={**os.environ, "PYTHONHASHSEED": seed, "LC_ALL": "C"},
            check=True,
            capture_output=True,
        )
        written.append(out.read_bytes())
    assert written[0] == written[1]


def test_24576_gpus_are_written_a_few_at_a_time() -> None:
    plan = plan_of("roce-24k")
    pieces = list(json_lines(Inventory(plan), figures(plan)))
    assert max(map(len, pieces)) < sum(map(len, pieces)) / 1000


def test_stdout_is_data_and_errors_go_to_stderr(tmp_path: Path) -> None:
    good = command("inventory", spec_path("lab-roce"), cwd=tmp_path)
    assert good.returncode == 0
    assert json.loads(good.stdout)["cluster"] == "lab-roce"
    bad = command("inventory", "missing.yaml", cwd=tmp_path)
    assert (bad.returncode, bad.stdout) == (2, "")
    assert "missing.yaml" in bad.stderr
    assert "Traceback" not in bad.stderr


def test_a_spec_with_errors_is_refused_and_nothing_is_written(tmp_path: Path) -> None:
    broken = tmp_path / "broken.yaml"
    broken.write_text(spec_path("lab-roce").read_text().replace("name: lab-roce", "nmae: lab-roce", 1))
    out = tmp_path / "inventory.json"
    result = command("inventory", broken, "--out", out, cwd=tmp_path)
    assert result.returncode == 2
    assert "nmae" in result.stderr
    assert not out.exists()


def test_a_failed_write_leaves_the_old_file(tmp_path: Path) -> None:
    folder = tmp_path / "inventory.json"
    folder.mkdir()
    result = command("inventory", spec_path("lab-roce"), "--out", folder, cwd=tmp_path)
    assert result.returncode == 2
    assert "cannot be written" in result.stderr
    assert list(tmp_path.iterdir()) == [folder]


def test_the_commands_are_registered() -> None:
    assert {"inventory", "report"} <= set(cli.list_commands(None))  # type: ignore[arg-type] # the list needs no context
