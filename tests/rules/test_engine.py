"""Stages, gates and suppressions."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.rules.overlays import UNTRIED

from clusterwright import data_files
from clusterwright.finding import Severity
from clusterwright.rules.engine import lint_path, lint_paths, run_rule
from clusterwright.rules.registry import all_rules
from clusterwright.rules.rule import FAMILIES, Problem, Subject, rule
from clusterwright.rules.suppression import suppress
from clusterwright.spec.load import load_spec

INVENTORY = data_files.folder("inventory")
LAB = INVENTORY / "lab-roce.yaml"
EXPECT = '{figure: gpus, value: 72, assumed: "What this lab is meant to have."}'


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    """Where a test writes its spec, beside the lab that it changes."""
    shutil.copy(LAB, tmp_path / "lab.yaml")
    return tmp_path / "spec.yaml"


def found(path: Path, text: str) -> list[str]:
    """``line code`` of each finding."""
    path.write_text(f"extends: lab.yaml\n{text}")
    return [f"{finding.position.line} {finding.code}" for finding in lint_path(path).findings]


def test_every_packaged_file_lints_clean() -> None:
    files = [*sorted(INVENTORY.glob("*.yaml")), *sorted((INVENTORY / "hardware").glob("*.yaml"))]
    result = lint_paths(files)
    # Storage of others, which speaks no TLS: a warning, and no error to be suppressed.
    assert [
        (finding.code, finding.position.file.rpartition("/")[2])
        for finding in result.findings
        if finding.code != UNTRIED
    ] == [("CW558", "lab-tenants.yaml")]
    untried = {finding.message.partition(" is untried")[0] for finding in result.findings if finding.code == UNTRIED}
    assert untried == {"CentOS Stream 10", "File system fuse.tectonic", "MLNX-OS", "Ubuntu 24.04"}
    assert {str(file) for file in files} <= set(result.files)


def test_rules_are_found_by_code_and_belong_to_a_family() -> None:
    rules = all_rules()
    assert list(rules) == sorted(rules)
    assert all(code[:3] in FAMILIES and len(code) == 5 for code in rules)
    assert len([code for code, each in rules.items() if each.check]) >= 20


def test_a_rule_is_placed_by_its_path() -> None:
    @rule(code="CW299", severity=Severity.NOTE, title="t", why="w", fix="m")
    def objection(subject: Subject) -> Iterator[Problem]:
        yield Problem((*subject.spec.fabrics[0].path, "mtu"), "Key.", "Hint.", key=True)
        yield Problem(("nodes", 0, "count"), "Value.", "Hint.")

    (second, first), obstacle = run_rule(Subject(load_spec(LAB)), objection)
    assert obstacle is None
    lines = LAB.read_text().splitlines()
    assert first.path == "nodes[compute].count"
    assert lines[first.position.line - 1][first.position.column - 1 :] == "8"
    assert lines[second.position.line - 1][second.position.column - 1 :].startswith("mtu:")
    assert second.severity is Severity.NOTE


def test_an_error_hides_no_other(spec: Path) -> None:
    wrong_figure = f"expect:\n  - {EXPECT}\n"
    unknown_zone = "flows:\n  - {name: ssh, to: nowhere}\n"
    unknown_model = "fabrics:\n  - {name: backend, tiers: [{role: rtsw, model: wedgie}]}\n"
    assert found(spec, wrong_figure) == ["3 CW203"]
    assert found(spec, wrong_figure + unknown_zone) == ["3 CW203", "5 CW152"]
    assert found(spec, wrong_figure + unknown_zone + "colour: red\n") == ["3 CW203", "5 CW152", "6 CW110"]
    # Figures count ports of switches whose model nobody knows: that is said.
    assert found(spec, wrong_figure + unknown_zone + unknown_model) == ["5 CW152", "7 CW140"]
    (judged_less,) = (item for item in lint_path(spec).not_judged if item.because.code == "CW140")
    assert "CW203" in judged_less.codes
    assert found(spec, wrong_figure + unknown_zone + "colour: red\ncolour: red\n") == ["7 CW102"]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("nodes:\n  - {name: compute, zone: compuet}\n", "3 CW152"),
        ("fabrics:\n  - {name: backend, attach: [{nodes: compuet, nics: backend}]}\n", "3 CW150"),
        ("flows:\n  - {name: rdma, from: compute, to: storaeg}\n", "3 CW152"),
    ],
)
def test_a_misspelt_name_is_told_once_and_not_by_every_rule_that_relies_on_it(spec: Path, text: str, told: str) -> None:
    assert found(spec, text) == [told]


def test_two_borders_of_one_name_on_one_port_are_told_apart(spec: Path) -> None:
    lines = (INVENTORY / "lab-border.yaml").read_text().splitlines()
    first = next(index for index, line in enumerate(lines) if line.startswith("  - {name: production-a,"))
    lines[first:first] = lines[first : first + 2]
    shutil.copy(LAB, spec.with_name("lab-roce.yaml"))
    spec.write_text("\n".join(lines) + "\n")
    assert [(finding.code, finding.position.line) for finding in lint_path(spec).findings] == [("CW158", first + 3)]


def test_an_item_whose_name_misses_that_of_the_base_is_told_which_was_meant(spec: Path) -> None:
    assert found(spec, "nodes:\n  - {name: compuet, count: 4}\n") == ["3 CW111"]
    (finding,) = lint_path(spec).findings
    assert finding.message == 'nodes[compuet] lacks the key "model".'
    assert finding.hint == 'Did you mean "compute"? An item that the base does not have needs `model:`.'


@pytest.mark.parametrize(
    ("text", "left"),
    [
        (f"expect:\n  - {EXPECT} # clusterwright: ignore[CW203] a ninth node comes\n", []),
        (f"expect:\n  # clusterwright: ignore[CW203] a ninth node comes\n  - {EXPECT}\n", []),
        (f"expect:\n  # clusterwright: ignore[CW203] a ninth node comes\n  # in March\n  - {EXPECT}\n", []),
        (f"expect:\n  # clusterwright: ignore[CW207, CW203]: a ninth node comes\n  - {EXPECT}\n", ["3 CW121"]),
        (f"expect:\n  # clusterwright: ignore[CW203]\n  - {EXPECT}\n", ["3 CW120", "4 CW203"]),
        (f"expect:\n  # clusterwright: ignore a ninth node comes\n  - {EXPECT}\n", ["3 CW122", "4 CW203"]),
        (f"expect:\n  # clusterwright: ignore[CW999] a ninth node\n  - {EXPECT}\n", ["3 CW122", "4 CW203"]),
        (f"# clusterwright: ignore[CW203] a ninth node\nexpect:\n  - {EXPECT}\n", ["2 CW121", "4 CW203"]),
        (f"expect:\n  - {EXPECT}\n# clusterwright: ignore[CW203] too late\n", ["3 CW203", "4 CW121"]),
        (f"expect: # see clusterwright: ignore[CW203] which is prose\n  - {EXPECT}\n", ["3 CW203"]),
        ("flows:\n  - {name: ssh, to: nowhere} # clusterwright: ignore[CW152] soon\n", ["3 CW122", "3 CW152"]),
        ("colour: red # clusterwright: ignore[CW110] we like it\n", ["2 CW110", "2 CW122"]),
    ],
)
def test_suppressions(spec: Path, text: str, left: list[str]) -> None:
    assert found(spec, text) == left


def test_a_suppressed_finding_is_kept_with_its_reason(spec: Path) -> None:
    assert found(spec, f"expect:\n  - {EXPECT} # clusterwright: ignore[CW203] a ninth node comes\n") == []
    (suppressed,) = lint_path(spec).suppressed
    assert (suppressed.finding.code, suppressed.reason) == ("CW203", "a ninth node comes")


def test_a_suppression_is_not_called_unused_before_its_rule_has_run(spec: Path) -> None:
    document = load_spec(LAB).document
    comments = {(document.file, 3): "clusterwright: ignore[CW203] a reason"}
    commented = type(document)(document.file, document.data, document.values, document.keys, comments)
    kept, _ = suppress([], commented, frozenset({"CW203"}), checked=frozenset())
    assert kept == []
    kept, _ = suppress([], commented, frozenset({"CW203"}), checked=frozenset({"CW203"}))
    assert [finding.code for finding in kept] == ["CW121"]


def test_what_is_wrong_with_a_shared_base_is_said_once(spec: Path) -> None:
    lab = spec.with_name("lab.yaml")
    lab.write_text(lab.read_text().replace("expect:\n", f"expect:\n  - {EXPECT.replace('gpus', 'nodes')}\n"))
    spec.write_text("extends: lab.yaml\ntitle: Another\n")
    assert [finding.code for finding in lint_paths([lab, spec]).findings] == ["CW203"]


def test_hardware_is_told_by_its_kind_or_its_folder(tmp_path: Path) -> None:
    (tmp_path / "hardware").mkdir()
    for file in (tmp_path / "switches.yaml", tmp_path / "hardware" / "any.yaml"):
        file.write_text("version: 1\nkind: hardware\n")
        assert [finding.code for finding in lint_path(file).findings] == ["CW111"]
    (tmp_path / "hardware" / "kindless.yaml").write_text("version: 1\nmodels: []\n")
    assert {f.code for f in lint_path(tmp_path / "hardware" / "kindless.yaml").findings} == {"CW111", "CW114"}


def test_a_rule_without_a_page_says_itself_why_and_what_to_do() -> None:
    with pytest.raises(TypeError, match="OURS101 lacks a title, why it matters, or how to fix it"):
        rule("OURS101", Severity.ERROR, title="t", why="w.")


@pytest.mark.parametrize("value", [5.333, 5.33333, 5.3333333])
def test_a_figure_that_is_missed_is_told_from_what_is_planned(tmp_path: Path, value: float) -> None:
    expected = f"expect: [{{figure: oversubscription.backend.ctsw, value: {value}, assumed: cut short by hand}}]\n"
    overlay = "fabrics: [{name: backend, tiers: [{role: ctsw, up: {links: 3}}, {role: atsw, count: 3}]}]\n"
    base = data_files.folder("inventory") / "lab-nvue.yaml"
    (tmp_path / "cluster.yaml").write_text(f"extends: {base}\n{overlay}{expected}")
    (message,) = [
        finding.message
        for finding in lint_path(tmp_path / "cluster.yaml").findings
        if "backend.ctsw is" in finding.message
    ]
    planned, wanted = message.removesuffix(".").partition(" is planned as ")[2].split(", expected ")
    assert planned != wanted
