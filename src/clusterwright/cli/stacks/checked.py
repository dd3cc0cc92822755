"""The check of an update: its preview, the refusal of broken proofs, and the record of a finished one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from clusterwright.finding import ClusterwrightError

if TYPE_CHECKING:  # imported on use: an update without changes needs no proofs
    from clusterwright.cli.stacks.options import ChosenStacks
    from clusterwright.rollout.audit import RecordedOverride
    from clusterwright.rollout.gates.selection import Gates
    from clusterwright.rollout.guard import Override
    from clusterwright.rollout.prepare import Prepared
    from clusterwright.rollout.preview.preview import Preview

OVERRIDES = ("accept_refuted", "skip_gate", "outside_window", "unapproved")
"""Options with an override, each in need of ``--because``."""
_SHORTEST_REASON = 10  # characters


def check_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options about disturbances and broken proofs of a change."""
    from clusterwright.rollout.gates.selection import GATES, JOBS

    decorators = (
        click.option(
            "--jobs",
            type=click.Path(path_type=Path, dir_okay=False),
            help="Running jobs, from `squeue --json` or `squeue --noheader --states=running --format='%i %j %N'`; "
            "without it the spec's jobs are placed.",
        ),
        click.option(
            "--accept-refuted",
            multiple=True,
            metavar="CHECK",
            help="Continue although this check fails after the change; needs --because; may be repeated.",
        ),
        click.option(
            "--skip-gate",
            type=click.Choice((JOBS, *GATES)),
            multiple=True,
            help="Skip this gate between waves; needs --because; may be repeated.",
        ),
        permission_options,
    )
    for decorate in reversed(decorators):
        command = decorate(command)
    return command


