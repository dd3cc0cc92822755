"""The page on a visit to a rack, walked with the real engine: Slurm is told first, and given its nodes back last."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from pathlib import Path

import pytest
from tests.cli.in_process import command
from tests.pages.shown import all_blocks, assert_part
from tests.test_docs import REPOSITORY

from clusterwright.data_files import folder

pytestmark = [pytest.mark.usefixtures("pulumi_on_the_path"), pytest.mark.slow]

TEXT = (REPOSITORY / "docs/visit.md").read_text()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("visit")
    shutil.copy(folder("inventory") / "lab-roce.yaml", place / "cluster.yaml")
    done = command("up", "cluster.yaml", "--pod", "pod0", "--pod", "services-rack0", "--upper", cwd=place)
    assert done.returncode == 0, done.stderr
    return place


def waves(site: Path) -> list[list[str]]:
    """The devices of every wave since the last rollout began."""
    found: list[list[str]] = []
    for line in (site / "up/audit/rollouts.jsonl").read_text().splitlines():
        entry = json.loads(line)
        if entry["event"] == "started":
            found = []
        if entry["event"] == "wave":
            found.append(sorted(entry["devices"]))
    return found


SETTINGS = ("netdev_max_backlog: 250000", "netdev_max_backlog: 200000"), ("count: 16}", "count: 32}")


def test_the_page_is_true(site: Path) -> None:
    drained: list[list[list[str]]] = []
    visited: list[dict[str, list[str]]] = []
    nothing = command("visit", "cluster.yaml", "p00r00", cwd=site)
    assert (nothing.returncode, nothing.stdout.splitlines()[1]) == (0, "  no pending work"), nothing.stderr
    spec = (site / "cluster.yaml").read_text()
    for was, now in SETTINGS:
        assert was in spec
        spec = spec.replace(was, now)
    (site / "cluster.yaml").write_text(spec)
    for block in all_blocks(TEXT):
        for step in block.steps:
            done = command(*shlex.split(step.command)[1:], cwd=site)
            assert done.returncode == (4 if " visit " in step.command else 0), done.stderr
            assert_part(step, done.stdout + done.stderr)
            if "drain" in step.command:
                drained.append(waves(site))
            if "json" in step.command:
                visited.append(owed(done.stdout))
    switches = ["rsw-p00r00", "rtsw-p00r00"]
    assert drained == [[["svc-v00n0"], switches], [switches, ["svc-v00n0"]]]
    out, left = ["exception"], ["exception", "boot"]
    assert visited == [{"gpu-p00r00n0": left, "gpu-p00r00n1": left, "rtsw-p00r00": out, "rsw-p00r00": out}]
    assert "exceptions:" not in (site / "cluster.yaml").read_text()
    after = command("visit", "cluster.yaml", "gpu-p00r00n0", cwd=site)
    assert re.search(r"  boot +deployed \S+: .*its boot time was not queried", after.stdout), after.stdout


def owed(text: str) -> dict[str, list[str]]:
    """The kinds of debts by device, of the JSON."""
    return {item["device"]: [debt["kind"] for debt in item["owed"]] for item in json.loads(text)["devices"]}


def test_a_stack_that_was_never_deployed_is_named(site: Path) -> None:
    new = command("visit", "cluster.yaml", "p01r00", "--format", "json", cwd=site)
    assert new.returncode == 4, new.stderr
    assert owed(new.stdout)["gpu-p01r00n0"] == ["new"]


def test_what_is_no_rack_or_is_not_drained_is_told(site: Path) -> None:
    unknown = command("drain", "cluster.yaml", "p00r99", "--because", "a typing mistake", "--yes", cwd=site)
    assert (unknown.returncode, "there is no device 'p00r99'" in unknown.stderr) == (2, True), unknown.stderr
    nothing = command("undrain", "cluster.yaml", "p00r01", "--because", "nothing to give back", "--yes", cwd=site)
    assert (nothing.returncode, "no exception of the spec drains p00r01" in nothing.stderr) == (2, True), nothing.stderr
    unknown = command("visit", "cluster.yaml", "p00r0", cwd=site)
    assert (unknown.returncode, 'Did you mean "p00r0' in unknown.stderr) == (2, True), unknown.stderr
