"""GitLab's Code Quality report, shown in merge requests beside the changed lines."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from clusterwright.cli.formats.fingerprint import fingerprints, local
from clusterwright.cli.formats.unjudged import unjudged_text
from clusterwright.finding import Severity

if TYPE_CHECKING:
    from clusterwright.rules.engine import LintResult

_SEVERITIES = {Severity.NOTE: "info", Severity.WARNING: "minor", Severity.ERROR: "major"}


def render_gitlab(result: LintResult) -> str:
    """A list of issues: description, check_name, fingerprint, severity, location; paths from the current folder.

    The format has no field for skipped rules: they are listed in the finding that prevented them.
    """
    prints = fingerprints(result.findings)
    unjudged = {item.because: f" {unjudged_text(item)}" for item in result.not_judged}
    issues = [
        {
            "description": f"{finding.message} {finding.hint}{unjudged.get(finding, '')}",
            "check_name": finding.code,
            "fingerprint": prints[finding],
            "severity": _SEVERITIES[finding.severity],
            "location": {"path": local(finding.position.file), "lines": {"begin": finding.position.line}},
        }
        for finding in result.findings
    ]
    return json.dumps(issues, indent=2, ensure_ascii=True) + "\n"
