"""From a spec's path to its plan, for commands that only read: with all findings, stopped by as few as possible."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterwright.finding import Finding, Severity, SpecError
from clusterwright.plan.build import build_plan
from clusterwright.rules.engine import lint_path, run_rules
from clusterwright.rules.registry import all_rules
from clusterwright.rules.rule import Subject
from clusterwright.spec.load import load_spec

if TYPE_CHECKING:
    from pathlib import Path

    from clusterwright.plan.model import Plan

# What makes a plan impossible or meaningless, beside unreadable specs and broken references (CW1xx): sizes, ports,
# links without an end, pools. Every other error leaves a plan that can be drawn, and the drawing helps to mend it.
_LEAVES_NO_PLAN = frozenset(
    {"CW200", "CW201", "CW202", "CW205", "CW206", "CW208", "CW209", "CW210", "CW211", "CW301", "CW303", "CW306"}
)


def plan_with_findings(path: Path) -> tuple[Plan, tuple[Finding, ...]]:
    """The plan of the spec at ``path`` and what lint finds. Raises SpecError with the errors that leave no plan."""
    findings = lint_path(path).findings
    errors = [finding for finding in findings if finding.severity is Severity.ERROR]
    _refuse([error for error in errors if error.code.startswith("CW1") or error.code in _LEAVES_NO_PLAN])
    spec = load_spec(path)
    if errors:
        # Lint stops after the first stage with an error; the plan needs what the later stages promise.
        _refuse(run_rules(Subject(spec), [rule for code, rule in all_rules().items() if code in _LEAVES_NO_PLAN]))
    return build_plan(spec), findings


def _refuse(errors: list[Finding]) -> None:
    if errors:
        raise SpecError(errors)
