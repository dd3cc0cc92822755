"""Findings as JSON. The layout is an interface: keys are added, and ``version`` grows with a changed key."""

from __future__ import annotations

import json
from itertools import chain
from typing import TYPE_CHECKING, Any

from clusterwright.finding import Finding, Severity

if TYPE_CHECKING:
    from clusterwright.rules.engine import LintResult

VERSION = 1


def render_json(result: LintResult) -> str:
    """``{"version", "findings", "suppressed", "not_judged", "files", "skipped", "summary"}``.

    A finding has code, severity, message, hint, file, line, column (both from 1) and path; a suppressed one its
    ``reason`` too, and the file of ``settings`` that ignores it, empty for a comment. ``not_judged`` are lists of
    ``codes`` with code, file, line and column of the finding ``because`` of which. ``skipped`` are YAML files of
    folders that are no specs. The summary counts findings by severity, those that the settings do not select, and the
    rules that were not judged.
    """
    unjudged = set(chain.from_iterable(item.codes for item in result.not_judged))
    report = {
        "version": VERSION,
        "findings": [_record(finding) for finding in result.findings],
        "suppressed": [
            {**_record(item.finding), "reason": item.reason, "settings": item.settings} for item in result.suppressed
        ],
        "not_judged": [{"codes": list(item.codes), "because": _place(item.because)} for item in result.not_judged],
        "files": list(result.files),
        "skipped": list(result.skipped),
        "summary": {
            severity.label: sum(1 for finding in result.findings if finding.severity is severity)
            for severity in sorted(Severity, reverse=True)
        }
        | {
            "unselected": result.unselected,
            "not_judged": len(unjudged),
        },
    }
    return json.dumps(report, indent=2, ensure_ascii=True) + "\n"


def _record(finding: Finding) -> dict[str, Any]:
    texts = {"severity": finding.severity.label, "message": finding.message, "hint": finding.hint}
    return {"code": finding.code, **texts, **_place(finding), "path": finding.path}


def _place(finding: Finding) -> dict[str, Any]:
    position = finding.position
    return {"code": finding.code, "file": position.file, "line": position.line, "column": position.column}
