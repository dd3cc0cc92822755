"""What ``clusterwright lint`` does: the files that are meant, what is found in them, and its text in a format."""

from __future__ import annotations

import sys
from contextlib import suppress
from datetime import date
from pathlib import Path

from clusterwright.cli.formats.text import SourceLine
from clusterwright.cli.source_lines import source_line
from clusterwright.finding import Severity, SpecError
from clusterwright.rules.engine import LintResult, lint_paths
from clusterwright.rules.policy import Policy
from clusterwright.rules.registry import all_rules
from clusterwright.rules.rule import LintRule
from clusterwright.rules.settings import settings_for
from clusterwright.spec.text.source import MAX_BYTES, reading_instead


def lint_stdin(file: str, day: date, policy: Policy | None) -> tuple[LintResult, SourceLine]:
    """What is found in the standard input, called ``file``; and where its lines are to be had."""
    content = sys.stdin.buffer.read(MAX_BYTES + 1)
    lines = content.decode("utf-8", "replace").split("\n")

    def line_of(named: str, line: int) -> str | None:
        return source_line(named, line) if named != file else lines[line - 1] if 0 < line <= len(lines) else None

    with reading_instead(Path(file), content):
        return lint_paths([file], day, policy), line_of


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
    """Every rule by code, with those of the projects whose files were checked."""
    rules = dict(all_rules())
    for folder in {Path(file).parent for file in result.files}:
        with suppress(SpecError):  # which is among the findings
            rules |= settings_for(folder).policy.own
    return rules
