"""From a spec's path to its plan: only a sound one for commands that write or prove; and for those that only read, with
all findings, stopped by as few as possible.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

import clusterwright
from clusterwright.cli.formats.text import render_text, wants_colour
from clusterwright.cli.source_lines import source_line
from clusterwright.rules.engine import lint_path, load_plannable
from clusterwright.spec.load import load_spec

if TYPE_CHECKING:
    from pathlib import Path

    from clusterwright.finding import Finding
    from clusterwright.plan.model import Plan
    from clusterwright.spec.model import ClusterSpec


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
    return None if spec is None else clusterwright.plan(spec)


def plan_with_findings(path: Path) -> tuple[Plan, tuple[Finding, ...]]:
    """The plan of the spec at ``path`` and what lint finds. Raises SpecError with the errors that leave no plan."""
    spec, findings = load_plannable(path)
    return clusterwright.plan(spec), findings
