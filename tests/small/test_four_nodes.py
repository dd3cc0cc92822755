"""Specs of a few lines, as the page of four nodes has them: lint finds nothing, and what they name is proven."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.in_process import command

SPECS = Path(__file__).parent / "specs"
PAGE = Path(__file__).parents[2] / "docs" / "four-nodes.md"


@pytest.mark.parametrize(("name", "lines"), [("twelve", 12), ("nineteen", 19), ("existing", 28), ("fortyfive", 45)])
def test_a_spec_has_as_many_lines_as_the_page_says(name: str, lines: int) -> None:
    assert len((SPECS / f"{name}.yaml").read_text().splitlines()) == lines


def test_twelve_lines_lint_clean_are_on_the_page_and_are_proven() -> None:
    spec = SPECS / "twelve.yaml"
    assert spec.read_text() in PAGE.read_text()
    assert command("lint", spec, cwd=SPECS).stdout == "no findings in 1 file\n"
    answer = command("verify", spec, cwd=SPECS)
    assert answer.returncode == 0, answer.stdout
    for claim in ("ib-cabling", "ib-partitions", "ib-managers"):
        assert f"{claim}: proven." in answer.stdout


def test_forty_five_lines_are_on_the_page() -> None:
    assert (SPECS / "fortyfive.yaml").read_text() in PAGE.read_text()
    assert command("lint", SPECS / "fortyfive.yaml", cwd=SPECS).stdout == "no findings in 1 file\n"


def test_nineteen_lines_are_on_the_page_and_are_proven() -> None:
    spec = SPECS / "nineteen.yaml"
    assert spec.read_text() in PAGE.read_text()
    told = command("lint", spec, cwd=SPECS).stdout
    assert told.endswith("1 note in 1 file\n"), told
    answer = command("verify", spec, cwd=SPECS).stdout
    assert "REFUTED" not in answer
    for claim in ("ethernet-links", "reachability", "qos", "isolation", "management", "node-check", "slurm"):
        assert f"{claim}: proven." in answer, claim


def test_nccl_and_limits_alone_ask_for_no_credential(tmp_path: Path) -> None:
    text = (SPECS / "existing.yaml").read_text()
    text = text.replace("delivery: existing", "delivery: existing, takes: [nccl, limits]")
    text = text.replace(", users: [{name: ops, uid: 2000, groups: [sudo], operators: [ops]}]", "")
    text = "".join(line for line in text.splitlines(keepends=True) if not line.startswith("credentials"))
    (tmp_path / "spec.yaml").write_text(text)
    answer = command("lint", "spec.yaml", cwd=tmp_path)
    assert "CW629" not in answer.stdout
    assert " error " not in answer.stdout
