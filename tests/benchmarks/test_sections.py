"""Every section of the benchmarks, at its smallest: what nobody runs for months still runs."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[2]
PARTS = {"reference", "scaled_spec"}
SECTIONS = sorted(path.stem for path in (CHECKOUT / "benchmarks").glob("[a-z]*.py") if path.stem not in PARTS)


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


def test_the_sections_that_a_file_has_are_written_into_it(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("before\n\n<!-- benchmark units -->\nold\n<!-- end of units -->\n\nafter\n")
    done = run("--smallest", "--write", str(page))

    assert done.returncode == 0, done.stderr
    lines = page.read_text().splitlines()
    assert lines[:3] == ["before", "", "<!-- benchmark units -->"]
    assert lines[-3:] == ["<!-- end of units -->", "", "after"]
    assert any(line.startswith("| plan | 32 |") for line in lines)
    assert "old" not in lines
    assert re.fullmatch(
        r"Beside it a bare loop of 0\.2 million additions took \d+\.\d\d s of processor time\.", lines[-4]
    )


def test_the_page_has_the_sections_that_one_command_writes_anew() -> None:
    page = (CHECKOUT / "docs/dev/figures.md").read_text()
    begun = re.findall(r"<!-- benchmark (\w+) -->\n", page)

    assert begun == re.findall(r"<!-- end of (\w+) -->\n", page)
    assert {"stages", "eos", "verify"} <= set(begun) <= set(SECTIONS)


def test_each_size_is_rendered_into_a_folder_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """The smallest has one size, and `render` refuses to replace the tree of another cluster."""
    monkeypatch.setattr(sys, "path", [str(CHECKOUT), *sys.path])
    from benchmarks import stages

    started: list[list[str]] = []

    def start(command: list[str]) -> tuple[float, float, float, float]:
        started.append(command)
        return 0, 0, 0, 0

    monkeypatch.setattr(stages, "run_command", start)
    sizes = (1, 2)
    measured = [item.pods for item in stages.measure(sizes, 1) if item.stage == "render"]
    assert measured == [*sizes]
    folders = [command[command.index("--out") + 1] for command in started if "render" in command]
    assert len({*folders}) == len(folders) == len(sizes)