def permission_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options to override windows and approvals."""
    decorators = (
        click.option(
            "--outside-window",
            is_flag=True,
            help="Start waves although no window of the spec's `rollout:` is open; needs --because.",
        ),
        click.option(
            "--unapproved",
            is_flag=True,
            help="Continue without the approvals that the spec's `rollout:` requires; needs --because.",
        ),
        click.option("--because", default="", metavar="REASON", help="Your reason for it; recorded with your name."),
    )
    for decorate in reversed(decorators):
        command = decorate(command)
    return command


@dataclass(frozen=True, slots=True)
class CheckOptions:
    """The options about a change: the file of running ``jobs``, accepted checks, skipped gates, and the reason.

    ``outside_window`` and ``unapproved`` override the change windows and the approvals.
    Raises ClusterwrightError for an override without a reason, and for a reason without an override.
    """

    jobs: Path | None = None
    accept_refuted: tuple[str, ...] = ()
    skip_gate: tuple[str, ...] = ()
    outside_window: bool = False
    unapproved: bool = False
    because: str = ""

    @classmethod
    def taken_from(cls, options: dict[str, Any]) -> CheckOptions:
        """The options of a command line about the change, removed from ``options``."""
        names = [field.name for field in fields(cls) if field.name in options]
        return cls(**{name: options.pop(name) for name in names})

    def __post_init__(self) -> None:
        """See the class."""
        has_overrides = any(getattr(self, name) for name in OVERRIDES)
        _require_reason(is_override=has_overrides, because=self.because)

    @property
    def skipped(self) -> Mapping[str, str]:
        """The skipped gates in the order of the command line, each with the reason."""
        return dict.fromkeys(self.skip_gate, self.because.strip())


@dataclass(frozen=True, slots=True)
class CheckedPreview:
    """A preview with the overrides of its broken proofs."""

    preview: Preview
    overrides: tuple[Override, ...]

    @property
    def is_refused(self) -> bool:
        """Whether it breaks a proof without an override."""
        from clusterwright.rollout.guard import unanswered

        return bool(unanswered(self.preview.guarded, self.overrides))

    @property
    def text(self) -> str:
        """The preview as text, without its waves."""
        from clusterwright.rollout.preview.text import text_lines

        return "\n".join(text_lines(self.preview, self.overrides, shows_waves=False))

    def json(self, gates: Gates) -> str:
        """The preview as JSON, with the gates between its waves."""
        from clusterwright.rollout.preview.document import document
        from clusterwright.text.json_lines import dump_lines

        return dump_lines(document(self.preview, gates, self.overrides)).decode()

    @property
    def answers(self) -> tuple[RecordedOverride, ...]:
        """The overrides of refuted proofs, for the audit log."""
        from clusterwright.rollout.audit import RecordedOverride

        refuted = {proof.check for proof in self.preview.guarded.refusals}
        return tuple(
            RecordedOverride(f"refuted: {override.check}", override.reason, override.who)
            for override in self.overrides
            if override.check in refuted
        )

    def require_held(self) -> None:
        """Raises ClusterwrightError with the counterexamples of a refused change."""
        if self.is_refused:
            from clusterwright.rollout.preview.text import refusal_lines

            lines = "\n".join(refusal_lines(self.preview.guarded, self.overrides))
            raise ClusterwrightError(f"this change breaks proofs, and nothing was touched.\n{lines}")


def check_preview(site: ChosenStacks, prepared: Prepared, checking: CheckOptions) -> CheckedPreview:
    """The preview of ``prepared`` with the overrides of the command line. Raises ClusterwrightError."""
    from clusterwright.deploy.pulumi.units import cut
    from clusterwright.rollout.preview.preview import Change, preview
    from clusterwright.rollout.running_jobs import running_jobs

    overrides = _overrides(tuple(dict.fromkeys(checking.accept_refuted)), checking.because)
    running = running_jobs(checking.jobs, site.plan.by_name) if checking.jobs is not None else None
    change = Change(
        plan=site.plan,
        every=cut(site.plan),
        chosen=site.stacks,
        held=prepared.held,
        wanted=prepared.wanted,
        effects=prepared.effects,
        waves=prepared.waves,
        versions=site.target.secret_versions(),
        next_wave=len(prepared.rollout.finished) + 1,
        unbuilt=prepared.unbuilt,
        is_partial=bool(prepared.only),
        known_plans=site.known_plans,
    )
    return CheckedPreview(preview(change, site.root, running), overrides)


def note_done(site: ChosenStacks, prepared: Prepared, spec: str) -> None:
    """Record the stacks' content after every device took its tree, for the comparison of the next preview.

    ``spec`` is the digest of the spec, stored before the update. After an update with --device, the stacks hold the
    former spec, except for these devices.
    """
    from clusterwright.rollout.deployed import record, record_devices

    if prepared.only:
        for stack in site.stacks:
            trees = prepared.manifests[stack.name].trees
            record_devices(site.root, stack, {name: trees[name] for name in prepared.only if name in trees})
        return
    for stack in site.stacks:
        record(site.root, stack, spec, prepared.manifests[stack.name].trees)


def note_gone(site: ChosenStacks) -> None:
    """Remove the record of destroyed stacks."""
    from clusterwright.rollout.deployed import forget

    for stack in site.stacks:
        forget(site.root, stack)


def _overrides(checks: tuple[str, ...], because: str) -> tuple[Override, ...]:
    from clusterwright.rollout.audit import who
    from clusterwright.rollout.guard import Override, require_known

    require_known(checks)
    return tuple(Override(check, because.strip(), who()[0]) for check in checks)


def _require_reason(*, is_override: bool, because: str) -> None:
    """Raises ClusterwrightError for an override without a reason, and for a reason without an override."""
    if is_override != bool(because):
        raise ClusterwrightError(
            "--because REASON belongs to --accept-refuted CHECK, --skip-gate GATE, --outside-window or --unapproved: "
            "say what you answer for, and why. Nothing was touched."
        )
    if is_override and len(because.strip()) < _SHORTEST_REASON:
        raise ClusterwrightError(
            f'"{because}" is too short to be understood next month: write at least {_SHORTEST_REASON} '
            "characters. Nothing was touched."
        )
