"""The page that a newcomer follows: every command of it runs in an empty folder, and says what the page shows."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from clusterwright.cli.main import cli

PAGE = Path(__file__).parents[2] / "docs/start.md"


def steps() -> list[tuple[str, list[str]]]:
    """Each command with the lines that the page shows below it."""
    found: list[tuple[str, list[str]]] = []
    for block in re.findall(r"```console\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL):
        for line in block.splitlines():
            if line.startswith("$ "):
                found.append((line.removeprefix("$ clusterwright "), []))
            else:
                found[-1][1].append(line)
    return found


def test_every_command_says_what_the_page_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert len(steps()) > 7
    for command, shown in steps():
        done = CliRunner().invoke(cli, shlex.split(command), standalone_mode=False)
        assert (done.exception, done.return_value) == (None, 0), command
        pattern = "".join("(?:.*\n)*?" if line == "..." else re.escape(line) + "\n" for line in shown)
        assert re.fullmatch(pattern, done.output), (command, done.output)
