"""The commands on the pages: each runs in a folder of its own, and says what its page shows.

A page's blocks run in their order, beside a copy of ``inventory/``. Where a block shows no output nothing is compared;
tests/pages/shown.py has the marks of a block. ``<!-- file: NAME -->`` above one of YAML writes it into that file.
"""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.pages.shown import all_blocks, assert_whole, runnable_blocks
from tests.test_docs import GUIDES, REPOSITORY

from clusterwright.cli.main import cli

FILE = re.compile(r"<!-- file: (\S+) -->\n```yaml\n(.*?)```", re.DOTALL)
DIFFERS = frozenset({"diff", "observe"})  # commands that exit with 1 where there is something to show
SHELL = frozenset("|&;<>$")


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


def follow(page: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> int:
    """Runs every block of the page; how many commands that were."""
    shutil.copytree(REPOSITORY / "inventory", folder / "inventory")
    monkeypatch.chdir(folder)
    count = 0
    for name, body in FILE.findall(page):
        (folder / name).write_text(body, encoding="utf-8")
    for block in runnable_blocks(page):
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
            if compared:
                assert_whole(step, said)
    return count


PAGES = [guide for guide in GUIDES if any(runnable_blocks(guide.read_text(encoding="utf-8")))]


@pytest.mark.parametrize("guide", PAGES, ids=lambda guide: guide.stem)
def test_every_command_says_what_the_page_shows(guide: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert follow(guide.read_text(encoding="utf-8"), tmp_path, monkeypatch)


@pytest.mark.parametrize("guide", GUIDES, ids=lambda guide: guide.stem)
def test_output_of_a_block_that_is_not_run_is_compared_by_a_test_that_it_names(guide: Path) -> None:
    for block in all_blocks(guide.read_text(encoding="utf-8")):
        if block.not_run and any(step.shown for step in block.steps):
            named = re.match(r"(tests/\S+\.py) ", block.not_run)
            assert named, f"name the test that compares it: {block.steps}"
            test = (REPOSITORY / named[1]).read_text(encoding="utf-8")
            assert f'"{guide.name}"' in test or f"docs/{guide.name}" in test, f"{named[1]} does not read {guide.name}"


def test_a_stale_page_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = "```console\n$ clusterwright nccl inventory/lab-roce.yaml NCCL_IB_TC\nNCCL_IB_TC=1\n...\n```\n"
    with pytest.raises(AssertionError, match="and the page shows"):
        follow(page, tmp_path, monkeypatch)
