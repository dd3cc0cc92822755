"""The guides name only what there is: links, files of this repository, subcommands and their options."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest

from clusterwright.cli.main import cli

REPOSITORY = Path(__file__).parent.parent
GUIDES = [REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").glob("*.md"))]
LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")
FOLDERS = "benchmarks|docs|inventory|roles|src/clusterwright|stacks|templates|tests|tools"
# A file of ours, unless a shell writes it there, or it stands below another folder.
FILE = re.compile(rf"(?<![\w/.<-])(?<!> )((?:{FOLDERS})/[\w./*-]*[\w*/])")
COMMAND = re.compile(r"(?:^\$ |`)(?:[^`\n]*&& )?clusterwright ([^`#|>\n]*)", re.MULTILINE)
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*")


def text_of(guide: Path) -> str:
    """The guide's text, with commands on one line that go on in the next."""
    return re.sub(r"\\\n *", " ", guide.read_text(encoding="utf-8"))


def what_is_wrong_with(words: list[str]) -> str | None:
    """Why there is no such subcommand, or no such option of it."""
    command: click.Command = cli
    context = click.Context(cli)
    while isinstance(command, click.Group) and words and not words[0].startswith("-"):
        found = command.get_command(context, words[0])
        if found is None:
            return f"no command {words[0]}"
        command, words = found, words[1:]
    known = {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}
    wrong = [word for word in OPTION.findall(" ".join(words)) if word not in known | {"--help", "--version"}]
    return f"{command.name} has no {', '.join(wrong)}" if wrong else None


@pytest.mark.parametrize("guide", GUIDES, ids=lambda guide: guide.stem)
def test_links_and_files_are_there(guide: Path) -> None:
    named = [(guide.parent, name) for name in LINK.findall(text_of(guide))]
    named += [(REPOSITORY, name) for name in FILE.findall(text_of(guide))]
    assert not [name for folder, name in named if not any(folder.glob(name)) and not (folder / name).exists()]


@pytest.mark.parametrize("guide", GUIDES, ids=lambda guide: guide.stem)
def test_commands_have_the_options_that_are_named(guide: Path) -> None:
    problems = [what_is_wrong_with(words.split()) for words in COMMAND.findall(text_of(guide))]
    assert not [problem for problem in problems if problem is not None]


def test_what_is_not_there_is_found() -> None:
    assert what_is_wrong_with(["rendr", "x.yaml"]) == "no command rendr"
    assert what_is_wrong_with(["render", "x.yaml", "--outt", "x"]) == "render has no --outt"
    assert what_is_wrong_with(["keys", "plan", "x.yaml", "--on", "2026-12-31"]) is None
    assert FILE.findall("see tools/lint, docs/nothing.md. Not /etc/tools/x, nor: > inventory/out.csv") == [
        "tools/lint",
        "docs/nothing.md",
    ]
    assert COMMAND.findall("$ cd x && clusterwright up a.yaml --pod p > y") == ["up a.yaml --pod p "]
