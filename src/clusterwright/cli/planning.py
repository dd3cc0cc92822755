"""From a spec's path to its plan, for commands that only read: with all findings, stopped by as few as possible."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterwright.finding import Finding, Severity, SpecError
from clusterwright.plan.build import build_plan
from clusterwright.rules.engine import lint_path
from clusterwright.spec.load import load_spec

if TYPE_CHECKING:
    from pathlib import Path

    from clusterwright.plan.model import Plan

# These say that a plan is not what was promised. It can be drawn all the same, and the drawing shows why: figures not
# met, oversubscription, dark switches, overfull racks. Every other error leaves no plan that means anything.
_WORTH_SHOWING = frozenset({"CW203", "CW204", "CW207", "CW701"})


def plan_with_findings(spec: Path) -> tuple[Plan, tuple[Finding, ...]]:
    """The plan of the spec at ``spec`` and what lint finds. Raises SpecError with the errors that leave no plan."""
    findings = lint_path(spec).findings
    errors = [finding for finding in findings if finding.severity is Severity.ERROR]
    if any(finding.code not in _WORTH_SHOWING for finding in errors):
        raise SpecError(errors)
    return build_plan(load_spec(spec)), findings
