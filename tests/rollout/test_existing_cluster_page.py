"""The page on clusters that run: a cluster whose state was lost is taken up as it is, and changes in waves."""

from __future__ import annotations

import json
import shlex
import shutil
from pathlib import Path

import pytest
from tests.cli.in_process import command
from tests.pages.shown import all_blocks, assert_part
from tests.test_docs import REPOSITORY

from clusterwright.data_files import folder

pytestmark = [pytest.mark.usefixtures("pulumi_on_the_path"), pytest.mark.slow]

_, LOST = (REPOSITORY / "docs/existing-cluster.md").read_text().split("## When the state is lost\n")
LAYERS = ("--pod", "pod0", "--pod", "services-rack0", "--upper")


def test_a_cluster_whose_state_was_lost_is_taken_up_and_changes_in_waves(tmp_path: Path) -> None:
    text = (folder("inventory") / "lab-roce.yaml").read_text()
    (tmp_path / "cluster.yaml").write_text(text)
    first = command("up", "cluster.yaml", *LAYERS, cwd=tmp_path)
    assert first.returncode == 0, first.stderr
    for name in ("state", "deployed", "manifests"):
        shutil.rmtree(tmp_path / "up" / name, ignore_errors=True)
    assert text.count("netdev_max_backlog: 250000") == 1
    (tmp_path / "cluster.yaml").write_text(text.replace("netdev_max_backlog: 250000", "netdev_max_backlog: 200000"))
    held = {file: file.read_bytes() for file in (tmp_path / "up/flash").rglob("*") if file.is_file()}
    for block in all_blocks(LOST):
        for step in block.steps:
            changes = " up " in step.command
            done = command(*shlex.split(step.command)[1:], cwd=tmp_path)
            assert done.returncode == 0, done.stderr
            output = done.stdout + done.stderr
            assert_part(step, output)
            assert "at once and without gates" not in output
            assert changes or all(file.read_bytes() == content for file, content in held.items())
    records = [json.loads(line) for line in (tmp_path / "up/audit/rollouts.jsonl").read_text().splitlines()]
    waves = [sorted(entry["devices"]) for entry in records if entry["event"] == "wave"]
    assert {name for wave in waves for name in wave} >= {"gpu-p00r00n0", "gpu-p00r01n1"}
    assert len(waves) > 1
