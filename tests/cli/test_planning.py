"""Commands that write stop at every error; those that only read go on where a plan can still be drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.report.specs import spec_path

from clusterwright.cli.planning import plan_with_findings, sound_plan
from clusterwright.finding import SpecError
from clusterwright.plan.build import build_plan
from clusterwright.spec.load import load_spec

if TYPE_CHECKING:
    from pathlib import Path

INTERNET = ('["fd00:1ab:f:fff0::/64"]', '["::/0"]')  # CW501: an error of a rule that looks at the spec alone
SMALL_POOL = ('hosts: "10.99.0.0/23"', 'hosts: "10.99.0.0/28"')  # CW303: what only the skeleton shows


def changed(folder: Path, *changes: tuple[str, str]) -> Path:
    text = spec_path("lab-roce").read_text()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    path = folder / "lab.yaml"
    path.write_text(text)
    return path


def test_a_sound_spec_has_a_plan_and_nothing_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    plan = sound_plan(spec_path("lab-roce"))
    assert plan is not None
    assert plan.name == "lab-roce"
    assert capsys.readouterr() == ("", "")


def test_an_error_leaves_no_sound_plan_and_is_told_on_its_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert sound_plan(changed(tmp_path, INTERNET)) is None
    told = capsys.readouterr()
    assert told.out == ""
    assert "error CW501" in told.err
    assert '"::/0"' in told.err


def test_a_clean_spec() -> None:
    plan, findings = plan_with_findings(spec_path("lab-roce"))
    assert plan.name == "lab-roce"
    assert findings == ()


def test_an_error_that_leaves_a_plan_is_handed_on(tmp_path: Path) -> None:
    plan, findings = plan_with_findings(changed(tmp_path, INTERNET))
    assert plan.name == "lab-roce"
    assert "CW501" in {finding.code for finding in findings}


def test_an_error_that_leaves_no_plan_stops(tmp_path: Path) -> None:
    with pytest.raises(SpecError) as refused:
        plan_with_findings(changed(tmp_path, SMALL_POOL))
    assert {finding.code for finding in refused.value.findings} == {"CW303"}


def test_it_stops_also_where_lint_did_not_come_that_far(tmp_path: Path) -> None:
    with pytest.raises(SpecError) as refused:
        plan_with_findings(changed(tmp_path, INTERNET, SMALL_POOL))
    assert {finding.code for finding in refused.value.findings} == {"CW303"}


def test_the_plan_that_rules_looked_at_is_the_one_of_the_spec() -> None:
    for name in ("lab-roce", "lab-ib"):
        path = spec_path(name)
        assert plan_with_findings(path)[0] == build_plan(load_spec(path))
