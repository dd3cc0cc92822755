"""The commands on the pages: each runs in a folder of its own, and says what its page shows.

A page's blocks run in their order, beside a copy of ``inventory/``. Where a block shows no output nothing is compared;
``...`` stands for lines left out, ``…`` for a part of a line.

``<!-- first: COMMANDS -->`` above a block is run before it and not shown;
``<!-- not run: REASON -->`` leaves the block out; ``<!-- file: NAME -->`` above one of YAML writes it into that file.
"""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner
from tests.test_docs import GUIDES, REPOSITORY

from clusterwright.cli.main import cli

if TYPE_CHECKING:
    from collections.abc import Iterator

BLOCK = re.compile(r"(?:<!-- (first|not run): ([^\n]+) -->\n)?```console\n(.*?)```", re.DOTALL)
FILE = re.compile(r"<!-- file: (\S+) -->\n```yaml\n(.*?)```", re.DOTALL)
DIFFERS = frozenset({"diff", "observe"})  # commands that exit with 1 where there is something to show
SHELL = frozenset("|&;<>$")


@dataclass(frozen=True)
class Step:
    command: str
    shown: tuple[str, ...]


@dataclass(frozen=True)
class Block:
    first: str
    steps: tuple[Step, ...]


def blocks(text: str, *, everything: bool = False) -> Iterator[Block]:
    """The blocks of a page that are run, or ``everything`` that it shows."""
    for kind, said, body in BLOCK.findall(text):
        if kind == "not run" and not everything:
            continue
        steps: list[Step] = []
        for line in body.splitlines():
            if line.startswith("$ "):
                steps.append(Step(line.removeprefix("$ "), ()))
            else:
                steps[-1] = Step(steps[-1].command, (*steps[-1].shown, line))
        yield Block(said if kind == "first" else "", tuple(steps))


def shell(command: str) -> tuple[int, str]:
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=120, check=False)
    return done.returncode, done.stdout + done.stderr


def run(command: str) -> tuple[int, str]:
    """The exit status and the output of one line."""
    words = shlex.split(command, comments=True)
    if words[0] != "clusterwright" or SHELL & set(command):
        return shell(command)
    done = CliRunner().invoke(cli, words[1:], standalone_mode=False)
    assert done.exception is None, (command, done.exception)
    return int(done.return_value or 0), done.output


def part_of_line(line: str) -> str:
    return ".*".join(re.escape(part) for part in line.split("…"))


def follow(page: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> int:
    """Runs every block of the page; how many commands that were."""
    shutil.copytree(REPOSITORY / "inventory", folder / "inventory")
    monkeypatch.chdir(folder)
    count = 0
    for name, body in FILE.findall(page):
        (folder / name).write_text(body, encoding="utf-8")
    for block in blocks(page):
        if block.first:
            status, said = shell(block.first)
            assert status == 0, (block.first, said)
        compared = any(step.shown for step in block.steps)
        for step in block.steps:
            count += 1
            if step.command.startswith("cd "):
                monkeypatch.chdir(step.command.removeprefix("cd "))
                continue
            status, said = run(step.command)
            allowed = {0, 1} if step.command.split()[1] in DIFFERS or step.shown else {0}
            assert status in allowed, (step.command, said)
            pattern = "".join("(?:.*\n)*?" if line == "..." else f"{part_of_line(line)}\n" for line in step.shown)
            # The last line of some answers has no end.
            assert not compared or re.fullmatch(pattern, said if said.endswith("\n") else f"{said}\n"), (
                f"{step.command} says:\n{said}\nand the page shows:\n" + "\n".join(step.shown)
            )
    return count


PAGES = [guide for guide in GUIDES if any(blocks(guide.read_text(encoding="utf-8")))]


@pytest.mark.parametrize("guide", PAGES, ids=lambda guide: guide.stem)
def test_every_command_says_what_the_page_shows(guide: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert follow(guide.read_text(encoding="utf-8"), tmp_path, monkeypatch)


def test_a_stale_page_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = "```console\n$ clusterwright nccl inventory/lab-roce.yaml NCCL_IB_TC\nNCCL_IB_TC=1\n...\n```\n"
    with pytest.raises(AssertionError, match="and the page shows"):
        follow(page, tmp_path, monkeypatch)
