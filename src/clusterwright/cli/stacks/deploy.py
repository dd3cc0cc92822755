"""``clusterwright preview``: the effects of an update, from the proofs and from Pulumi."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from clusterwright.cli.stacks.allowed import overdue_lines, permission
from clusterwright.cli.stacks.checked import CheckOptions, check_options, check_preview
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
    help="Write the preview, with a digest over every byte to send, for `up --approved`.",
)
@click.option("--format", "form", type=click.Choice(("text", "json")), default="text", show_default=True)
@click.option("--engine/--no-engine", "by_engine", default=True, help="Have Pulumi preview its resources as well.")
@click.option("--expect-no-changes", is_flag=True, help="Exit with 4 if something would change, for scheduled jobs.")
@check_options
def preview(
    *,
    save: Path | None,
    form: str,
    by_engine: bool,
    expect_no_changes: bool,
    **options: Any,
) -> int:
    """Show the changes of each device with their reasons, disturbances and waves, and whether proofs hold.

    Exit status: 0 previewed, 1 errors in the spec, or a proof would break, 2 could not run, 3 failed on a stack, 4
    something would change (--expect-no-changes), 130 interrupted.
    """
    from clusterwright.deploy.pulumi.automation import Engine

    checking = CheckOptions.taken_from(options)
    is_stdout_used = options["events"] == Path("-")
    unchanged = _unchanged(options) if form == "text" and save is None else None
    if unchanged is not None:
        click.echo(f"{unchanged.cluster}: nothing changes", err=is_stdout_used)
        status, changes = _drive(unchanged, options) if by_engine else (0, False)
        return _EXIT_PENDING if status == 0 and expect_no_changes and changes else status
    from clusterwright.cli.stacks.waves import update_text
    from clusterwright.rollout import ledger
    from clusterwright.rollout.approval import save_approval
    from clusterwright.rollout.gates.selection import device_gates

    site = open_site(options, asks_for_secrets=False)
    if site is None:
        return EXIT_FINDINGS
    engine = Engine(site.deployment)
    before = ledger.load(site.root)
    prepared = site.prepare(engine, before)
    is_checked = form == "json" or not prepared.is_quiet
    checked = check_preview(site, prepared, checking) if is_checked else None
    devices, skipped = site.target.devices(), checking.skipped
    gates = device_gates(
        site.plan, devices, prepared.effects, rollout=prepared.rollout, root=site.root, skipped=skipped
    )
    text = update_text(checked, prepared, gates)
    shown = text or f"{site.plan.name}: nothing changes"
    if checked and form == "json":
        shown = checked.json(gates)
    click.echo(shown, err=is_stdout_used)
    if checked and checked.is_refused:
        return EXIT_FINDINGS
    for line in (*permission(site, prepared, checked, None).lines, *overdue_lines(site.spec)):
        click.echo(line, err=form == "json" or is_stdout_used)
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
    """Stacks of a cluster to preview in Pulumi, with their manifests by the stacks' names.

    ``devices`` are the only ones to preview; empty: all.
    """

    cluster: str
    stacks: tuple[Stack, ...]
    manifests: Mapping[str, Manifest]
    engine: Engine
    devices: frozenset[str] = frozenset()


def _unchanged(options: dict[str, Any]) -> _Previewed | None:
    """The selected stacks if none has a change, by the notes of an earlier run; None where the spec has to be read.

    Raises ClusterwrightError.
    """
    from clusterwright.deploy.pulumi.automation import Engine
    from clusterwright.deploy.pulumi.project import Deployment
    from clusterwright.deploy.pulumi.units import UPPER
    from clusterwright.rollout.unchanged import recalled, unchanged

    layers = list(dict.fromkeys(options["pods"]))
    if options["upper"]:
        layers.insert(0, UPPER)
    if options["devices"] or options["to"]:  # compared device by device, or with another spec than the file's
        return None
    if not layers or len(set(layers) - {UPPER}) > 1:  # only the plan has every layer, and the order of pods
        return None
    path, target = options["spec"], chosen_target(options)
    # A note is valid for one source of secrets: the option's, or the spec's own.
    with_secrets = target if target.secrets else replace(target, secrets=path)
    for candidate in dict.fromkeys((target, with_secrets)):
        manifests = recalled(path, dict.fromkeys(layers), candidate)
        if manifests is None:
            continue
        candidate.carries(())  # a bad access file is refused before anything is touched
        engine = Engine(Deployment(path, candidate))
        stacks = unchanged(manifests, engine)
        if stacks is None:
            return None
        by_stack = {manifest.stack: manifest for manifest in manifests}
        return _Previewed(cluster=manifests[0].cluster, stacks=stacks, manifests=by_stack, engine=engine)
    return None


def _drive(previewed: _Previewed, options: dict[str, Any]) -> tuple[int, bool]:
    """Run Pulumi's preview of every stack; the exit status, and whether any resource would change."""
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
    has_changes = any(stack_run.counts.keys() - {"same"} for stack_run in ran)
    return tell_ran("preview", stacks, ran), has_changes
