"""``clusterwright preview``: the effects of an update, by the proofs and by Pulumi."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from clusterwright.cli.stacks.allowed import overdue_lines, permission
from clusterwright.cli.stacks.judged import Judging, judge, judging_options
from clusterwright.cli.stacks.options import (
    EXIT_FINDINGS,
    EXIT_INTERRUPTED,
    chosen_target,
    device_option,
    interruptible,
    open_site,
    rollback_option,
    stack_options,
    tell_ran,
)
from clusterwright.cli.terminal import progress

if TYPE_CHECKING:
    from clusterwright.deploy.pulumi.automation import Engine, Ran
    from clusterwright.deploy.pulumi.manifest import Manifest
    from clusterwright.deploy.pulumi.units import Stack

_EXIT_PENDING = 4


@click.command()
@stack_options
@device_option
@rollback_option
@click.option(
    "--save",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write what was shown, with a digest over every byte that it stands for, for `up --approved`.",
)
@click.option("--format", "form", type=click.Choice(("text", "json")), default="text", show_default=True)
@click.option("--engine/--no-engine", "by_engine", default=True, help="Have Pulumi preview its resources as well.")
@click.option(
    "--expect-no-changes", is_flag=True, help="Exit with 4 where something would change, as a nightly job asks."
)
@judging_options
def preview(
    *,
    save: Path | None,
    form: str,
    by_engine: bool,
    expect_no_changes: bool,
    jobs: Path | None,
    accept_refuted: tuple[str, ...],
    skip_gate: tuple[str, ...],
    outside_window: bool,
    unapproved: bool,
    because: str,
    **options: Any,
) -> int:
    """Show what would change on which device and why, what it disturbs, in which waves, and whether proofs hold.

    Exit status: 0 previewed, 1 errors in the spec, or a proof would break, 2 could not run, 3 failed on a stack, 4
    something would change (--expect-no-changes), 130 interrupted.
    """
    from clusterwright.deploy.pulumi.automation import Engine

    judging = Judging(
        jobs=jobs,
        accept_refuted=accept_refuted,
        skip_gate=skip_gate,
        outside_window=outside_window,
        unapproved=unapproved,
        because=because,
    )
    if form == "text" and save is None and (same := _unchanged(options)):
        click.echo(f"{same.cluster}: nothing changes", err=options["events"] == Path("-"))
        status, changes = _drive(same, options) if by_engine else (0, False)
        return _EXIT_PENDING if status == 0 and expect_no_changes and changes else status
    from clusterwright.cli.stacks.waves import waves_text
    from clusterwright.rollout import ledger
    from clusterwright.rollout.approval import save_approval
    from clusterwright.rollout.gates.selection import device_gates

    site = open_site(options, asks_for_secrets=False)
    if site is None:
        return EXIT_FINDINGS
    engine = Engine(site.deployment)
    before = ledger.load(site.root)
    prepared = site.prepare(engine, before)
    is_judged = form == "json" or not prepared.is_quiet
    judged = judge(site, prepared, judging) if is_judged else None
    devices, skipped = site.target.devices(), judging.skipped
    gates = device_gates(
        site.plan, devices, prepared.effects, rollout=prepared.rollout, root=site.root, skipped=skipped
    )
    parts = (judged.text if judged else "", waves_text(prepared, gates))
    text = "\n\n".join(filter(None, parts))
    shown = text or f"{site.plan.name}: nothing changes"
    if judged and form == "json":
        shown = judged.json(gates)
    click.echo(shown, err=options["events"] == Path("-"))
    if judged and judged.is_refused:
        return EXIT_FINDINGS
    for line in (*permission(site, prepared, judged, None).lines, *overdue_lines(site.spec)):
        click.echo(line, err=form == "json" or options["events"] == Path("-"))
    previewed = _Previewed(
        cluster=site.plan.name, stacks=site.stacks, manifests=prepared.manifests, engine=engine, devices=site.devices
    )
    status, changes = _drive(previewed, options) if by_engine else (0, False)
    if save and status == 0:
        save_approval(save, prepared, text)
        progress(f"saved to {save}: manifest {prepared.digest}")
    is_owed = any(image.keeps_former for image in prepared.unbuilt)
    pending = expect_no_changes and (changes or is_owed or not prepared.is_quiet)
    return _EXIT_PENDING if status == 0 and pending else status


@dataclass(frozen=True, slots=True)
class _Previewed:
    """The stacks of a cluster that Pulumi is to preview, with their manifests by the stacks' names.

    ``devices`` are those that are previewed alone; empty: all.
    """

    cluster: str
    stacks: tuple[Stack, ...]
    manifests: Mapping[str, Manifest]
    engine: Engine
    devices: frozenset[str] = frozenset()


def _unchanged(options: dict[str, Any]) -> _Previewed | None:
    """The stacks that the options name when nothing is to be done on any; None where the spec has to be read for that.

    Raises ClusterwrightError.
    """
    from clusterwright.deploy.pulumi.automation import Engine
    from clusterwright.deploy.pulumi.project import Deployment
    from clusterwright.deploy.pulumi.units import UPPER
    from clusterwright.rollout.unchanged import recalled, unchanged

    layers = ((UPPER,) if options["upper"] else ()) + tuple(dict.fromkeys(options["pods"]))
    if options["devices"] or options["to"]:  # compared device by device, or with another spec than the file's
        return None
    if not layers or len(set(layers) - {UPPER}) > 1:  # only the plan knows every layer, and the order of pods
        return None
    path, target = options["spec"], chosen_target(options)
    # A spec that says where its secrets come from is asked about as such: a note of the other kind is not believed.
    with_secrets = target if target.secrets else replace(target, secrets=path)
    for candidate in dict.fromkeys((target, with_secrets)):
        manifests = recalled(path, dict.fromkeys(layers), candidate)
        if manifests is None:
            continue
        candidate.carries(())  # a bad access file is refused before anything is touched
        engine = Engine(Deployment(path, candidate))
        if (stacks := unchanged(manifests, engine)) is None:
            return None
        by_stack = {manifest.stack: manifest for manifest in manifests}
        return _Previewed(cluster=manifests[0].cluster, stacks=stacks, manifests=by_stack, engine=engine)
    return None


def _drive(previewed: _Previewed, options: dict[str, Any]) -> tuple[int, bool]:
    """Pulumi's own preview of every stack, on the manifests that were shown: the exit status, and whether any of its
    resources would change.
    """
    from clusterwright.cli.stacks.progress import shown
    from clusterwright.deploy.pulumi.order import drive_stacks
    from clusterwright.deploy.pulumi.units import units_of_devices

    stacks, engine = previewed.stacks, previewed.engine
    progress(f"preview: {', '.join(stack.name for stack in stacks)}")
    with shown(options["events"]) as listen, interruptible(engine) as is_stopped:

        def run(stack: Stack) -> Ran:
            units = units_of_devices(stack, previewed.devices)
            return engine.run("preview", stack, listen, units, previewed.manifests[stack.name])

        ran = drive_stacks(stacks, run, options["parallel"], is_stopped=is_stopped)
    if is_stopped():
        click.echo("preview was interrupted", err=True)
        return EXIT_INTERRUPTED, False
    return tell_ran("preview", stacks, ran), any(stack_run.counts.keys() - {"same"} for stack_run in ran)
