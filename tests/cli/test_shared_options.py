"""Every command takes --out, --quiet and --verbose, and JSON where its result is data; the others say why not."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from tests.cli.in_process import command
from tests.report.specs import spec_path

from clusterwright import __version__
from clusterwright.cli.main import cli
from clusterwright.cli.shared_options import WITHOUT_JSON, WITHOUT_OUT

LAB = str(spec_path("lab-roce"))


def every_command(group: click.Group = cli, before: str = "") -> Iterator[tuple[str, click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        found = group.get_command(context, name)
        assert found is not None
        if isinstance(found, click.Group):
            yield from every_command(found, f"{before}{name} ")
        else:
            yield f"{before}{name}", found


COMMANDS = dict(every_command())


def options(name: str) -> dict[str, click.Parameter]:
    return {option: parameter for parameter in COMMANDS[name].params for option in parameter.opts}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_takes_what_all_take_or_says_why_not(name: str) -> None:
    known = options(name)
    assert {"--quiet", "-q", "--verbose"} <= known.keys()
    assert ("--out" in known) != (name in WITHOUT_OUT)
    form = known.get("--format")
    has_json = form is not None and "json" in getattr(form.type, "choices", ())
    assert has_json != (name in WITHOUT_OUT or name in WITHOUT_JSON)


def test_no_reason_is_left_over() -> None:
    assert COMMANDS.keys() >= WITHOUT_OUT.keys() | WITHOUT_JSON.keys()
    assert not WITHOUT_OUT.keys() & WITHOUT_JSON.keys()


PRINTING = (
    ("diff", LAB, str(spec_path("lab-sonic")), "--no-config"),
    ("explain", "CW203"),
    ("lint", LAB),
    ("lint", LAB, "--format", "json"),
    ("models", "--format", "json"),
    ("nccl", LAB, "--format", "json"),
    ("place", LAB),
)


@pytest.mark.parametrize("arguments", PRINTING, ids=lambda arguments: " ".join(arguments[:1]))
def test_a_file_gets_what_the_output_would(arguments: tuple[str, ...], tmp_path: Path) -> None:
    printed = command(*arguments, cwd=tmp_path)
    written = command(*arguments, "--out", "result", cwd=tmp_path)
    assert (written.returncode, written.stdout) == (printed.returncode, "")
    assert printed.stdout
    assert (tmp_path / "result").read_text() == printed.stdout


def test_a_command_that_cannot_run_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "result").write_text("kept")
    (tmp_path / "spec.yaml").write_text("version: 1\nnam: x\n")
    for arguments in (("nccl", "spec.yaml"), ("explain", "CW999"), ("diff", "spec.yaml", "spec.yaml")):
        done = command(*arguments, "--out", "result", cwd=tmp_path)
        assert done.returncode == 2
        assert done.stderr
        assert (tmp_path / "result").read_text() == "kept"
    done = command("models", "--out", "no/such\0folder", cwd=tmp_path)
    assert done.returncode == 2


def test_quiet_keeps_errors_and_drops_progress(tmp_path: Path) -> None:
    arguments = ("inventory", LAB, "--out", "list.json")
    assert command(*arguments, cwd=tmp_path).stderr == "wrote list.json\n"
    assert command(*arguments, "-q", cwd=tmp_path).stderr == ""
    assert "no such" in command("inventory", "missing.yaml", "-q", cwd=tmp_path).stderr.lower()


def test_verbose_names_version_time_and_files(tmp_path: Path) -> None:
    (tmp_path / "spec.yaml").write_text(f"version: 1\nextends: {LAB}\n")
    for arguments in (("lint", "spec.yaml"), ("report", "spec.yaml", "--out", "report", "--no-pages")):
        done = command(*arguments, "--verbose", cwd=tmp_path)
        lines = done.stderr.splitlines()
        assert any(line.startswith(f"clusterwright {__version__}, Python 3.") for line in lines), done.stderr
        assert {f"read {tmp_path / 'spec.yaml'}", f"read {LAB}"} <= set(lines)


def test_models_as_data_are_the_lines_of_the_table(tmp_path: Path) -> None:
    models = json.loads(command("models", "--format", "json", cwd=tmp_path).stdout)["models"]
    lines = command("models", cwd=tmp_path).stdout.splitlines()[1:]
    assert [model["model"] for model in models] == [line.split()[0] for line in lines]
    assert models[0].keys() == {"model", "kind", "system", "ports", "described_in"}
