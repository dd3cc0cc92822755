"""SARIF 2.1.0 (OASIS), shown by code-scanning services on the lines of a pull request."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from clusterwright import __version__
from clusterwright.cli.formats.fingerprint import fingerprints
from clusterwright.cli.formats.unjudged import unjudged_text
from clusterwright.data_files import pages
from clusterwright.finding import Finding, Severity

if TYPE_CHECKING:
    from collections.abc import Mapping

    from clusterwright.rules.engine import LintResult, NotJudged
    from clusterwright.rules.rule import LintRule
    from clusterwright.rules.suppression import Suppressed

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
# A package URL (ECMA-427) refers to the page in the package itself, independent of any host.
_PACKAGE = f"pkg:pypi/clusterwright@{__version__}"
_LEVELS = {Severity.NOTE: "note", Severity.WARNING: "warning", Severity.ERROR: "error"}


def render_sarif(result: LintResult, rules: Mapping[str, LintRule]) -> str:
    """One run with every finding as a result, suppressed ones marked, and their ``rules``."""
    findings = [*result.findings, *(item.finding for item in result.suppressed)]
    named = sorted({finding.code for finding in findings})
    index = {code: number for number, code in enumerate(named)}
    prints = fingerprints(findings)
    results = [_result(finding, index, prints) for finding in result.findings]
    results += [
        {**_result(item.finding, index, prints), "suppressions": [_suppression(item)]} for item in result.suppressed
    ]
    log = {
        "$schema": _SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "clusterwright",
                        "semanticVersion": __version__,
                        "informationUri": _PACKAGE,
                        "rules": [_rule(code, rules.get(code)) for code in named],
                    }
                },
                # libyaml, and so every position here, counts characters and not bytes or UTF-16 units.
                "columnKind": "unicodeCodePoints",
                "results": results,
                # The standard's place for incomplete analysis; "true": the tool finished.
                "invocations": [
                    {
                        "executionSuccessful": True,
                        "toolExecutionNotifications": [_notification(item) for item in result.not_judged],
                    }
                ],
            }
        ],
    }
    return json.dumps(log, indent=2, ensure_ascii=True) + "\n"


def _rule(code: str, rule: LintRule | None) -> dict[str, Any]:
    if rule is None:
        return {"id": code}
    return {
        "id": code,
        "shortDescription": {"text": rule.text.title},
        "fullDescription": {"text": rule.text.why},
        **_help(code, rule),
        "defaultConfiguration": {"level": _LEVELS[rule.severity]},
    }


def _help(code: str, rule: LintRule) -> dict[str, Any]:
    """The fix, and for a rule of this program its whole page."""
    page = pages().get(code)
    if page is None:
        return {"help": {"text": rule.text.fix}}
    return {
        "help": {"text": rule.text.fix, "markdown": page.read_text(encoding="utf-8")},
        "helpUri": f"{_PACKAGE}#clusterwright/data/docs/rules/{code}.md",
    }


def _notification(item: NotJudged) -> dict[str, Any]:
    return {"level": "warning", "message": {"text": unjudged_text(item)}, "locations": [_location(item.because)]}


def _location(finding: Finding) -> dict[str, Any]:
    return {
        "physicalLocation": {
            "artifactLocation": {"uri": _uri(finding.position.file)},
            "region": {"startLine": finding.position.line, "startColumn": finding.position.column},
        }
    }


def _suppression(item: Suppressed) -> dict[str, str]:
    return {"kind": "external" if item.settings else "inSource", "justification": item.reason}


def _result(finding: Finding, index: Mapping[str, int], prints: Mapping[Finding, str]) -> dict[str, Any]:
    location = _location(finding)
    if finding.path:
        location["logicalLocations"] = [{"fullyQualifiedName": finding.path}]
    return {
        "ruleId": finding.code,
        "ruleIndex": index[finding.code],
        "level": _LEVELS[finding.severity],
        "message": {"text": f"{finding.message} {finding.hint}"},
        "locations": [location],
        "partialFingerprints": {"clusterwrightFinding/v1": prints[finding]},
    }


def _uri(file: str) -> str:
    path = Path(file)
    return path.as_uri() if path.is_absolute() else quote(path.as_posix(), errors="surrogateescape")
