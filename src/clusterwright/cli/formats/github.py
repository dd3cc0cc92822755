"""GitHub Actions workflow commands, which show findings as annotations on the changed lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterwright.finding import Finding, Severity

if TYPE_CHECKING:
    from clusterwright.rules.engine import LintResult

_COMMANDS = {Severity.NOTE: "notice", Severity.WARNING: "warning", Severity.ERROR: "error"}


def render_github(result: LintResult) -> str:
    """One ``::error file=...::`` line per finding."""
    return "".join(_command(finding) for finding in result.findings)


def _command(finding: Finding) -> str:
    at = finding.position
    return (
        f"::{_COMMANDS[finding.severity]} file={_property(at.file)},line={at.line},col={at.column},"
        f"title={_property(finding.code)}::{_data(f'{finding.message} {finding.hint}')}\n"
    )


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
