"""Every section of the benchmarks, at its smallest: what nobody runs for months still runs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[2]
SECTIONS = sorted(path.stem for path in (CHECKOUT / "benchmarks").glob("[a-z]*.py") if path.stem != "scaled_spec")


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "benchmarks", *arguments]
    return subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, check=False)


@pytest.mark.usefixtures("pulumi_on_the_path")
@pytest.mark.parametrize("section", SECTIONS)
def test_a_section_runs_and_has_figures(section: str) -> None:
    done = run("--smallest", section)

    assert done.returncode == 0, done.stderr
    title, *lines = done.stdout.splitlines()
    assert title.startswith("## ")
    rows = [line for line in lines if line.startswith("|")]
    assert len(rows) > 2, done.stdout
    assert all(row.count("|") == rows[0].count("|") for row in rows[:3]), done.stdout


def test_a_section_that_is_not_there_is_named_beside_those_that_are() -> None:
    done, listed = run("stage"), run("--list").stdout.splitlines()

    assert done.returncode == 2
    assert done.stderr == f"no section stage; there are: {', '.join(listed)}\n"
    assert sorted(listed) == SECTIONS
