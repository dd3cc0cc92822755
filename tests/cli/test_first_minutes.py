"""What somebody sees who types a first command in an empty folder."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.in_process import command


def test_lint_in_an_empty_folder_names_the_command_that_writes_a_spec(tmp_path: Path) -> None:
    done = command("lint", cwd=tmp_path)
    assert (done.returncode, "`clusterwright init` writes a first spec" in done.stderr) == (2, True)


def test_init_without_answers_shows_a_command_that_works(tmp_path: Path) -> None:
    refused = command("init", cwd=tmp_path)
    assert refused.returncode == 2
    *_, example = refused.stderr.strip().split(" clusterwright ")
    done = command(*example.split(), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "cluster.yaml").exists()


@pytest.mark.parametrize("option", ["-q", "--verbose", "--format"])
def test_an_option_of_commands_before_the_command_says_where_it_belongs(option: str, tmp_path: Path) -> None:
    done = command(option, "lint", cwd=tmp_path)
    assert done.returncode == 2
    assert f"{option} comes after the command: clusterwright COMMAND {option}" in done.stderr


def test_an_option_that_a_command_lacks_gets_no_such_hint(tmp_path: Path) -> None:
    done = command("schema", "--format", "json", cwd=tmp_path)
    assert done.returncode == 2
    assert "comes after the command" not in done.stderr
