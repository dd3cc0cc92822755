"""A vendor's chip settings: merged word for word into the switches of their model, or said to be missing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from clusterwright import data_files
from clusterwright.output.rendering import Rendering
from clusterwright.plan.build import build_plan
from clusterwright.rules.engine import lint_path
from clusterwright.spec.load import load_spec

CHIP = {"asicConfig": {"common": {"yamlConfig": "bcm_device:\n  0:\n    global: {}\n"}}}
AGENT = "etc/coop/agent.conf"


def spec(folder: Path, entry: str) -> Path:
    base = data_files.folder("inventory") / "lab-roce.yaml"
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "lab.yaml"
    file.write_text(f"extends: {base}\nchip_settings:\n  - {{name: minipack2, {entry}}}\n")
    return file


def platform_of(file: Path, device: str) -> object:
    files = Rendering(build_plan(load_spec(file))).of_device(device)
    return json.loads(next(file.content for file in files if file.path == AGENT))["platform"]


@pytest.mark.parametrize("whole", [True, False])
def test_the_vendors_part_is_merged_into_the_switches_of_its_model(whole: bool, tmp_path: Path) -> None:
    platform = {"chip": CHIP, "platformSettings": {"0": "1"}}
    (tmp_path / "fuji.json").write_text(json.dumps({"sw": {}, "platform": platform} if whole else platform))
    file = spec(tmp_path, "file: fuji.json")
    assert not lint_path(file).findings
    assert platform_of(file, "rtsw-p00r00") == platform
    assert platform_of(file, "rsw-p00r00") == {"chip": {}}


def test_the_file_lies_beside_the_spec_that_names_it(tmp_path: Path) -> None:
    spec(tmp_path / "base", "file: fuji.json")
    (tmp_path / "base" / "fuji.json").write_text(json.dumps({"chip": CHIP}))
    file = tmp_path / "own.yaml"
    file.write_text("extends: base/lab.yaml\nname: own\n")
    assert platform_of(file, "rtsw-p00r00") == {"chip": CHIP}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "cannot be read"),
        ("{", "is not JSON"),
        ("[]", "has no settings of a chip"),
        ("null", "has no settings of a chip"),
        ('{"platform": []}', "has no settings of a chip"),
        ('{"platform": {"chip": {}}}', "has no settings of a chip"),
        ('{"chip": "x"}', "has no settings of a chip"),
        ("[" * 100_000, "is not JSON"),
    ],
)
def test_a_file_without_settings_is_refused_where_it_is_named(content: str | None, said: str, tmp_path: Path) -> None:
    if content is not None:
        (tmp_path / "fuji.json").write_text(content)
    file = spec(tmp_path, "file: fuji.json")
    (finding,) = lint_path(file).findings
    assert (finding.code, finding.position.line) == ("CW433", 3)
    assert said in finding.message


def test_without_settings_lint_says_so_on_the_tier(tmp_path: Path) -> None:
    findings = lint_path(spec(tmp_path, "remove: true")).findings
    assert [(finding.code, finding.severity.label) for finding in findings] == [("CW434", "warning")]
    assert findings[0].path == "fabrics[backend].tiers[rtsw].model"
