"""Files that a spec names: found beside the file that names them, and missed on the line that does."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from clusterwright import data_files
from clusterwright.rules.engine import lint_path

INVENTORY = data_files.folder("inventory")


@pytest.mark.parametrize(
    ("base", "text", "code"),
    [
        ("lab-roce", "hardware: [nowhere.yaml]\n", "CW101"),
        ("lab-roce", "boot: {macs: nowhere.csv}\n", "CW101"),
        ("lab-ib", "fabrics:\n- {name: backend, guids: nowhere.csv}\n", "CW101"),
    ],
)
def test_a_missing_file_is_told_on_the_line_that_names_it(tmp_path: Path, base: str, text: str, code: str) -> None:
    shutil.copy(INVENTORY / f"{base}.yaml", tmp_path / "base.yaml")
    spec = tmp_path / "spec.yaml"
    spec.write_text(f"extends: base.yaml\n{text}")
    (finding,) = (finding for finding in lint_path(spec).findings if finding.code == code)
    assert finding.position.file == str(spec)
    assert "nowhere" in spec.read_text().splitlines()[finding.position.line - 1]


def test_hardware_lies_beside_the_base_that_names_it(tmp_path: Path) -> None:
    (tmp_path / "base").mkdir()
    text = (INVENTORY / "lab-roce.yaml").read_text()
    (tmp_path / "base" / "lab.yaml").write_text(f"{text}\nhardware: [own.yaml]\n")
    (tmp_path / "base" / "own.yaml").write_text("version: 1\nkind: hardware\nmodels: 5\n")
    spec = tmp_path / "spec.yaml"
    spec.write_text("extends: base/lab.yaml\n")
    assert {Path(finding.position.file).name for finding in lint_path(spec).findings} == {"own.yaml"}


@pytest.mark.parametrize("key", ["version", "name", "site", "nodes", "fabrics"])
def test_a_base_that_lacks_a_key_is_told_so(tmp_path: Path, key: str) -> None:
    lines = (INVENTORY / "lab-roce.yaml").read_text().splitlines(keepends=True)
    start = next(index for index, line in enumerate(lines) if line.startswith(f"{key}:"))
    end = next((index for index in range(start + 1, len(lines)) if lines[index][:1].isalpha()), len(lines))
    (tmp_path / "base.yaml").write_text("".join(lines[:start] + lines[end:]))
    spec = tmp_path / "spec.yaml"
    spec.write_text("extends: base.yaml\ntitle: On a base that lacks something\n")
    findings = [finding for finding in lint_path(spec).errors if finding.code == "CW111"]
    assert any(f'"{key}"' in finding.message for finding in findings)
