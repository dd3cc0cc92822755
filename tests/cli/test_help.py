"""The help of every command: what it says; and what commands import."""

from __future__ import annotations

import click
import pytest
from tests.cli.test_lint import INVENTORY, run

from clusterwright import data_files
from clusterwright.cli.command_groups import GROUPS
from clusterwright.cli.main import COMMANDS, cli
from clusterwright.extras.summaries import SUMMARIES as EXTRAS

SUMMARIES = dict(cli.summaries(click.Context(cli)))  # by command, those of extras too


@pytest.mark.parametrize("command", SUMMARIES)
def test_every_command_exists_and_explains_itself_as_the_list_of_commands_does(command: str) -> None:
    done = run(command, "--help")
    assert done.returncode == 0
    assert len(done.stdout.splitlines()) > 5
    asked = cli.get_command(click.Context(cli), command)
    assert asked is not None
    assert asked.get_short_help_str(500) == SUMMARIES[command]


# What takes long to import, and no help or completion shows anything of; and what lint may do without.
HEAVY = ("jinja2", "jsonschema", "numpy", "pulumi", "rich", "scipy", "clusterwright.output.renderers")


@pytest.mark.parametrize("command", ["", *SUMMARIES])
def test_help_imports_nothing_that_only_the_work_needs(command: str) -> None:
    done = run(*filter(None, (command, "--help")), PYTHONPROFILEIMPORTTIME="1")
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "click" in imported
    assert imported & {*HEAVY, "clusterwright.rules.engine"} == set()


def test_the_names_of_commands_are_completed_without_importing_one() -> None:
    done = run(
        _CLUSTERWRIGHT_COMPLETE="zsh_complete",
        COMP_WORDS="clusterwright re",
        COMP_CWORD="1",
        PYTHONPROFILEIMPORTTIME="1",
    )
    assert done.stdout.splitlines()[1::3] == ["refresh", "render", "replace", "report"]
    assert done.stdout.splitlines()[2] == SUMMARIES["refresh"]
    assert "clusterwright.cli.render" not in done.stderr


@pytest.mark.parametrize("group", [[], ["audit"], ["keys"], ["lab"]])
def test_the_help_of_a_group_cuts_no_sentence_short(group: list[str]) -> None:
    listing = run(*group, "--help").stdout.partition("Commands:\n" if group else "Start:\n")[2]
    assert listing.strip()
    assert "..." not in listing


def test_every_command_stands_in_one_group_of_the_help() -> None:
    grouped = [name for names in GROUPS.values() for name in names]
    assert sorted(grouped) == sorted({*COMMANDS, *EXTRAS})
    page = (data_files.folder("docs") / "daily.md").read_text(encoding="utf-8")
    assert [title for title in GROUPS if f"\n## {title}\n" not in page] == []


def test_words_are_searched_for_in_all_pages() -> None:
    found = run("explain", "management", "key").stdout
    assert "  infiniband " in found
    title = run("explain", "lossless", "queue").stdout.splitlines()
    assert all(line.startswith("  ") for line in title)
    assert run("explain", "nosuchwordanywhere").returncode == 2


def test_help_keeps_its_lists_as_lists() -> None:
    said = run("inventory", "--help").stdout
    assert (
        "\n  csv      a file for each list (devices.csv, interfaces.csv, cables.csv, ...) in the folder --out\n" in said
    )
    assert "\\b" not in said


def test_a_sound_spec_is_linted_without_what_only_findings_need() -> None:
    done = run("lint", INVENTORY / "lab-roce.yaml", PYTHONPROFILEIMPORTTIME="1")
    assert done.returncode == 0
    assert {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()} & set(HEAVY) == set()
