"""From a spec's path to its plan: only a sound one for commands that write or prove; and for those that only read, with
all findings, stopped by as few as possible.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from clusterwright.cli.formats.text import render_text, wants_colour
from clusterwright.cli.source_lines import source_line
from clusterwright.cli.terminal import echo_styled
from clusterwright.finding import SpecError
from clusterwright.rules.engine import lint_and_plan, lint_path
from clusterwright.spec.load import load_spec
from clusterwright.spec.text.source import noting_reads

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from clusterwright.finding import Finding
    from clusterwright.plan.model import Plan
    from clusterwright.rules.engine import LintResult
    from clusterwright.spec.model import ClusterSpec


@dataclass(frozen=True, slots=True)
class PlannedSpec:
    """A spec in which lint finds no error, as a plan."""

    plan: Plan
    read: Mapping[Path, frozenset[str]]
    """The files of the spec, each with the SHA-256 of the content that was read."""


def sound_spec(path: Path) -> ClusterSpec | None:
    """The spec at ``path``; None when lint finds an error in it: all findings then go to standard error."""
    return load_spec(path) if _is_sound(lint_path(path)) else None


def _is_sound(result: LintResult) -> bool:
    if result.errors:
        echo_styled(render_text(result, source_line, colour=wants_colour(sys.stderr)), err=True)
    return not result.errors


def sound_plan(path: Path) -> Plan | None:
    """The plan of ``sound_spec``."""
    try:
        result, plan = lint_and_plan(path)
    except SpecError:
        if _is_sound(lint_path(path)):
            raise
        return None
    return plan if _is_sound(result) else None


def planned_spec(path: Path) -> PlannedSpec | None:
    """The plan of ``sound_plan`` with the files that it was read from."""
    with noting_reads() as read:
        plan = sound_plan(path)
    return None if plan is None else PlannedSpec(plan, read)


def plan_with_findings(path: Path) -> tuple[Plan, tuple[Finding, ...]]:
    """The plan of the spec at ``path`` and the findings of lint.

    Raises SpecError with the errors that leave no plan.
    """
    result, plan = lint_and_plan(path)
    return plan, result.findings
