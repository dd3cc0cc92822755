"""Infrastructure as code for GPU training clusters.

Data flows one way: spec -> plan -> render -> verify -> deploy -> observe. A module imports from the stages left of its
own in that line, and from none right of it.

These functions are the Python interface and are kept stable; the documentation lists the other public modules. Each
function imports its modules when it is called.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping
    from datetime import date
    from typing import Any

    from clusterwright.artifact import Artifact
    from clusterwright.plan.model import Plan
    from clusterwright.proofs.check import Verdict
    from clusterwright.rules.engine import LintResult
    from clusterwright.spec.model import ClusterSpec

__all__ = ["__version__", "inventory", "lint", "load", "plan", "render", "verify"]

__version__ = "0.2.0"


def load(path: str | os.PathLike[str]) -> ClusterSpec:
    """The cluster spec in the file at ``path``, with its hardware.

    Raises ``clusterwright.finding.SpecError``, whose ``findings`` are the errors reported by lint.
    """
    from pathlib import Path

    from clusterwright.rules.engine import load_sound

    return load_sound(Path(path))


def lint(
    paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    *,
    on: date | None = None,
    settings: bool = True,
) -> LintResult:
    """Lint files, and the specs and catalogues in folders, as ``clusterwright lint`` does.

    Expiry dates are checked as of the day ``on``; None checks none. The settings of the files' projects apply, unless
    ``settings`` is false. The result has ``findings``, ``suppressed``, ``not_judged`` and ``skipped``.

    Raises ``clusterwright.finding.ClusterwrightError`` for a path without files to check; mistakes in an existing file
    are findings.
    """
    from dataclasses import replace
    from os import PathLike
    from pathlib import Path

    from clusterwright.finding import SpecError
    from clusterwright.rules.engine import lint_paths, nothing_checked
    from clusterwright.rules.policy import AS_WRITTEN
    from clusterwright.rules.settings import NO_SETTINGS, settings_for
    from clusterwright.rules.spec_files import spec_files

    path_list = [paths] if isinstance(paths, str | PathLike) else paths
    try:
        project_settings = settings_for(Path()) if settings else NO_SETTINGS
    except SpecError as error:
        files = dict.fromkeys(finding.position.file for finding in error.findings)
        return nothing_checked(error.findings, tuple(files))
    selected = spec_files(tuple(str(path) for path in path_list), project_settings)
    result = lint_paths(selected.files, on, None if settings else AS_WRITTEN)
    return replace(result, skipped=selected.skipped)


def plan(spec: ClusterSpec) -> Plan:
    """The plan of ``spec``: every device, port, cable, address, AS number and rank."""
    from clusterwright.plan.build import build_plan

    return build_plan(spec)


def render(plan: Plan, devices: Iterable[str] | None = None) -> tuple[Artifact, ...]:
    """The files of ``devices``, by default of all: each with its device, path, content, mode and SHA-256.

    Raises KeyError for a device missing in ``plan``.
    """
    from clusterwright.output.rendering import Rendering

    return tuple(Rendering(plan).of_devices(devices))


def verify(subject: Plan | Iterable[Artifact]) -> Mapping[str, Verdict]:
    """Proofs of everything rendered for a plan, or of the artifacts alone, by the name of the check.

    Claims about intent, such as the members of a partition, are checked for a plan only. A verdict's ``word`` is
    "proven", "REFUTED" or "not proven"; ``counterexamples``, ``unjudged`` and ``facts`` give the reasons. Claims about
    text that does not parse are not proven.
    """
    from clusterwright.cli.proofs import prove
    from clusterwright.output.plain import PlainFiles
    from clusterwright.output.rendering import Rendering
    from clusterwright.plan.model import Plan
    from clusterwright.proofs.declaration import Declaration
    from clusterwright.proofs.registry import CHECKS, KINDS
    from clusterwright.proofs.tree import tree_of

    if isinstance(subject, Plan):
        artifacts = Rendering(subject).of_kinds(KINDS)
        tree = tree_of(subject.name, artifacts, Declaration(subject), plain=PlainFiles(subject))
    else:
        tree = tree_of("", subject)
    return {check.name: verdict for check, verdict in prove(tree, CHECKS)}


def inventory(plan: Plan, group: str | None = None) -> dict[str, Any]:
    """Devices, cables, addresses and totals of ``plan``, or of one of its groups, a pod for example.

    The document has the form of inventory.schema.json.

    Raises ``clusterwright.finding.ClusterwrightError`` for an unknown ``group``.
    """
    import json

    from clusterwright.lists.as_json import json_lines
    from clusterwright.lists.records import Inventory
    from clusterwright.report.figures import figures

    document: dict[str, Any] = json.loads("".join(json_lines(Inventory(plan, group), figures(plan))))
    return document
