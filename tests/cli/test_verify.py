"""``clusterwright verify`` as a user starts it: exit status and output."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from clusterwright import data_files
from clusterwright.cli.main import cli
from clusterwright.finding import ClusterwrightError

INVENTORY = data_files.folder("inventory")


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["verify", *arguments], standalone_mode=False)


@pytest.fixture
def rendered(tmp_path: Path) -> Path:
    out = tmp_path / "out"
    names = ["--only", "gpu-s00r00n0", "--only", "gpu-s01r00n0"]
    command = ["render", str(INVENTORY / "lab-ib.yaml"), "--out", str(out), *names]
    assert CliRunner().invoke(cli, command, standalone_mode=False).return_value == 0
    return out


def test_a_spec_is_proven() -> None:
    result = run(str(INVENTORY / "lab-ib.yaml"))
    assert result.return_value == 0
    assert "REFUTED" not in result.output
    assert "ib-up-down: proven." in result.output
    assert "pairs of compute adapters with an up–down path: 8,128" in result.output


def test_what_no_program_has_read_is_named_with_the_answer() -> None:
    arguments = [str(INVENTORY / "rsc-phase1.yaml"), "--check", "slurm"]
    said = "Rendered, and untried with the program that reads it: MLNX-OS, Ubuntu 24.04."
    assert run(*arguments).output.splitlines()[-1] == said
    assert json.loads(run(*arguments, "--format", "json").output)["untried"] == ["MLNX-OS", "Ubuntu 24.04"]


def test_a_folder_is_proven_with_a_note(rendered: Path) -> None:
    result = run(str(rendered), "--check", "ib-partitions", "--check", "ib-lid-space", "--format", "json")
    assert result.return_value == 0
    document = json.loads(result.output)
    assert document["proven"] is True
    assert [check["name"] for check in document["checks"]] == ["ib-partitions", "ib-lid-space"]
    assert "zones" in document["checks"][0]["notes"][0]


def test_a_folder_cannot_vouch_for_its_own_matrix(rendered: Path) -> None:
    result = run(str(rendered), "--check", "isolation")
    assert result.return_value == 3
    assert "isolation: not compared with a matrix. " in result.output
    assert "proven" not in result.output
    document = json.loads(run(str(rendered), "--check", "isolation", "--format", "json").output)
    assert (document["proven"], document["checks"][0]["unjudged"]) == (False, "not compared with a matrix")


def test_a_counterexample_is_shown_with_its_place(rendered: Path) -> None:
    path = rendered / "gpu-s00r00n0/etc/opensm/opensm.conf"
    text = path.read_text().replace("\nlmc 0\n", "\nlmc 3\n")
    line = text.split("\n").index("lmc 3") + 1
    path.write_text(text)
    manifest = json.loads((rendered / "manifest.json").read_text())
    for entry in manifest["artifacts"]:
        if (entry["device"], entry["path"]) == ("gpu-s00r00n0", "etc/opensm/opensm.conf"):
            entry["sha256"] = hashlib.sha256(path.read_bytes()).hexdigest()
    (rendered / "manifest.json").write_text(json.dumps(manifest))
    result = run(str(rendered), "--check", "ib-lid-space")
    assert result.return_value == 1
    assert "ib-lid-space: REFUTED" in result.output
    assert f"gpu-s00r00n0:/etc/opensm/opensm.conf:{line}: lmc 3: ftree routes no LMC other than 0" in result.output


def test_an_edited_folder_cannot_be_judged(rendered: Path) -> None:
    path = rendered / "gpu-s00r00n0/etc/opensm/root_guids.conf"
    path.write_text("")
    result = run(str(rendered))
    assert isinstance(result.exception, ClusterwrightError)
    assert f"{path}: differs" in str(result.exception)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["{lab-ib}", "--check", "ib-rail"], 'Did you mean "ib-rail-purity"?'),
        (["{lab-roce}", "--check", "ib-lid-space"], "nothing here that ib-lid-space could prove"),
        (["{hardware}"], "isolation-watch could prove: no such files are rendered for it"),
    ],
)
def test_what_cannot_run(arguments: list[str], said: str) -> None:
    places = {
        "{lab-ib}": str(INVENTORY / "lab-ib.yaml"),
        "{lab-roce}": str(INVENTORY / "lab-roce.yaml"),
        "{hardware}": str(INVENTORY / "hardware"),
    }
    result = run(*(places.get(word, word) for word in arguments))
    assert isinstance(result.exception, ClusterwrightError)
    assert said in str(result.exception)


def test_a_spec_with_errors_cannot_run(tmp_path: Path) -> None:
    spec = tmp_path / "spec.yaml"
    spec.write_text("version: 1\nname: x\n")
    assert run(str(spec)).return_value == 2
