"""Bounds under ``expect:``: growth breaks no lower one, and an upper one alone promises an oversubscription."""

from __future__ import annotations

from pathlib import Path

import pytest

from clusterwright import data_files
from clusterwright.plan.bandwidth import promised_at_each_switch
from clusterwright.plan.build import build_plan
from clusterwright.plan.figures import promised_shares
from clusterwright.proofs.declaration import Declaration
from clusterwright.rules.engine import lint_path
from clusterwright.spec.load import load_spec

INVENTORY = data_files.folder("inventory")
CTSW = "oversubscription.backend.ctsw"  # 8 to 1 in this lab
OWN = ("gpus", "switches.rtsw", CTSW)
PROMISE = f"figure: {CTSW}, at_most: 8"


def spec(folder: Path, *items: str, more: str = "") -> Path:
    """The lab with these expectations in the place of its own."""
    removed = "".join(f"  - {{figure: {figure}, remove: true}}\n" for figure in OWN)
    (folder / "base.yaml").write_text(
        f"version: 1\nextends: {INVENTORY}/lab-nvue.yaml\nname: bounds\nexpect:\n{removed}"
    )
    path = folder / "spec.yaml"
    lines = "".join(f"  - {{{item}, assumed: 'A test of bounds.'}}\n" for item in items)
    path.write_text(f"version: 1\nextends: base.yaml\nname: bounds\n{more}expect:\n{lines}")
    return path


def findings(path: Path) -> list[str]:
    return [f"{found.code} {found.message}" for found in lint_path(path).errors]


@pytest.mark.parametrize(
    "bound", ["at_least: 64", "at_most: 64", "at_least: 1, at_most: 100", "value: 60, tolerance: 0.1"]
)
def test_what_is_within_its_bounds_is_met(tmp_path: Path, bound: str) -> None:
    assert findings(spec(tmp_path, PROMISE, f"figure: gpus, {bound}")) == []


@pytest.mark.parametrize(
    ("bound", "told"),
    [
        ("at_least: 65", "expected at least 65."),
        ("at_most: 63", "expected at most 63."),
        ("at_least: 1, at_most: 63", "expected at least 1 and at most 63."),
        ("value: 60, tolerance: 0.05", "expected 60 within 5%."),
        ("value: 64, at_most: 63", "expected 64 and at most 63."),
    ],
)
def test_what_is_beyond_them_is_refused(tmp_path: Path, bound: str, told: str) -> None:
    assert findings(spec(tmp_path, PROMISE, f"figure: gpus, {bound}")) == [f"CW203 gpus is planned as 64, {told}"]


def test_growth_breaks_no_lower_bound(tmp_path: Path) -> None:
    grown = "nodes:\n  - {name: compute, count: 12}\n"
    bounds = ("figure: gpus, at_least: 64", "figure: switches.rtsw, at_least: 4")
    assert [line for line in findings(spec(tmp_path, *bounds, more=grown)) if "gpus" in line or "rtsw is" in line] == []


def test_an_expectation_without_a_bound_is_refused(tmp_path: Path) -> None:
    assert any("figure" in line or "value" in line for line in findings(spec(tmp_path, "figure: racks")))


def test_an_upper_bound_promises_an_oversubscription(tmp_path: Path) -> None:
    loaded = load_spec(spec(tmp_path, f"figure: {CTSW}, at_most: 9"))

    assert promised_at_each_switch(loaded)["backend", "ctsw"] == 9
    assert promised_shares(loaded)["backend"] == pytest.approx(1 / 9)
    assert Declaration(build_plan(loaded)).ratios["backend.ctsw"] == (9, 0)


def test_a_lower_bound_promises_none(tmp_path: Path) -> None:
    path = spec(tmp_path, f"figure: {CTSW}, at_least: 2")
    loaded = load_spec(path)

    assert ("backend", "ctsw") not in promised_at_each_switch(loaded)
    assert "backend.ctsw" not in Declaration(build_plan(loaded)).ratios
    assert any(line.startswith("CW204 Above ctsw") for line in findings(path))
