"""``clusterwright lint``: everything that is wrong with specs and hardware catalogues, on the line that caused it."""

from __future__ import annotations

import os
import sys
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import click

from clusterwright import data_files
from clusterwright.finding import ClusterwrightError, Severity

if TYPE_CHECKING:
    from clusterwright.rules.engine import LintResult

FORMATS = ("text", "json", "sarif", "github", "junit")
_EXIT_FINDINGS = 1


@click.command()
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@click.option("--format", "form", type=click.Choice(FORMATS), default="text", show_default=True, help="Output format.")
@click.option(
    "--fail-on",
    type=click.Choice([severity.label for severity in sorted(Severity, reverse=True)]),
    default="warning",
    show_default=True,
    help="Exit with 1 when there is a finding of this severity or above.",
)
@click.option(
    "--on",
    type=click.DateTime(["%Y-%m-%d"]),
    metavar="DATE",
    help="Judge expiry dates as of this day, written 2026-12-31; today when left out.",
)
@click.option("--output", type=click.Path(path_type=Path), help="Write to this file instead of the standard output.")
def lint(paths: tuple[str, ...], form: str, fail_on: str, output: Path | None, on: datetime | None) -> int:
    """Checks specs, hardware catalogues and switch systems: YAML, schema, references, rules.

    A PATH is a file, or a folder whose *.yaml files are all checked. Without one, ./inventory is checked where it
    exists, otherwise the inventory that travels with the package.

    Exit status: 0 clean, 1 findings at or above --fail-on, 2 could not run.
    """
    from clusterwright.cli.formats.text import wants_colour
    from clusterwright.rules.engine import lint_paths

    threshold = Severity[fail_on.upper()]
    day = datetime.now(UTC).date() if on is None else on.date()
    result = lint_paths(_files(paths), day)
    text = _render(result, form, threshold, colour=output is None and wants_colour(sys.stdout))
    if output is None:
        click.echo(text, nl=False)
    else:
        _write(output, text)
    return _EXIT_FINDINGS if any(finding.severity >= threshold for finding in result.findings) else 0


def _files(paths: tuple[str, ...]) -> list[str]:
    """The files to check, in order, each once. Raises ClusterwrightError for a path that holds none."""
    if not paths:
        paths = ("inventory",) if Path("inventory").is_dir() else (str(data_files.folder("inventory")),)
    found: dict[str, None] = {}
    for path in paths:
        if not os.path.lexists(path):
            raise ClusterwrightError(f"{path}: there is no such file or folder. Check the path.")
        if not Path(path).is_dir():
            found[path] = None
            continue
        inside = sorted(file for suffix in ("yaml", "yml") for file in Path(path).rglob(f"*.{suffix}"))
        visible = [file for file in inside if not any(part.startswith(".") for part in file.relative_to(path).parts)]
        if not visible:
            raise ClusterwrightError(f"{path}: there is no *.yaml file in this folder. Name one that has specs.")
        found.update((str(file), None) for file in visible)
    return list(found)


def _render(result: LintResult, form: str, threshold: Severity, *, colour: bool) -> str:
    from clusterwright.cli.formats.github import render_github
    from clusterwright.cli.formats.json_report import render_json
    from clusterwright.cli.formats.junit import render_junit
    from clusterwright.cli.formats.sarif import render_sarif
    from clusterwright.cli.formats.text import render_text
    from clusterwright.rules.registry import all_rules

    if form == "json":
        return render_json(result)
    if form == "sarif":
        return render_sarif(result, all_rules())
    if form == "github":
        return render_github(result)
    if form == "junit":
        return render_junit(result, threshold)
    return render_text(result, source_line, colour=colour)


def source_line(file: str, line: int) -> str | None:
    """Line ``line`` of ``file``, from 1; None when the file cannot be shown."""
    lines = _lines(file)
    return lines[line - 1] if 0 < line <= len(lines) else None


@cache
def _lines(file: str) -> tuple[str, ...]:
    from clusterwright.spec.text.source import MAX_BYTES

    try:
        path = Path(file)
        if not path.is_file() or path.stat().st_size > MAX_BYTES:
            return ()
        text = path.read_bytes().decode("utf-8", "replace")
    except (OSError, ValueError):
        return ()
    return tuple(text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n"))


def _write(output: Path, text: str) -> None:
    """Writes beside and moves, so that a reader never sees half a report. Raises ClusterwrightError."""
    aside = output.with_name(f".{output.name}.part")
    try:
        aside.write_text(text, encoding="utf-8", errors="backslashreplace")
        aside.replace(output)
    except OSError as error:
        aside.unlink(missing_ok=True)
        raise ClusterwrightError(f"{output}: cannot be written: {error.strerror}. Name another file.") from error
