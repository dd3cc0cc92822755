"""The reference specs, their plans and their reports, each made once for all tests of a process."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from clusterwright.plan.build import build_plan
from clusterwright.report.html import report_files
from clusterwright.spec.load import load_spec

if TYPE_CHECKING:
    from collections.abc import Mapping

    from clusterwright.plan.model import Plan

INVENTORY = Path(__file__).parents[2] / "inventory"
IPOIB = "../tests/rules/examples/CW560/good"  # a partition with IP over InfiniBand
SPECS = tuple(sorted(path.stem for path in INVENTORY.glob("*.yaml")))


def spec_path(name: str) -> Path:
    return INVENTORY / f"{name}.yaml"


@cache
def plan_of(name: str) -> Plan:
    return build_plan(load_spec(spec_path(name)))


@cache
def report_of(name: str) -> Mapping[str, str]:
    """The files of a spec's report, without findings."""
    return report_files(plan_of(name), ())
