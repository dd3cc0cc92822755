"""GitHub Actions workflow commands: findings as annotations on the changed lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterwright.cli.formats.unjudged import unjudged_text
from clusterwright.finding import Position, Severity

if TYPE_CHECKING:
    from clusterwright.rules.engine import LintResult

_COMMANDS = {Severity.NOTE: "notice", Severity.WARNING: "warning", Severity.ERROR: "error"}


def render_github(result: LintResult) -> str:
    """One ``::error file=...::`` line per finding, and a notice for each finding with skipped rules."""
    lines = [
        _command(finding.severity, finding.position, finding.code, f"{finding.message} {finding.hint}")
        for finding in result.findings
    ]
    lines += [
        _command(Severity.NOTE, item.because.position, "not judged", unjudged_text(item)) for item in result.not_judged
    ]
    return "".join(lines)


def _command(severity: Severity, position: Position, title: str, text: str) -> str:
    place = f"file={_property(position.file)},line={position.line},col={position.column}"
    return f"::{_COMMANDS[severity]} {place},title={_property(title)}::{_data(text)}\n"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
