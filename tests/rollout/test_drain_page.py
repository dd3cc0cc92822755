"""The page on draining, walked with the real engine: what it shows is what happens, on devices and in the spec."""

from __future__ import annotations

import json
import shlex
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.cli.in_process import command
from tests.pages.shown import Step, all_blocks, assert_part
from tests.test_docs import REPOSITORY

from clusterwright.cli.stacks import allowed
from clusterwright.cli.tasks import edits
from clusterwright.cli.tasks.edits import SpecEdit, changed_by
from clusterwright.data_files import folder
from clusterwright.plan.placing import place_nodes
from clusterwright.spec.model import ClusterSpec

pytestmark = [pytest.mark.usefixtures("pulumi_on_the_path"), pytest.mark.slow]

TEXT = (REPOSITORY / "docs/drain.md").read_text()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("drain")
    shutil.copy(folder("inventory") / "lab-roce.yaml", place / "cluster.yaml")
    done = command("up", "cluster.yaml", "--pod", "pod0", "--pod", "services-rack0", "--upper", cwd=place)
    assert done.returncode == 0, done.stderr
    return place


def held(site: Path) -> dict[str, bytes]:
    flash = site / "up/flash"
    return {str(file.relative_to(flash)): file.read_bytes() for file in flash.rglob("*") if file.is_file()}


def steps(text: str) -> Iterator[Step]:
    for block in all_blocks(text):
        yield from block.steps


def test_the_page_is_true(site: Path) -> None:
    spec, files = (site / "cluster.yaml").read_bytes(), held(site)
    changed: list[str] = []
    for step in steps(TEXT):
        before = held(site)
        done = command(*shlex.split(step.command)[1:], cwd=site)
        assert_part(step, done.stdout + done.stderr)
        after = held(site)
        changed.append(", ".join(sorted({path.split("/")[0] for path in after if after[path] != before.get(path)})))
        if "ctsw-p00-01" in step.command:
            assert done.returncode == 2
            assert "ctsw-p00-01" not in (site / "cluster.yaml").read_text()
        else:
            assert done.returncode == 0, done.stderr
            assert command("preview", "cluster.yaml", "--pod", "pod0", "--no-engine", cwd=site).stdout.endswith(
                "nothing changes\n"
            )
    cable = "ctsw-p00-00, rtsw-p00r00"
    assert changed == ["ctsw-p00-00", "", "ctsw-p00-00", cable, cable, *["svc-v00n0"] * 4]
    assert (site / "cluster.yaml").read_bytes() == spec
    assert held(site) == files
    rollouts = [json.loads(line) for line in (site / "up/audit/rollouts.jsonl").read_text().splitlines()]
    reasons = [entry["reason"] for entry in rollouts if entry["event"] == "started"]
    assert reasons[1] == "ticket 4711: line card 3 fails"


def test_a_drain_that_lapsed_is_told_by_lint_preview_and_status(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = (site / "cluster.yaml").read_bytes()
    words = ("cluster.yaml", "gpu-p00r01n0", "--because", "lent to the vendor", "--yes")
    past = command("drain", *words, "--until", "2026-01-31", cwd=site)
    assert (past.returncode, "has passed already" in past.stderr) == (2, True), past.stderr
    done = command("drain", *words, "--until", "2099-01-31", cwd=site)
    assert done.returncode == 0, done.stderr
    assert "lapsed" not in command("status", "up", cwd=site).stdout
    monkeypatch.setattr(allowed, "now", lambda: datetime(2099, 2, 3, tzinfo=UTC))
    told = "gpu-p00r01n0 was to be drained until 2099-01-31, 3 days ago: lent to the vendor"
    assert f"lapsed: {told}" in command("status", "up", cwd=site).stdout
    assert told in json.loads(command("status", "up", "--format", "json", cwd=site).stdout)["lapsed"][0]
    assert told in command("preview", "cluster.yaml", "--no-engine", cwd=site).stdout
    linted = command("lint", "cluster.yaml", "--on", "2099-02-03", cwd=site)
    assert f"CW567: {told}" in linted.stdout
    assert "CW567" not in command("lint", "cluster.yaml", "--on", "2099-01-31", cwd=site).stdout
    assert command("undrain", *words, cwd=site).returncode == 0
    assert (site / "cluster.yaml").read_bytes() == spec


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("rtsw-p00r00",), "gpu-p00r00n0, gpu-p00r00n1 would lose every path into a fabric"),
        (("rtsw-p00r00", "eth2/1/1"), "gpu-p00r00n0 would lose that link"),
        (("gpu-p00r00n0", "be0"), "gpu-p00r00n0 would lose that link"),
    ],
)
def test_nodes_that_run_jobs_are_drained_first(site: Path, words: tuple[str, ...], says: str) -> None:
    spec = (site / "cluster.yaml").read_bytes()
    refused = command("drain", "cluster.yaml", *words, "--because", "nothing stands in for it", "--yes", cwd=site)
    assert (refused.returncode, says in refused.stderr) == (2, True), refused.stderr
    assert (site / "cluster.yaml").read_bytes() == spec


