"""``clusterwright diff --format markdown``: a comment that says first what is touched, and folds the rest."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.in_process import command

from clusterwright import data_files
from clusterwright.compare import markdown

INVENTORY = data_files.folder("inventory")
LAB = INVENTORY / "lab-roce.yaml"


def comment(folder: Path, added: str, *options: str) -> str:
    spec = folder / "changed.yaml"
    spec.write_text(f"version: 1\nextends: {LAB}\n{added}", encoding="utf-8")
    done = command("diff", LAB, spec, "--format", "markdown", *options, cwd=folder)
    assert done.returncode in {0, 1}, done.stderr
    return done.stdout


def row(text: str, what: str) -> str:
    return next(line for line in text.splitlines() if line.startswith(f"| {what} |"))


def test_the_table_stands_before_what_is_folded(tmp_path: Path) -> None:
    text = comment(tmp_path, 'exceptions: [{device: ctsw-p00-01, state: out-of-service, reason: "a dead fan"}]\n')
    assert text.index("| devices |") < text.index("<details>")
    assert "18 end, 0 begin" in row(text, "BGP sessions of backend")
    assert text.rstrip().endswith("</details>")


def test_a_drained_switch_keeps_its_sessions(tmp_path: Path) -> None:
    text = comment(tmp_path, 'exceptions: [{device: ctsw-p00-01, state: drained, reason: "a dead fan"}]\n')
    assert "| BGP sessions" not in text
    assert "18 without traffic" in row(text, "links of backend")


def test_a_node_that_goes_is_one_that_changes(tmp_path: Path) -> None:
    text = comment(tmp_path, 'exceptions: [{device: gpu-p00r00n0, state: out-of-service, reason: "a board"}]\n')
    assert "of 8: gpu-p00r00n0" in row(text, "nodes with GPUs that change")


def test_nothing_is_said_to_be_sent_where_nothing_changes(tmp_path: Path) -> None:
    assert "nothing is sent to any device" in comment(tmp_path, "")


def test_a_comment_is_no_longer_than_one_may_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(markdown, "MOST_CHARACTERS", 200)
    text = comment(tmp_path, 'exceptions: [{device: ctsw-p00-01, state: drained, reason: "a dead fan"}]\n')
    assert "cut here" in text
    assert len(text) < 1500


def test_proofs_are_for_comments_alone(tmp_path: Path) -> None:
    done = command("diff", LAB, LAB, "--prove", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (2, "--prove is for --format markdown.\n")
