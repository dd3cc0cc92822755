"""JUnit XML: one test case per file, failing if the file has findings."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

# For writing only; the parsing functions are vulnerable to entities, and not used.
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from clusterwright.cli.formats.unjudged import unjudged_text
from clusterwright.finding import Severity

if TYPE_CHECKING:
    from clusterwright.rules.engine import LintResult

# Characters not allowed in XML 1.0, escaped or not.
_NOT_XML = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def render_junit(result: LintResult, fail_on: Severity) -> str:
    """Findings at or above ``fail_on`` as failures; lesser ones and skipped rules in the case's output."""
    cases = list(dict.fromkeys([*result.files, *(finding.position.file for finding in result.findings)]))
    failing = {finding.position.file for finding in result.findings if finding.severity >= fail_on}
    totals = {"tests": str(len(cases)), "failures": str(len(failing)), "errors": "0"}
    root = Element("testsuites", totals)
    suite = SubElement(root, "testsuite", {"name": "clusterwright lint", **totals})
    for file in cases:
        case = SubElement(suite, "testcase", {"classname": "clusterwright.lint", "name": _xml(file)})
        lesser: list[str] = []
        failures: list[tuple[str, str]] = []
        for finding in result.findings:
            if finding.position.file != file:
                continue
            line = _xml(f"{finding.position}: {finding.code}: {finding.message} {finding.hint}")
            if finding.severity >= fail_on:
                failures.append((finding.code, line))
            else:
                lesser.append(f"{finding.severity.label}: {line}")
        lesser += [_xml(unjudged_text(item)) for item in result.not_judged if item.because.position.file == file]
        if failures:
            # Most readers of the format know one failure in a case: it gets the first finding's code, and all text.
            failure = SubElement(case, "failure", {"type": failures[0][0], "message": failures[0][1]})
            failure.text = "\n".join(line for _, line in failures)
        if lesser:
            SubElement(case, "system-out").text = "\n".join(lesser)
    indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + tostring(root, encoding="unicode") + "\n"


def _xml(text: str) -> str:
    return _NOT_XML.sub("\ufffd", text)
