"""The input of proofs: a spec, rendered in memory, or a folder."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING

from clusterwright.finding import ClusterwrightError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from clusterwright.plan.model import Plan
    from clusterwright.proofs.check import ProofCheck
    from clusterwright.proofs.tree import RenderedTree


def rendered_tree(spec: Path, checks: Sequence[ProofCheck]) -> RenderedTree | None:
    """The input of checks, rendered in memory; None after printing errors of the spec."""
    from clusterwright.cli.planning import sound_plan

    plan = sound_plan(spec)
    return None if plan is None else tree_of_plan(plan, checks)


def tree_of_plan(plan: Plan, checks: Sequence[ProofCheck]) -> RenderedTree:
    """The input of checks for a plan, rendered in memory."""
    from clusterwright.output.plain import PlainFiles
    from clusterwright.output.rendering import Rendering
    from clusterwright.proofs.declaration import Declaration
    from clusterwright.proofs.tree import tree_of

    kinds = set(chain.from_iterable(check.kinds for check in checks))
    files_by_device, images = Rendering(plan).of_kinds_by_image(kinds)
    shared = ((image.members, image.files) for image in images)
    tree = tree_of(plan.name, files_by_device, Declaration(plan), shared, PlainFiles(plan))
    return replace(tree, read_by_none=_read_by_none(plan), untried=_untried(plan))


def tree_in_folder(folder: Path, spec: Path | None, checks: Sequence[ProofCheck]) -> RenderedTree | None:
    """The input of checks from a folder and a spec; None after printing errors of the spec."""
    from clusterwright.cli.planning import sound_plan
    from clusterwright.proofs.folder import read_folder

    if spec is None:
        return read_folder(folder, set(chain.from_iterable(check.kinds_in_folder for check in checks)))
    plan = sound_plan(spec)
    return None if plan is None else tree_in_folder_of_plan(folder, plan, str(spec), checks)


def tree_in_folder_of_plan(folder: Path, plan: Plan, spec_name: str, checks: Sequence[ProofCheck]) -> RenderedTree:
    """The input of checks from a folder and a plan. Raises ClusterwrightError for another cluster's."""
    from clusterwright.output.plain import PlainFiles
    from clusterwright.output.rendering import Rendering
    from clusterwright.proofs.declaration import Declaration
    from clusterwright.proofs.folder import read_folder
    from clusterwright.proofs.registry import CHECKS
    from clusterwright.proofs.tree import rendering_of

    kinds = set(chain.from_iterable(check.kinds_in_folder for check in checks))
    everything = set(chain.from_iterable(check.checked_kinds for check in CHECKS))
    needed = kinds if len(checks) < len(CHECKS) else None
    images = ((image.members, image.files) for image in Rendering(plan).images())
    owners = (*plan.by_name, *{artifact.device for artifact in Rendering(plan).of_site()})
    rendering = rendering_of(
        plan.name, Rendering(plan).of_devices_alone(), owners, kinds=everything, needed=needed, images=images
    )
    tree = read_folder(folder, kinds, Declaration(plan), rendering)
    if tree.cluster != plan.name:
        raise ClusterwrightError(
            f'{folder}: was rendered for the cluster "{tree.cluster}", {spec_name} describes "{plan.name}". '
            "Name its spec."
        )
    return replace(
        tree, plain=PlainFiles(plan), read_by_none=Rendering(plan).other_kinds(everything), untried=_untried(plan)
    )


def _read_by_none(plan: Plan) -> tuple[str, ...]:
    """The kinds of a plan's files outside of all claims about files rendered in memory."""
    from clusterwright.output.rendering import Rendering
    from clusterwright.proofs.registry import KINDS

    return Rendering(plan).other_kinds(KINDS)


def _untried(plan: Plan) -> tuple[str, ...]:
    """Choices of a plan's spec with rendered files never read by their program in a test."""
    from clusterwright.spec.choices.chosen import choices_of

    return tuple(chosen.title for chosen in choices_of(plan.spec) if chosen.walk.is_untried)
