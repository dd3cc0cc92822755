"""The plan of a spec file: without errors for commands that write or prove, or with all findings for other commands."""

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
    """The plan of a spec without errors of lint."""

    plan: Plan
    read: Mapping[Path, frozenset[str]]
    """The files of the spec, each with the SHA-256 of its content."""


def sound_spec(path: Path) -> ClusterSpec | None:
    """The spec at ``path``; None for errors of lint, with all findings printed on standard error."""
    return load_spec(path) if _is_sound(lint_path(path)) else None


def _is_sound(result: LintResult) -> bool:
    if result.errors:
        echo_styled(render_text(result, source_line, colour=wants_colour(sys.stderr)), err=True)
    return not result.errors


def sound_plan(path: Path) -> Plan | None:
    """The plan of the spec at ``path``; None for errors of lint, as in ``sound_spec``."""
    try:
        result, plan = lint_and_plan(path)
    except SpecError:
        if _is_sound(lint_path(path)):
            raise
        return None
    return plan if _is_sound(result) else None


def planned_spec(path: Path) -> PlannedSpec | None:
    """The plan of ``sound_plan`` with its source files."""
    with noting_reads() as read:
        plan = sound_plan(path)
    return None if plan is None else PlannedSpec(plan, read)


def plan_with_findings(path: Path) -> tuple[Plan, tuple[Finding, ...]]:
    """The plan of the spec at ``path`` and the findings of lint.

    Raises SpecError for errors that prevent a plan.
    """
    result, plan = lint_and_plan(path)
    return plan, result.findings
