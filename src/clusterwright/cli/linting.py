"""The files of ``clusterwright lint``, their findings, and their amendments."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from datetime import date
from difflib import unified_diff
from pathlib import Path

import click

from clusterwright.cli.formats.text import SourceLine
from clusterwright.cli.source_lines import source_line
from clusterwright.cli.terminal import visible
from clusterwright.finding import Amendment, ClusterwrightError, Finding, Severity, SpecError
from clusterwright.rules.adding_flows import flow_of, flow_text
from clusterwright.rules.amending import amended
from clusterwright.rules.engine import LintResult, lint_path, lint_paths
from clusterwright.rules.registry import all_rules
from clusterwright.rules.rule import LintRule
from clusterwright.rules.settings import settings_for
from clusterwright.rules.spec_files import spec_files
from clusterwright.spec.text.boundary import obstacle
from clusterwright.spec.text.source import reading_instead


def amend_files(paths: tuple[str, ...], day: date) -> Iterator[tuple[str, bytes, bytes]]:
    """Files of ``paths`` with an amendable finding: name, content, amended content.

    Each amendment is printed on standard error.
    """
    settings = settings_for(Path())
    for file in spec_files(paths, settings).files:
        if not Path(file).is_file() or obstacle(Path(file)) is not None:
            continue  # reported by lint
        try:
            content = Path(file).read_bytes()
        except OSError:
            continue
        after = amend(content, file, day)
        if after != content:
            yield file, content, after


def amend(content: bytes, file: str, day: date) -> bytes:
    """``content``, called ``file``, with its amendments; each is reported on standard error."""

    def findings_of(text: bytes) -> tuple[Finding, ...]:
        with reading_instead(Path(file), text):
            return lint_path(file, day).findings

    after, resolved = amended(content, file, findings_of)
    for finding in resolved:
        click.echo(f"amended {finding.position}: {finding.code} {visible(finding.message)}", err=True)
    added_flows = [finding for finding in resolved if finding.amendment is Amendment.ADD_FLOW]
    if added_flows:
        flows = "1 flow opens" if len(added_flows) == 1 else f"{len(added_flows)} flows open"
        click.echo(f"{file}: {flows} what was closed. Review each, and name its owner (owner):", err=True)
    for finding in added_flows:
        click.echo(f"  {visible(flow_text(flow_of(finding)))}", err=True)
    return after


def write_amended(file: str, content: bytes) -> None:
    """Write ``content`` into ``file``. Raises ClusterwrightError."""
    try:
        Path(file).write_bytes(content)
    except OSError as error:
        raise ClusterwrightError(f"{file}: cannot be amended: {error.strerror}. Look at its permissions.") from error


def difference(file: str, before: bytes, after: bytes) -> str:
    """The amendment as a patch."""
    old, new = (text.decode("utf-8", "replace").splitlines(keepends=True) for text in (before, after))
    lines = unified_diff(old, new, file, file)
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def lint_stdin(content: bytes, file: str, day: date) -> tuple[LintResult, SourceLine]:
    """Findings of ``content``, called ``file``, and the source of its lines."""
    lines = content.decode("utf-8", "replace").split("\n")

    def line_of(name: str, line: int) -> str | None:
        if name != file:
            return source_line(name, line)
        return lines[line - 1] if 0 < line <= len(lines) else None

    with reading_instead(Path(file), content):
        return lint_paths([file], day), line_of


def render_as(result: LintResult, form: str, threshold: Severity) -> str:
    """``result`` in one of the formats for programs."""
    from clusterwright.cli.formats.github import render_github
    from clusterwright.cli.formats.gitlab import render_gitlab
    from clusterwright.cli.formats.json_report import render_json
    from clusterwright.cli.formats.junit import render_junit
    from clusterwright.cli.formats.sarif import render_sarif

    if form == "json":
        return render_json(result)
    if form == "sarif":
        return render_sarif(result, _rules_of(result))
    if form == "github":
        return render_github(result)
    if form == "gitlab":
        return render_gitlab(result)
    return render_junit(result, threshold)


def _rules_of(result: LintResult) -> dict[str, LintRule]:
    """Every rule by code, with those of the projects of checked files."""
    rules = dict(all_rules())
    for folder in {Path(file).parent for file in result.files}:
        with suppress(SpecError):  # already among the findings
            rules |= settings_for(folder).policy.project_rules
    return rules
