"""An update with its preview: shown, refused where it breaks a proof, and noted once it is done."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from clusterwright.cli.stacks import Site
from clusterwright.deploy.units import cut
from clusterwright.finding import ClusterwrightError
from clusterwright.render.json_lines import dump_lines
from clusterwright.rollout.audit import Answer, who
from clusterwright.rollout.deployed import forget, record
from clusterwright.rollout.guard import Override, require_known, unanswered
from clusterwright.rollout.prepare import Prepared
from clusterwright.rollout.preview import Change, Preview, preview
from clusterwright.rollout.preview_document import document
from clusterwright.rollout.preview_text import refusal_lines, text_lines
from clusterwright.rollout.running_jobs import running_jobs

_SHORTEST_REASON = 10  # characters below which a reason says nothing


def judging_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options about what a change disturbs and breaks."""
    decorators = (
        click.option(
            "--jobs",
            type=click.Path(path_type=Path, dir_okay=False),
            help="The jobs that run, from `squeue --json` or `squeue --noheader --states=running --format='%i %j %N'`; "
            "without it the spec's jobs are placed.",
        ),
        click.option(
            "--accept-refuted",
            multiple=True,
            metavar="CHECK",
            help="Go on though the change breaks this proof; needs --because; may be repeated.",
        ),
        click.option("--because", default="", metavar="REASON", help="Why that is right; recorded with your name."),
    )
    for decorate in reversed(decorators):
        command = decorate(command)
    return command


@dataclass(frozen=True, slots=True)
class Judging:
    """What the command line says about it: the file of ``jobs`` that run, checks to accept, and why."""

    jobs: Path | None
    accept_refuted: tuple[str, ...]
    because: str


@dataclass(frozen=True, slots=True)
class Judged:
    """A preview with the answers that somebody gave for what it breaks."""

    preview: Preview
    overrides: tuple[Override, ...]

    @property
    def is_refused(self) -> bool:
        """Whether it breaks a proof that nobody answers for."""
        return bool(unanswered(self.preview.guarded, self.overrides))

    @property
    def text(self) -> str:
        """The preview as people read it, without its waves."""
        return "\n".join(text_lines(self.preview, self.overrides, shows_waves=False))

    @property
    def json(self) -> str:
        """The preview as programs read it."""
        return dump_lines(document(self.preview, self.overrides)).decode()

    @property
    def answers(self) -> tuple[Answer, ...]:
        """The overrides of what is refuted, for the audit log."""
        refuted = {proof.check for proof in self.preview.guarded.refusals}
        return tuple(
            Answer(f"refuted: {each.check}", each.reason, each.who) for each in self.overrides if each.check in refuted
        )

    def require_held(self) -> None:
        """Raises ClusterwrightError, with the counterexamples, when it is refused."""
        if self.is_refused:
            lines = "\n".join(refusal_lines(self.preview.guarded, self.overrides))
            raise ClusterwrightError(f"this change breaks proofs that held, and nothing was touched.\n{lines}")


def judge(site: Site, prepared: Prepared, judging: Judging) -> Judged:
    """The preview of ``prepared`` with the answers of the command line. Raises ClusterwrightError."""
    overrides = _overrides(tuple(dict.fromkeys(judging.accept_refuted)), judging.because)
    running = running_jobs(judging.jobs, site.plan.by_name) if judging.jobs is not None else None
    change = Change(
        plan=site.plan,
        every=cut(site.plan),
        chosen=site.stacks,
        held={name: digest for given in prepared.given.values() for name, digest in given.trees.items()},
        wanted={name: digest for each in prepared.manifests.values() for name, digest in each.trees.items()},
        effects=prepared.effects,
        waves=prepared.waves,
    )
    return Judged(preview(change, site.root, running), overrides)


def note_done(site: Site, prepared: Prepared) -> None:
    """Notes what the stacks hold now that every device took its tree: the next preview compares with it."""
    for stack in site.stacks:
        record(site.root, stack, site.spec, prepared.manifests[stack.name].trees)


def note_gone(site: Site) -> None:
    """Drops the notes about stacks that were destroyed."""
    for stack in site.stacks:
        forget(site.root, stack)


def _overrides(checks: tuple[str, ...], because: str) -> tuple[Override, ...]:
    require_known(checks)
    if bool(checks) != bool(because):
        raise ClusterwrightError(
            "--accept-refuted CHECK and --because REASON belong together: say both. Nothing was touched."
        )
    if checks and len(because.strip()) < _SHORTEST_REASON:
        raise ClusterwrightError(
            f'"{because}" is no reason that anybody will understand next month: write at least {_SHORTEST_REASON} '
            "characters. Nothing was touched."
        )
    return tuple(Override(check, because.strip(), who()[0]) for check in checks)
