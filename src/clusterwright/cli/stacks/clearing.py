"""Windows and approvals for the removal of deployed files from devices, as for an update."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from clusterwright.and_more import and_more
from clusterwright.cli.stacks.allowed import permission_by, recorded_overrides
from clusterwright.finding import ClusterwrightError

if TYPE_CHECKING:
    from clusterwright.cli.stacks.checked import CheckOptions
    from clusterwright.cli.stacks.options import ChosenStacks
    from clusterwright.deploy.pulumi.recorded_stack import RecordedStack
    from clusterwright.rollout.approval import Approved, Signature
    from clusterwright.rollout.audit import RecordedOverride
    from clusterwright.spec.rollout import RolloutPolicy

_SHOWN = 8


@dataclass(frozen=True, slots=True)
class RecordedPermission:
    """The recorded part of a permission: the shown ``text``, its signers, and the overrides."""

    text: str = ""
    signatures: tuple[Signature, ...] = ()
    answers: tuple[RecordedOverride, ...] = ()


NO_PERMISSION_NEEDED = RecordedPermission()
"""For an action that changes no device."""


def trees_by_device(before: Mapping[str, RecordedStack]) -> dict[str, str]:
    """The digest of each device's last tree, from the state of its stack."""
    trees: dict[str, str] = {}
    for given in before.values():
        trees.update(given.trees)
    return trees


def removal(site: ChosenStacks, before: Mapping[str, RecordedStack]) -> Approved:
    """The removal as a document to sign. Its digests differ from those of any update."""
    from clusterwright.rollout.approval import Approved

    manifests = {name: given.manifest for name, given in before.items()}
    trees = trees_by_device(before)
    lines = [f"destroy: {len(trees)} devices of {site.plan.name} lose their deployed files"]
    for stack, given in before.items():
        lines.append(f"  {stack}: {and_more(sorted(given.trees), _SHOWN)}")
    return Approved(
        manifest=digest_of({"destroy": site.plan.name, **manifests}),
        base=digest_of(trees),
        manifests=manifests,
        text="\n".join(lines),
    )


def require_clearing_allowed(
    site: ChosenStacks, removal_document: Approved, *, file: Path | None, checking: CheckOptions
) -> RecordedPermission:
    """Raises ClusterwrightError for a closed window or a missing approval without an override."""
    from clusterwright.rollout.approval import NotApprovedError, load_approval
    from clusterwright.rollout.audit import who

    approved = load_approval(file) if file else None
    if approved and (approved.manifest, approved.base) != (removal_document.manifest, removal_document.base):
        raise NotApprovedError(
            f"{file} approves the removal of other files. Nothing was touched. "
            "`destroy --save FILE` writes what is to be approved."
        )
    allowed = permission_by((*_policies_in_force(site), site.spec.rollout), approved, needs_window=True)
    if allowed.missing and not checking.unapproved:
        raise NotApprovedError(
            f"{allowed.missing}. Nothing was touched. `destroy --save FILE` writes what is to be approved, "
            "`clusterwright approve FILE` signs it, `destroy --approved FILE` removes it; --unapproved --because "
            '"why" answers for it alone.'
        )
    if approved and allowed.policies and not checking.unapproved and approved.text != removal_document.text:
        raise NotApprovedError("the text that was signed is not what would be removed. Nothing was touched.")
    if allowed.opening and not checking.outside_window:
        raise ClusterwrightError(
            f"nothing may be removed now: the next window of the spec's `rollout:` opens {allowed.opening}. "
            'Nothing was touched. --outside-window --because "why" answers for it.'
        )
    signatures = approved.signatures if approved else ()
    return RecordedPermission(removal_document.text, signatures, tuple(recorded_overrides(allowed, checking, who()[0])))


def digest_of(values: Mapping[str, str]) -> str:
    """One digest over names and their values."""
    return hashlib.sha256("".join(f"{name}\0{value}\n" for name, value in sorted(values.items())).encode()).hexdigest()


def _policies_in_force(site: ChosenStacks) -> tuple[RolloutPolicy, ...]:
    """The policies of the deployed specs, as far as this version of the program can read them."""
    from clusterwright.deploy.store import MissingObject, Store
    from clusterwright.rollout.deployed import kept_spec, specs_in_force
    from clusterwright.spec.load import load_spec

    policies: list[RolloutPolicy] = []
    for digest in sorted(specs_in_force(site.root)):
        try:
            with kept_spec(Store(site.root / "objects"), digest) as path:
                policies.append(load_spec(path).rollout)
        except MissingObject:
            click.echo("the spec in force is lost or damaged: the policy of this spec alone is asked", err=True)
        except ClusterwrightError as error:
            why = str(error).splitlines()[0]
            click.echo(f"the spec in force cannot be read ({why}): the policy of this spec alone is asked", err=True)
    return tuple(policies)
