"""Whatever can be judged is judged: no finding hides another one, suppressed or not; what was not judged is said."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from tests.rules.overlays import INVENTORY
from tests.rules.pairs import DAY, judged, laid_over, named, overlays, still_there

from clusterwright.cli.formats.github import render_github
from clusterwright.cli.formats.json_report import render_json
from clusterwright.cli.formats.junit import render_junit
from clusterwright.cli.formats.sarif import render_sarif
from clusterwright.cli.formats.text import render_text
from clusterwright.cli.planning import sound_plan
from clusterwright.finding import Severity, SpecError
from clusterwright.plan.skeleton import Skeleton
from clusterwright.rules.engine import LintResult, lint_path, run_rule
from clusterwright.rules.registry import all_rules
from clusterwright.rules.rule import Subject
from clusterwright.spec.load import load_spec
from clusterwright.spec.text.document import Document
from clusterwright.spec.text.extends import read_spec_document

OVERLAYS = {code: (base, file) for code, base, file in overlays()}
# One of each kind that leaves something in doubt: schema, catalogue, names, sizes, ports; and some that do not.
BREAKERS = ("CW111", "CW114", "CW140", "CW150", "CW155", "CW158", "CW200", "CW201", "CW206", "CW301", "CW541", "CW601")

# A second mistake that mends the first: fewer uplinks leave ports for the managers, krb5p needs no TLS, no switch
# has the name of the one that is drained, hosts at a drained switch need no way to others, one switch
# above all of them is way enough, a fabric that accepts single failures accepts that one's too, what crosses a
# mount in clear may go to GPUs directly, a filter too large for any chip needs no doubt about one, packages of another
# maker are of a release of their own, other nodes of the same image need its fabric manager, and trays that share
# NVLink's switches may name the level of their rack.
MENDED = frozenset(
    {
        ("CW218", "CW224"),
        ("CW230", "CW231"),
        ("CW241", "CW242"),
        ("CW247", "CW250"),
        ("CW247", "CW251"),
        ("CW250", "CW251"),
        ("CW250", "CW252"),
        ("CW285", "CW286"),
        ("CW428", "CW438"),
        ("CW543", "CW544"),
        ("CW545", "CW541"),
        ("CW637", "CW638"),
    }
)


def partners(code: str) -> list[str]:
    """Examples over the same base: a breaker, and the next example in the order of the codes."""
    same = [each for each, (base, _) in OVERLAYS.items() if base == OVERLAYS[code][0] and each != code]
    at = list(OVERLAYS).index(code)
    same = [each for each in same if (code, each) not in MENDED]
    breakers = [each for each in BREAKERS if each in same]
    turned = breakers[at % len(breakers) :][:1] if breakers else []
    return list(dict.fromkeys([*turned, *(each for each in same if each > code)][:2]))


def alone(file: Path) -> LintResult | None:
    """What lint says of one example; None where it cannot even be read."""
    try:
        return judged(read_spec_document(file))
    except SpecError:
        return None


def suppressing(document: Document, result: LintResult, code: str) -> Document:
    """``document`` with a comment that accepts every finding of ``code``."""
    lines = {(finding.position.file, finding.position.line) for finding in result.findings if finding.code == code}
    accepting = dict.fromkeys(lines, f"clusterwright: ignore[{code}] a test accepts it")
    return replace(document, comments={**document.comments, **accepting})


@pytest.mark.parametrize("code", OVERLAYS)
def test_a_second_mistake_hides_no_first_one_whether_it_is_suppressed_or_not(code: str) -> None:
    """The example's code is found or named as not judged beside another example's mistake."""
    own = alone(OVERLAYS[code][1])
    for other in partners(code):
        both = laid_over(OVERLAYS[other][1], OVERLAYS[code][1])
        if own is None or both is None or not still_there(code, own, both):
            continue
        result = judged(both)
        assert code in named(result), f"{code} is lost under {other}"
        accepted = judged(suppressing(both, result, other))
        before = {finding for finding in result.findings if finding.code == code}
        assert before <= {*accepted.findings}, f"{code} is lost when {other} is suppressed"
        assert result.not_judged == accepted.not_judged


@pytest.mark.parametrize("code", [code for code in OVERLAYS if not all_rules()[code].is_suppressible])
def test_nothing_is_left_unjudged_but_for_an_error_that_stands(code: str) -> None:
    own = lint_path(OVERLAYS[code][1], DAY)
    for item in own.not_judged:
        assert item.because in own.errors
        assert item.because.code not in item.codes


def test_what_others_rely_on_is_judged_without_expanding_anything() -> None:
    class Unbuilt(Subject):
        @property
        def skeleton(self) -> Skeleton:
            raise AssertionError("a rule that is relied on builds what CW200 and CW158 have not allowed yet")

    subject = Unbuilt(load_spec(INVENTORY / "lab-roce.yaml"))
    for rule in all_rules().values():
        if rule.relied_on:
            assert run_rule(subject, rule) == ([], None)


def test_a_suppressed_error_lets_too_many_ports_through_neither_lint_nor_render(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copy(INVENTORY / "lab-roce.yaml", tmp_path / "lab.yaml")
    spec = tmp_path / "spec.yaml"
    spec.write_text(
        "extends: lab.yaml\n"
        "fabrics:\n"
        "  # clusterwright: ignore[CW541] this is no finding of a switch's ports\n"
        "  - {name: management, tiers: [{role: mgmt, per: cluster, count: 1}]}\n"
        "nodes:\n"
        "  - {name: compute, count: 112}\n"
    )
    assert "CW201" in {finding.code for finding in lint_path(spec).errors}
    assert sound_plan(spec) is None
    assert "CW201" in capsys.readouterr().err


def test_every_format_names_what_was_not_judged(tmp_path: Path) -> None:
    shutil.copy(INVENTORY / "lab-roce.yaml", tmp_path / "lab.yaml")
    spec = tmp_path / "spec.yaml"
    spec.write_text("extends: lab.yaml\nnodes:\n  - {name: compute, count: eight}\n")
    result = lint_path(spec)
    (finding,) = result.findings
    (item,) = result.not_judged
    assert finding.code == "CW112"
    assert item.because == finding
    assert "CW203" in item.codes
    assert "CW308" not in item.codes
    listed = render_text(result, lambda *_: None, not_judged=True)
    assert f"not checked because of this CW112:\n    {item.codes[0]}" in listed
    counted = render_text(result, lambda *_: None, quiet=True)
    assert f"Because of CW112, {len(item.codes)} rules were not checked" in counted
    assert item.codes[0] not in counted
    assert f"{len(item.codes)} rules not checked" in render_text(result, lambda *_: None)
    report = json.loads(render_json(result))
    assert report["summary"]["not_judged"] == len(item.codes)
    assert report["not_judged"][0]["codes"] == list(item.codes)
    assert report["not_judged"][0]["because"]["line"] == 3
    (invocation,) = json.loads(render_sarif(result, all_rules()))["runs"][0]["invocations"]
    said = f"Not checked because of CW112 at {finding.position}: {', '.join(item.codes)}."
    assert invocation["toolExecutionNotifications"][0]["message"]["text"] == said
    assert "::notice" in render_github(result)
    assert said in render_junit(result, Severity.ERROR)


def test_a_spec_that_cannot_be_read_has_no_rule_judged(tmp_path: Path) -> None:
    spec = tmp_path / "spec.yaml"
    spec.write_text("extends: nowhere.yaml\n")
    result = lint_path(spec)
    assert [(finding.code, finding.position.line) for finding in result.findings] == [("CW105", 1)]
    assert "no rule was checked" in render_text(result, lambda *_: None)
    assert {code for code, rule in all_rules().items() if rule.check} <= named(result)
