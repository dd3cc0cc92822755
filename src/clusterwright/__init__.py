"""Infrastructure as code for GPU training clusters.

Data flows one way: spec -> plan -> render -> verify -> deploy -> observe. A module knows what stands left of it in that
line and nothing right of it.

These functions are the Python interface, and are kept stable; what else is public is said on its page of the docs. Each
imports what it needs when it is called.
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
    """The cluster spec in the file at ``path``, with the hardware that it names.

    Raises ``clusterwright.finding.SpecError``, whose ``findings`` are the errors that lint finds in it.
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
    """What is wrong with files, and with the specs and catalogues in folders, as ``clusterwright lint`` finds it.

    Expiry dates are judged as of the day ``on``; None judges none. The settings of the projects in which the files lie
    count, unless ``settings`` is false. The result has ``findings``, ``suppressed``, ``not_judged`` and ``skipped``.

    Raises ``clusterwright.finding.ClusterwrightError`` for a path that holds nothing to be checked; what is wrong with
    a file that is there is a finding.
    """
    from dataclasses import replace
    from os import PathLike
    from pathlib import Path

    from clusterwright.finding import SpecError
    from clusterwright.rules.engine import lint_paths, nothing_judged
    from clusterwright.rules.policy import AS_WRITTEN
    from clusterwright.rules.settings import NO_SETTINGS, settings_for
    from clusterwright.rules.spec_files import spec_files

    several = [paths] if isinstance(paths, str | PathLike) else paths
    try:
        own = settings_for(Path()) if settings else NO_SETTINGS
    except SpecError as error:
        return nothing_judged(error.findings, tuple(dict.fromkeys(finding.position.file for finding in error.findings)))
    chosen = spec_files(tuple(str(path) for path in several), own)
    return replace(lint_paths(chosen.files, on, None if settings else AS_WRITTEN), skipped=chosen.skipped)


def plan(spec: ClusterSpec) -> Plan:
    """Every device, port, cable, address, AS number and rank that follows from ``spec``."""
    from clusterwright.plan.build import build_plan

    return build_plan(spec)


def render(plan: Plan, devices: Iterable[str] | None = None) -> tuple[Artifact, ...]:
    """The files of ``devices``, of all when left out: each with its device, path, content, mode and SHA-256.

    Raises KeyError for a device that ``plan`` does not have.
    """
    from clusterwright.output.rendering import Rendering

    return tuple(Rendering(plan).of_devices(devices))


def verify(subject: Plan | Iterable[Artifact]) -> Mapping[str, Verdict]:
    """The proofs of everything that is rendered for a plan, or of the artifacts alone, by the name of the check.

    What a declaration must tell, such as who belongs in a partition, can be judged of a plan only. A verdict says in
    ``word`` whether its claim is proven, REFUTED or not proven, and why: ``counterexamples``, ``unjudged``, ``facts``.
    Text that does not parse leaves the claims about it not proven.
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
    """Devices, cables, addresses and totals of ``plan``, or of one of its pods (or other groups), as
    inventory.schema.json describes them.

    Raises ``clusterwright.finding.ClusterwrightError`` for a ``group`` that ``plan`` does not have.
    """
    import json

    from clusterwright.lists.as_json import json_lines
    from clusterwright.lists.records import Inventory
    from clusterwright.report.figures import figures

    document: dict[str, Any] = json.loads("".join(json_lines(Inventory(plan, group), figures(plan))))
    return document
