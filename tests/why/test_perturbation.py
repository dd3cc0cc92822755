"""The values behind rendered lines are those whose change alters them, and every one of them."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path

import pytest
from tests.cli.in_process import command

from clusterwright import data_files
from clusterwright.spec.load import load_spec
from clusterwright.spec.text.document import format_path
from clusterwright.why.perturbation import Explanation, Selection, explain

LAB = data_files.folder("inventory") / "lab-ib.yaml"
NODE, FILE, VARIABLE = "gpu-s00r00n0", "etc/nccl/nccl.conf", "^NCCL_IB_SL="


@cache
def explanation(pattern: str, device: str = NODE) -> Explanation:
    selection = Selection(device=device, pattern=re.compile(pattern), file=FILE)
    return explain(load_spec(LAB).document, selection)


def test_a_line_of_nccl_is_traced_to_its_key_and_not_to_others() -> None:
    explained = explanation(VARIABLE)
    data = load_spec(LAB).document.data
    names = [format_path(cause.place, data) for cause in explained.causes]
    assert [line.path for line in explained.lines] == [FILE]
    assert names[0] == "nccl.service_level"
    assert explained.causes[0].after == (f"NCCL_IB_SL={explained.causes[0].tried}",)
    assert "scheduler.plugin" not in names
    assert "fabrics[frontend].mtu" not in names


def test_a_line_that_no_device_has_has_no_causes() -> None:
    assert explanation("no such text anywhere").lines == ()
    assert explanation(VARIABLE, "no-such-device").lines == ()


def test_the_command_names_file_line_and_other_value(tmp_path: Path) -> None:
    result = command("why", LAB, NODE, VARIABLE, "--file", FILE, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    first, cause, other = result.stdout.splitlines()[:3]
    assert re.fullmatch(rf"{NODE}:/etc/nccl/nccl\.conf:\d+: NCCL_IB_SL=0", first)
    assert re.fullmatch(r"  .*lab-ib\.yaml:\d+:\d+: nccl\.service_level = 0", cause)
    assert re.fullmatch(r"      with \d+: NCCL_IB_SL=\d+", other)


def test_a_line_by_number_is_that_line_alone_and_json_holds_positions(tmp_path: Path) -> None:
    number = explanation(VARIABLE).lines[0].number
    result = command("why", LAB, NODE, "--file", FILE, "--line", str(number), "--format", "json", cwd=tmp_path)
    document = json.loads(result.stdout)
    assert [line["text"] for line in document["lines"]] == ["NCCL_IB_SL=0"]
    assert document["causes"][0]["from"] == "nccl.service_level"
    assert Path(document["causes"][0]["file"]).name == "lab-ib.yaml"
    assert all(isinstance(name, str) for name in document["not_tried"])


@pytest.mark.parametrize(
    ("device", "pattern", "message"),
    [
        (NODE, "(", "is no regular expression"),
        ("gpu-s99", "x", "has no device gpu-s99, or it has no such line"),
        (NODE, "no such text anywhere", f"has no device {NODE}, or it has no such line"),
    ],
)
def test_what_cannot_be_meant_is_one_clear_error(tmp_path: Path, device: str, pattern: str, message: str) -> None:
    result = command("why", LAB, device, pattern, cwd=tmp_path)
    assert result.returncode == 2
    assert message in result.stderr
