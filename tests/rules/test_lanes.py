"""Lanes: electrical ones for copper at both ends, adapters included, optical ones for single-mode fibre."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.plans import plan_with

from clusterwright.output.rendering import Rendering
from clusterwright.proofs.declaration import Declaration
from clusterwright.proofs.registry import CHECKS
from clusterwright.proofs.tree import tree_of
from clusterwright.rules.engine import lint_path
from clusterwright.spec.hardware.lanes import can_join

HOSTS = """fabrics:
  - name: frontend
    tiers:
      - {{role: rsw, down: {{medium: {medium}}}}}
"""
UPLINKS = """fabrics:
  - name: frontend
    tiers:
      - {{role: rsw, up: {{speed_gbps: 100, medium: {medium}}}}}
"""


def found(folder: Path) -> list[str]:
    return [finding.message for finding in lint_path(folder / "overlay.yaml").findings if finding.code == "CW223"]


@pytest.mark.parametrize(("medium", "has_link"), [("dac", False), ("aoc", False), ("mmf", False), ("smf", True)])
def test_an_adapter_of_four_lanes_reaches_eight_over_single_mode_fibre_alone(
    tmp_path: Path, medium: str, has_link: bool
) -> None:
    plan_with(tmp_path, "lab-tenants", HOSTS.format(medium=medium))
    told = found(tmp_path)
    assert bool(told) is not has_link
    assert all("adapters of" in each and "have 4 lanes" in each for each in told)


@pytest.mark.parametrize(("medium", "has_link"), [("mmf", False), ("smf", True)])
def test_uplinks_of_four_lanes_reach_two_over_single_mode_fibre_alone(
    tmp_path: Path, medium: str, has_link: bool
) -> None:
    plan = plan_with(tmp_path, "lab-roce", UPLINKS.format(medium=medium))
    told = found(tmp_path)
    assert bool(told) is not has_link, told
    check = next(check for check in CHECKS if check.name == "ethernet-links")
    verdict = check.run(tree_of(plan.name, Rendering(plan).of_kinds(check.kinds), Declaration(plan)))
    lanes = [example.message for example in verdict.counterexamples if "lanes" in example.message]
    assert bool(lanes) is not has_link, lanes[:2]


def test_optical_lanes_are_those_of_the_standards() -> None:
    assert can_join("smf", 400, 4, 8)
    assert can_join("smf", 100, 4, 2)
    assert can_join("dac", 400, 8, 8)
    assert not can_join("mmf", 400, 4, 8)
    assert not can_join("dac", 100, 4, 2)
    assert not can_join("smf", 200, 4, 2)
