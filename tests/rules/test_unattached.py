"""NICs and uplinks that find nothing: the finding names the cause there is, on the line that says where they go."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.rules.overlays import findings_of

MANAGERS = "{name: ufm, model: ufm-appliance, role: service, count: %d, prefix: ufm, zone: services, levels: [%s]}"
FABRIC = """nodes:
  - name: compute
    count: %(count)d
    levels: [{name: rack, of: 4, within: su}, {name: su, of: 8}]
  - %(managers)s
fabrics:
  - name: backend
    attach:
      - {nodes: compute, nics: backend}
      - {nodes: ufm, nics: fabric%(to)s}
    tiers:
      - {role: leaf, %(leaf)sup: {links: 32, speed_gbps: 400, medium: mmf, length_m: 20}}
      - {role: spine, count: 16}
    subnet_manager: {nodes: ufm}
"""
IN_SU = MANAGERS % (4, "{name: rack, of: 4, code: u, within: su}, {name: su, of: 1}")
IN_RACK = MANAGERS % (4, "{name: rack, of: 4, code: u}")


@pytest.mark.parametrize(
    ("count", "managers", "to", "leaf", "code", "key", "said"),
    [
        (128, IN_RACK, ", to: leaf", "", "CW218", "leaf", "The NICs of ufm want 8 ports of 400G on leaf, and none of"),
        (128, IN_SU, ", to: leaf", "", "CW218", "leaf", "of its 32 switches is free"),
        (127, IN_RACK, ", to: leaf", "", "", "", ""),
        (127, IN_RACK, ", to: leaf", "down: {spare: 1}, ", "CW218", "leaf", "beside 1 spare ones on each"),
        (
            127,
            IN_RACK.replace("count: 4", "count: 6"),
            ", to: leaf",
            "",
            "CW218",
            "leaf",
            "want 12 ports of 400G on leaf, and 8",
        ),
    ],
)
def test_the_cause_is_the_true_one(
    count: int, managers: str, to: str, leaf: str, code: str, key: str, said: str, tmp_path: Path
) -> None:
    text = FABRIC % {"count": count, "managers": managers, "to": to, "leaf": leaf}
    found = {finding.code: finding for finding in findings_of(tmp_path, text, "lab-ib")}
    assert "CW206" not in found, found["CW206"].message
    if not code:
        assert "CW218" not in found
        return
    assert said in found[code].message
    line = text.split("\n")[found[code].position.line - 2]
    assert line[found[code].position.column - 1 :].startswith(key)


def test_each_group_without_a_switch_is_told_on_its_own_line(tmp_path: Path) -> None:
    text = "fabrics:\n  - name: frontend\n    tiers:\n      - {role: rsw, per: su}\n"
    findings = [finding for finding in findings_of(tmp_path, text, "lab-ib") if finding.code == "CW206"]
    said = "No tier of frontend serves {}: its switches are placed in each su."
    assert [finding.message for finding in findings] == [said.format("storage"), said.format("services")]
    base = (tmp_path / "base.yaml").read_text().split("\n")
    lines = [base[finding.position.line - 1].strip() for finding in findings]
    assert lines == ["- {nodes: storage, nics: frontend}", "- {nodes: services, nics: frontend}"]


def test_uplinks_below_a_tier_of_another_level_say_so(tmp_path: Path) -> None:
    managers = MANAGERS % (4, "{name: rack, of: 4, code: u, within: pod}, {name: pod, of: 1}")
    text = FABRIC % {"count": 127, "managers": managers, "to": "", "leaf": ""}
    text = text.replace("{role: spine, count: 16}", "{role: spine, count: 16, per: pod}")
    (findings,) = [finding for finding in findings_of(tmp_path, text, "lab-ib") if finding.code == "CW202"]
    assert findings.message == (
        "32 leaf switches have 32 uplinks each, and no spine serves them: it is placed in each pod."
    )


def test_the_speed_is_judged_on_the_tier_that_is_named(tmp_path: Path) -> None:
    text = FABRIC % {"count": 127, "managers": IN_RACK, "to": ", to: leaf", "leaf": ""}
    text = text.replace("{role: spine, count: 16}", "{role: spine, count: 16, model: qm8790}")
    findings = [finding for finding in findings_of(tmp_path, text, "lab-ib") if finding.code == "CW205"]
    assert not any("NICs of ufm" in finding.message for finding in findings)
