"""``clusterwright diff --format markdown``: a comment that says first what is touched, and folds the rest."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from tests.cli.in_process import command
from tests.report.specs import plan_of

from clusterwright import data_files
from clusterwright.compare import markdown
from clusterwright.compare.configuration import config_changes
from clusterwright.compare.plans import compare_plans
from clusterwright.output.rendering import Rendering
from clusterwright.rollout.consequences import effect_of
from clusterwright.rollout.preview.outlook import expected_disturbance

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


def test_jobs_and_waves_stand_in_the_table(tmp_path: Path) -> None:
    """A switch that fails halves the way of one pod for as long as it is away, and is sent nothing itself."""
    text = comment(tmp_path, 'exceptions: [{device: ctsw-p00-01, state: out-of-service, reason: "a dead fan"}]\n')
    assert "**small-llm**: 4 of 8 nodes as the spec would place it keep 50.0%" in row(text, "jobs")
    waves = row(text, "waves")
    assert "| 5, if devices hold the files of the first spec<br>1  canary, upper: 1 switch (atsw-00)" in waves
    assert "ctsw-p00-01" not in waves
    text = comment(tmp_path, 'site: {syslog: ["fd00:1ab:f:fff0::515"]}\n')
    assert "unaffected: small-llm" in row(text, "jobs")


def test_where_a_package_is_missing_the_comment_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "clusterwright.rollout.preview.outlook", raising=False)
    monkeypatch.setitem(sys.modules, "clusterwright.rollout.disturbance", None)
    text = comment(tmp_path, 'exceptions: [{device: ctsw-p00-01, state: drained, reason: "a dead fan"}]\n')
    assert "not counted: they need the Python package" in row(text, "jobs and waves")


def test_a_change_of_the_model_alone_has_no_waves(tmp_path: Path) -> None:
    added = 'exceptions: [{device: ctsw-p00-01, state: drained, reason: "a dead fan"}]\n'
    assert "| waves |" not in comment(tmp_path, added, "--no-config")


@pytest.mark.parametrize("other", ["lab-sonic", "lab-nvue"])
def test_waves_hold_every_device_that_changes_with_its_own_effect(other: str) -> None:
    """One device of a group is rendered for the others: their effects are what each one's own files say."""
    before, after = plan_of("lab-roce"), plan_of(other)
    changes = compare_plans(before, after)
    groups = config_changes(before, after, changes.devices.renamed)
    changed = {name for group in groups for name in group.devices if name in after.by_name}
    found = expected_disturbance(before, after, groups, changes.devices.renamed)
    sent = [name for impact in found.waves for name in impact.wave.devices]
    new = after.by_name.keys() - before.by_name.keys() - set(changes.devices.renamed.values())
    assert sorted(sent) == sorted(changed | new)
    old_names = {now: old for old, now in changes.devices.renamed.items()}
    for impact in found.waves:
        effects = [
            effect_of(
                after.by_name[name],
                tuple(Rendering(before).of_device(old_names.get(name, name))),
                tuple(Rendering(after).of_device(name)),
            )
            for name in impact.wave.devices
            if name in changed
        ]
        assert impact.wave.effect >= max((effect for effect in effects if effect), default=impact.wave.effect)
