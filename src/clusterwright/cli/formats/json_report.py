"""Findings for programs. The layout is an interface: keys are added, and ``version`` counts what breaks it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from clusterwright.finding import Finding, Severity

if TYPE_CHECKING:
    from clusterwright.rules.engine import LintResult

VERSION = 1


def render_json(result: LintResult) -> str:
    """``{"version", "findings", "suppressed", "files", "summary"}``; a finding has code, severity, message, hint, file,
    line, column (both from 1) and path; a suppressed one its ``reason`` too; the summary counts by severity.
    """
    report = {
        "version": VERSION,
        "findings": [_record(finding) for finding in result.findings],
        "suppressed": [{**_record(item.finding), "reason": item.reason} for item in result.suppressed],
        "files": list(result.files),
        "summary": {
            severity.label: sum(1 for finding in result.findings if finding.severity is severity)
            for severity in sorted(Severity, reverse=True)
        },
    }
    return json.dumps(report, indent=2, ensure_ascii=True) + "\n"


def _record(finding: Finding) -> dict[str, Any]:
    return {
        "code": finding.code,
        "severity": finding.severity.label,
        "message": finding.message,
        "hint": finding.hint,
        "file": finding.position.file,
        "line": finding.position.line,
        "column": finding.position.column,
        "path": finding.path,
    }
