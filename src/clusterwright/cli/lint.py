"""``clusterwright lint``: the mistakes in specs and hardware catalogues, each with its line."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path

import click

import clusterwright
from clusterwright.finding import Severity

FORMATS = ("text", "json", "sarif", "github", "gitlab", "junit")
_EXIT_FINDINGS = 1
_STDIN = "-"


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
    help="Check expiry dates as of this day, such as 2026-12-31. [default: today]",
)
@click.option(
    "--out",
    "--output",
    "output",
    type=click.Path(path_type=Path),
    help="Write to this file instead of the standard output.",
)
@click.option("--quiet", "-q", is_flag=True, help="Omit the line with the counts; text only.")
@click.option(
    "--since",
    default="",
    metavar="VERSION",
    help="Show last, under a heading, what rules find that this version of clusterwright did not have; text only.",
)
@click.option("--not-judged", is_flag=True, help="List the rules that were not checked because of errors; text only.")
@click.option("--statistics", is_flag=True, help="Count findings by code instead of showing each; text only.")
@click.option(
    "--stdin-filename",
    metavar="FILE",
    default="<stdin>",
    help="Path of -: its references are relative to it, and the settings of its directory apply.",
)
@click.option(
    "--fix",
    is_flag=True,
    help="First fix findings that have exactly one fix, in place; for - write to standard output.",
)
@click.option(
    "--diff", is_flag=True, help="Write nothing: show the changes of --fix, and exit with 1 if there are any."
)
def lint(
    paths: tuple[str, ...],
    form: str,
    fail_on: str,
    output: Path | None,
    on: datetime | None,
    *,
    quiet: bool,
    not_judged: bool,
    statistics: bool,
    since: str,
    stdin_filename: str,
    fix: bool,
    diff: bool,
) -> int:
    """Checks specs, hardware catalogues and switch systems: YAML, schema, references, rules.

    A PATH is a file, a directory whose specs are all checked, or - for the standard input. Without one, lint checks the
    paths in the settings, or else ./inventory, or this directory. YAML files of a directory that are not specs are
    skipped.

    --fix changes: a misspelt key that resembles one key only, duplicate list items, an unsorted list whose order has no
    meaning, a figure without `source:` or `assumed:`, which is marked TODO, and a missing flow that a hint spells out.
    Such a flow is written without an owner, and listed for you to review. Comments and layout stay.

    Settings are clusterwright.toml, or [tool.clusterwright] in pyproject.toml, in the directory of a spec or above.

    Exit status: 0 clean, 1 findings at or above --fail-on, 2 could not run.
    """
    from clusterwright.cli.formats.text import render_text, wants_colour
    from clusterwright.cli.linting import amend, amend_files, difference, lint_stdin, render_as, write_amended
    from clusterwright.cli.source_lines import source_line
    from clusterwright.cli.terminal import echo_styled
    from clusterwright.lists.writing import write_lines
    from clusterwright.spec.text.source import MAX_BYTES

    if form != "text" and (quiet or statistics or since or not_judged):
        raise click.UsageError("--quiet, --statistics, --since and --not-judged are for --format text.")
    threshold = Severity[fail_on.upper()]
    day = datetime.now(UTC).date() if on is None else on.date()
    if _STDIN in paths:
        if len(paths) > 1:
            raise click.UsageError("- is checked alone: name files in another run.")
        content = sys.stdin.buffer.read(MAX_BYTES + 1)
        after = amend(content, stdin_filename, day) if fix or diff else content
        if diff:
            click.echo(difference(stdin_filename, content, after), nl=False)
            return _EXIT_FINDINGS if after != content else 0
        if fix:
            sys.stdout.buffer.write(after)
        result, lines = lint_stdin(after, stdin_filename, day)
    else:
        changes = list(amend_files(paths, day)) if fix or diff else []
        if diff:
            click.echo("".join(difference(*change) for change in changes), nl=False)
            return _EXIT_FINDINGS if changes else 0
        for file, _, after in changes:
            write_amended(file, after)
        result, lines = clusterwright.lint(paths, on=day), source_line
    if form == "text":
        colour = output is None and wants_colour(sys.stdout)
        text = render_text(
            result, lines, colour=colour, quiet=quiet, statistics=statistics, since=since, not_judged=not_judged
        )
    else:
        text = render_as(result, form, threshold)
    if output is None:
        echo_styled(text, err=fix and _STDIN in paths)
    else:
        write_lines(output, [text.encode(errors="backslashreplace").decode()])
    return _EXIT_FINDINGS if any(finding.severity >= threshold for finding in result.findings) else 0
