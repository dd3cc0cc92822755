"""Whether devices may be cleared now: the same windows and approvals as for an update, over a list of devices."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from clusterwright.and_more import and_more
from clusterwright.cli.stacks.allowed import answers, asked_by
from clusterwright.finding import ClusterwrightError

if TYPE_CHECKING:
    from clusterwright.cli.stacks.judged import Judging
    from clusterwright.cli.stacks.options import ChosenStacks
    from clusterwright.deploy.pulumi.given import Given
    from clusterwright.rollout.approval import Approved, Signature
    from clusterwright.rollout.audit import RecordedOverride
    from clusterwright.spec.rollout import RolloutPolicy

_SHOWN = 8


@dataclass(frozen=True, slots=True)
class Permitted:
    """The recorded part of a permission: the ``text`` that was shown, its signers, and the overrides."""

    text: str = ""
    signatures: tuple[Signature, ...] = ()
    answers: tuple[RecordedOverride, ...] = ()


NOTHING_ASKED = Permitted()
"""For an action that changes no device."""


def given_trees(before: Mapping[str, Given]) -> dict[str, str]:
    """The digest of each device's last tree, from the state of its stack."""
    trees: dict[str, str] = {}
    for given in before.values():
        trees.update(given.trees)
    return trees


def clearing(site: ChosenStacks, before: Mapping[str, Given]) -> Approved:
    """The removal, to be signed. No approval of an update has the same digests."""
    from clusterwright.rollout.approval import Approved

    manifests = {name: given.manifest for name, given in before.items()}
    trees = given_trees(before)
    lines = [f"destroy: {len(trees)} devices of {site.plan.name} lose what was deployed on them"]
    for stack, given in before.items():
        lines.append(f"  {stack}: {and_more(sorted(given.trees), _SHOWN)}")
    return Approved(
        manifest=digest_of({"destroy": site.plan.name, **manifests}),
        base=digest_of(trees),
        manifests=manifests,
        text="\n".join(lines),
    )


def require_clearing_allowed(site: ChosenStacks, wanted: Approved, *, file: Path | None, judging: Judging) -> Permitted:
    """Raises ClusterwrightError where a window is closed or an approval is missing, and nobody answers for it."""
    from clusterwright.rollout.approval import NotApprovedError, load_approval
    from clusterwright.rollout.audit import who

    approved = load_approval(file) if file else None
    if approved and (approved.manifest, approved.base) != (wanted.manifest, wanted.base):
        raise NotApprovedError(
            f"{file} approves something else than what would be removed now. Nothing was touched. "
            "`destroy --save FILE` writes what is to be approved."
        )
    allowed = asked_by((*_policies_in_force(site), site.spec.rollout), approved, needs_window=True)
    if allowed.missing and not judging.unapproved:
        raise NotApprovedError(
            f"{allowed.missing}. Nothing was touched. `destroy --save FILE` writes what is to be approved, "
            "`clusterwright approve FILE` signs it, `destroy --approved FILE` removes it; --unapproved --because "
            '"why" answers for it alone.'
        )
    if approved and allowed.policies and not judging.unapproved and approved.text != wanted.text:
        raise NotApprovedError("the text that was signed is not what would be removed. Nothing was touched.")
    if allowed.opening and not judging.outside_window:
        raise ClusterwrightError(
            f"nothing may be removed now: the next window of the spec's `rollout:` opens {allowed.opening}. "
            'Nothing was touched. --outside-window --because "why" answers for it.'
        )
    signatures = approved.signatures if approved else ()
    return Permitted(wanted.text, signatures, tuple(answers(allowed, judging, who()[0])))


def digest_of(values: Mapping[str, str]) -> str:
    """One digest over names and their values."""
    return hashlib.sha256("".join(f"{name}\0{value}\n" for name, value in sorted(values.items())).encode()).hexdigest()


def _policies_in_force(site: ChosenStacks) -> tuple[RolloutPolicy, ...]:
    """Those of the specs that stacks were brought to last, as far as this program still reads them."""
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
