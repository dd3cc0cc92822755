"""From a spec's path to its plan: only a sound one for commands that write or prove; and for those that only read, with
all findings, stopped by as few as possible.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from clusterwright.cli.formats.text import render_text, wants_colour
from clusterwright.cli.lint import source_line
from clusterwright.finding import Finding, SpecError
from clusterwright.plan.build import build_plan
from clusterwright.rules.engine import lint_path, run_rules
from clusterwright.rules.registry import all_rules
from clusterwright.rules.rule import Subject
from clusterwright.spec.load import load_spec

if TYPE_CHECKING:
    from pathlib import Path

    from clusterwright.plan.model import Plan
    from clusterwright.spec.model import ClusterSpec

# What makes a plan impossible or meaningless, beside unreadable specs and broken references (CW1xx): sizes, ports,
# links without an end, pools. Every other error leaves a plan that can be drawn, and the drawing helps to mend it.
_LEAVES_NO_PLAN = frozenset(
    {"CW200", "CW201", "CW202", "CW205", "CW206", "CW208", "CW209", "CW210", "CW211", "CW301", "CW303", "CW306"}
)


def sound_spec(path: Path) -> ClusterSpec | None:
    """The spec at ``path``; None when lint finds an error in it: all findings then go to standard error."""
    result = lint_path(path)
    if result.errors:
        click.echo(render_text(result, source_line, colour=wants_colour(sys.stderr)), nl=False, err=True)
        return None
    return load_spec(path)


def sound_plan(path: Path) -> Plan | None:
    """The plan of ``sound_spec``."""
    spec = sound_spec(path)
    return None if spec is None else build_plan(spec)


def plan_with_findings(path: Path) -> tuple[Plan, tuple[Finding, ...]]:
    """The plan of the spec at ``path`` and what lint finds. Raises SpecError with the errors that leave no plan."""
    result = lint_path(path)
    _refuse([error for error in result.errors if error.code.startswith("CW1") or error.code in _LEAVES_NO_PLAN])
    spec = load_spec(path)
    if result.errors:
        # Lint stops after the first stage with an error; the plan needs what the later stages promise.
        _refuse(run_rules(Subject(spec), [rule for code, rule in all_rules().items() if code in _LEAVES_NO_PLAN]))
    return build_plan(spec), result.findings


def _refuse(errors: list[Finding]) -> None:
    if errors:
        raise SpecError(errors)
