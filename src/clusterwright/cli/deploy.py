"""``clusterwright preview``, ``refresh`` and ``destroy``: the Pulumi stacks of a spec, in order."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from clusterwright.cli.judged import Judging, judge, judging_options, note_gone
from clusterwright.cli.progress import shown
from clusterwright.cli.stacks import (
    EXIT_FINDINGS,
    EXIT_INTERRUPTED,
    Site,
    interruptible,
    open_site,
    stack_options,
    tell_ran,
)
from clusterwright.cli.waves import waves_text
from clusterwright.deploy.automation import Engine, Ran
from clusterwright.deploy.order import drive_stacks
from clusterwright.deploy.units import Stack
from clusterwright.rollout.approval import save_approval
from clusterwright.rollout.prepare import Prepared, prepare_update


@click.command()
@stack_options
@click.option(
    "--save",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write what was shown, with a digest over every byte that it stands for, for `up --approved`.",
)
@click.option("--format", "form", type=click.Choice(("text", "json")), default="text", show_default=True)
@click.option("--engine/--no-engine", "by_engine", default=True, help="Have Pulumi preview its resources as well.")
@judging_options
def preview(
    *,
    save: Path | None,
    form: str,
    by_engine: bool,
    jobs: Path | None,
    accept_refuted: tuple[str, ...],
    because: str,
    **options: Any,
) -> int:
    """Show what would change on which device and why, what it disturbs, in which waves, and whether proofs hold.

    Exit status: 0 previewed, 1 errors in the spec, or a proof would break, 2 could not run.
    """
    site = open_site(options, asks_for_secrets=False)
    if site is None:
        return EXIT_FINDINGS
    engine = Engine(site.deployment)
    prepared = prepare_update(site.plan, site.spec.rollout, site.target, engine, site.stacks)
    is_judged = form == "json" or not prepared.is_quiet
    judged = judge(site, prepared, Judging(jobs, accept_refuted, because)) if is_judged else None
    text = "\n\n".join(part for part in (judged.text if judged else "", waves_text(prepared)) if part)
    shows = judged.json if judged and form == "json" else text or f"{site.plan.name}: nothing changes"
    click.echo(shows, err=options["events"] == Path("-"))
    if judged and judged.is_refused:
        return EXIT_FINDINGS
    status = _drive("preview", site, engine, options, prepared) if by_engine else 0
    if save and status == 0:
        save_approval(save, prepared, text)
        click.echo(f"saved to {save}: manifest {prepared.digest}", err=True)
    return status


@click.command()
@stack_options
def refresh(**options: Any) -> int:
    """Ask the devices what they hold; the next preview shows what differs, the next up mends it."""
    site = open_site(options, asks_for_secrets=True)
    if site is None:
        return EXIT_FINDINGS
    engine = Engine(site.deployment)
    with site.alone("refresh"):
        return _drive("refresh", site, engine, options)


@click.command()
@stack_options
@click.option("--yes", is_flag=True, help="Do not ask for the cluster's name.")
def destroy(*, yes: bool, **options: Any) -> int:
    """Remove from the devices what was put there, and nothing else; the upper layer goes last."""
    site = open_site(options, asks_for_secrets=False)
    if site is None:
        return EXIT_FINDINGS
    if not yes:
        _confirm(site)
    engine = Engine(site.deployment)
    with site.alone("destroy"):
        status = _drive("destroy", site, engine, options)
        if status == 0:
            note_gone(site)
        return status


def _confirm(site: Site) -> None:
    devices = sum(len(unit.devices) for stack in site.stacks for unit in stack.units)
    told = f"This removes what was deployed on {devices} devices of {site.plan.name} in {len(site.stacks)} stacks."
    click.echo(told, err=True)
    if click.prompt("Type the cluster's name to go on", default="", show_default=False, err=True) != site.plan.name:
        raise click.ClickException("that is not the cluster's name; nothing was touched")


def _drive(action: str, site: Site, engine: Engine, options: dict[str, Any], prepared: Prepared | None = None) -> int:
    """The action over every stack. A preview runs on the manifests of ``prepared``."""
    click.echo(f"{action}: {', '.join(stack.name for stack in site.stacks)}", err=True)
    with shown(options["events"]) as listen, interruptible(engine) as is_stopped:

        def run(stack: Stack) -> Ran:
            manifest = prepared.manifests[stack.name].digest if prepared else ""
            return engine.run(action, stack, listen, manifest=manifest)

        at_once: int = options["parallel"]
        ran = drive_stacks(site.stacks, run, at_once, upper_last=action == "destroy", is_stopped=is_stopped)
    if is_stopped():
        click.echo(f"{action} was interrupted; the same command picks up what is left", err=True)
        return EXIT_INTERRUPTED
    return tell_ran(action, site.stacks, ran)