def test_a_drain_plans_the_spec_with_the_exception_and_without_it_and_no_more(
    site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    planned: list[ClusterSpec] = []

    def counted(spec: ClusterSpec, *rest: Any) -> Any:
        planned.append(spec)
        return place_nodes(spec, *rest)

    monkeypatch.setattr("clusterwright.plan.build.place_nodes", counted)
    for verb, exceptions in (("drain", [0, 1]), ("undrain", [1, 0])):
        planned.clear()
        done = command(verb, "cluster.yaml", "ctsw-p00-00", "--because", "a line card", "--yes", cwd=site)
        assert done.returncode == 0, done.stderr
        assert [len(spec.exceptions) for spec in planned] == exceptions


def test_an_edit_that_somebody_else_makes_meanwhile_is_kept(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (site / "cluster.yaml").read_bytes()

    def edited_meanwhile(edit: SpecEdit) -> tuple[str, ...]:
        (site / "cluster.yaml").write_bytes(text + b"# an edit\n")
        return changed_by(edit)

    monkeypatch.setattr(edits, "changed_by", edited_meanwhile)
    refused = command("drain", "cluster.yaml", "ctsw-p00-00", "--because", "a line card", "--yes", cwd=site)
    edited = (site / "cluster.yaml").read_bytes()
    (site / "cluster.yaml").write_bytes(text)
    assert (refused.returncode, "was edited meanwhile" in refused.stderr) == (2, True), refused.stderr
    assert edited == text + b"# an edit\n"


def test_a_drain_that_the_proofs_refuse_leaves_the_spec_as_it_was(site: Path) -> None:
    """Another edit waits in the spec: then the drain is no drain alone, and is judged as any change."""
    text = (site / "cluster.yaml").read_text()
    (site / "cluster.yaml").write_text(text.replace("qps_per_connection: 4", "qps_per_connection: 2"))
    spec = (site / "cluster.yaml").read_bytes()
    refused = command("drain", "cluster.yaml", "ctsw-p00-00", "--because", "a line card", "--yes", cwd=site)
    (site / "cluster.yaml").write_text(text)
    assert (refused.returncode, "cluster.yaml is as it was" in refused.stderr) == (2, True), refused.stderr
    assert "this change breaks proofs" in refused.stderr
    assert spec != text.encode()


def test_what_drains_nothing_is_refused(tmp_path: Path) -> None:
    shutil.copy(folder("inventory") / "lab-ib.yaml", tmp_path / "cluster.yaml")
    spec = (tmp_path / "cluster.yaml").read_bytes()
    words = ("drain", "cluster.yaml", "spine-00", "1/1", "--because", "an optic", "--yes")
    refused = command(*words, cwd=tmp_path)
    assert (refused.returncode, "CW216: No setting keeps paths off a port of spine-00" in refused.stderr) == (
        2,
        True,
    ), refused.stderr
    assert (tmp_path / "cluster.yaml").read_bytes() == spec
    nothing = command(*words[:2], "leaf-s00-00", *words[4:], cwd=tmp_path)
    assert (nothing.returncode, "Nothing was touched" in nothing.stderr) == (2, True), nothing.stderr
    assert command(*words[:2], "leaf-s00-99", *words[4:], cwd=tmp_path).returncode == 2
    assert "--because is missing" in command(*words[:4], cwd=tmp_path).stderr
