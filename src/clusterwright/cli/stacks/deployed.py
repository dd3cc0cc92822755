"""``clusterwright refresh`` and ``destroy``: read the devices' content, or clear them, and record the result."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import click

from clusterwright.and_more import and_more
from clusterwright.cli.stacks.checked import CheckOptions, note_gone, permission_options
from clusterwright.cli.stacks.clearing import (
    NO_PERMISSION_NEEDED,
    RecordedPermission,
    digest_of,
    removal,
    require_clearing_allowed,
    trees_by_device,
)
from clusterwright.cli.stacks.options import (
    EXIT_FINDINGS,
    EXIT_INTERRUPTED,
    ChosenStacks,
    device_option,
    interruptible,
    open_site,
    stack_options,
    tell_ran,
)
from clusterwright.cli.terminal import is_quiet, progress
from clusterwright.finding import ClusterwrightError

if TYPE_CHECKING:
    from clusterwright.deploy.pulumi.automation import Engine, Ran
    from clusterwright.deploy.pulumi.events import Event
    from clusterwright.deploy.pulumi.manifest import Manifest
    from clusterwright.deploy.pulumi.recorded_stack import RecordedStack
    from clusterwright.deploy.pulumi.units import Stack
    from clusterwright.rollout.approval import Approved
    from clusterwright.rollout.audit import Approval
    from clusterwright.rollout.execution import Result
    from clusterwright.rollout.stack_change import StackChange

_SHOWN = 5

_reason_option = click.option(
    "--reason",
    default="",
    envvar="CLUSTERWRIGHT_REASON",
    help="Reason for the audit log; CLUSTERWRIGHT_REASON does the same.",
)


@click.command()
@stack_options
@device_option
@_reason_option
def refresh(*, reason: str, **options: Any) -> int:
    """Read the files of the devices; the next preview shows the differences, the next up fixes them.

    Running devices of stacks without a state are recorded as they are: no file is changed. With --device, the other
    devices in its rack are read too.

    Exit status: 0 read, 1 errors in the spec, 2 could not run, 3 failed on a stack, 130 interrupted.
    """
    from clusterwright.deploy.pulumi.automation import Engine

    site = open_site(options, asks_for_secrets=True)
    if site is None:
        return EXIT_FINDINGS
    engine = Engine(site.deployment)
    recorded = engine.known()
    adopted = _adopted(site, engine.all_given(site.stacks))
    deployed = _deployed(site, recorded | adopted.keys())
    if not deployed.stacks:
        return 0
    if site.spec.rollout.windows or site.spec.rollout.approvers:
        click.echo("refresh changes no device: it needs no window and no approval", err=True)
    with closing(engine), site.alone("refresh"):
        return _drive("refresh", deployed, engine, reason=reason, options=options, adopted=adopted)


@click.command()
@stack_options
@_reason_option
@click.option("--yes", is_flag=True, help="Do not prompt for the cluster's name.")
@click.option(
    "--save",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Remove nothing: write a preview of the removal, for `clusterwright approve`.",
)
@click.option(
    "--approved",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Remove exactly the files of this `destroy --save` preview, or nothing.",
)
@permission_options
def destroy(
    *,
    reason: str,
    yes: bool,
    save: Path | None,
    approved: Path | None,
    **options: Any,
) -> int:
    """Remove the deployed files from the devices, and nothing else; the upper layer goes last.

    It starts within the windows of the spec's `rollout:` and with its approvals, as `up` does.

    Exit status: 0 removed, 1 errors in the spec, 2 refused, 3 failed on a stack, 130 interrupted.
    """
    from clusterwright.deploy.pulumi.automation import Engine
    from clusterwright.deploy.pulumi.order import require_none_left
    from clusterwright.deploy.pulumi.units import cut

    checking = CheckOptions.taken_from(options)
    site = open_site(options, asks_for_secrets=False)
    if site is None:
        return EXIT_FINDINGS
    engine = Engine(site.deployment)
    recorded = engine.known()
    require_none_left(site.stacks, cut(site.plan), recorded)
    deployed = _deployed(site, recorded)
    if not deployed.stacks:
        return 0
    with closing(engine), site.alone("destroy"):
        removal_document = removal(deployed, engine.all_given(deployed.stacks))
        if save:
            return _save(save, removal_document)
        permitted = require_clearing_allowed(deployed, removal_document, file=approved, checking=checking)
        if not yes:
            _confirm(deployed)
        why = reason or _asked_why()
        status = _drive("destroy", deployed, engine, reason=why, options=options, permitted=permitted)
        if status == 0:
            note_gone(deployed)
        return status


@dataclass(frozen=True, slots=True)
class _Adopted:
    """Running devices of a stack without a state: ``running``, their ``units``, and their manifest."""

    running: frozenset[str]
    units: tuple[str, ...]
    manifest: Manifest


def _adopted(site: ChosenStacks, given: Mapping[str, RecordedStack]) -> dict[str, _Adopted]:
    """Running devices without a state, by stack; none with --device.

    Devices out of service are not queried. Raises ClusterwrightError.
    """
    from clusterwright.deploy.pulumi.rendering import make_manifests
    from clusterwright.plan.service import OUT_OF_SERVICE
    from clusterwright.rollout.running import ask_devices

    if site.devices:
        return {}
    trees: dict[str, Mapping[str, str]] = {}
    unknown: list[str] = []
    for stack in site.stacks:
        trees[stack.name] = given[stack.name].trees if stack.name in given else {}
        without_tree = [name for name in stack.devices if name not in trees[stack.name]]
        unknown += [name for name in without_tree if site.plan.by_name[name].state != OUT_OF_SERVICE]
    asked = ask_devices(site.target, unknown)
    if asked.silent:
        click.echo(
            f"{len(asked.silent)} devices did not answer, and are not taken up: {and_more(asked.silent, _SHOWN)}. They "
            "count as new until `refresh` reaches them",
            err=True,
        )
    running = asked.running
    stacks = [stack for stack in site.stacks if not running.isdisjoint(stack.devices)]
    if not stacks:
        return {}
    manifests = make_manifests(site.plan, site.target, stacks, site.source)
    click.echo(f"taken up as they are: {len(running)} devices that no state knows of", err=True)
    adopted: dict[str, _Adopted] = {}
    for stack in stacks:
        adopted[stack.name] = _Adopted(
            running=running.intersection(stack.devices),
            units=tuple(unit.name for unit in stack.units if not running.isdisjoint(unit.devices)),
            manifest=manifests[stack.name].alone(running, trees[stack.name]),
        )
    return adopted


def _deployed(site: ChosenStacks, recorded: frozenset[str]) -> ChosenStacks:
    """The site with its deployed stacks only; the others are reported."""
    absent = [stack.name for stack in site.stacks if stack.name not in recorded]
    if absent:
        click.echo(f"not deployed, and left out: {', '.join(absent)}", err=True)
    return replace(site, stacks=tuple(stack for stack in site.stacks if stack.name in recorded))


def _save(file: Path, removal_document: Approved) -> int:
    """Write the removal as a document to sign."""
    from clusterwright.rollout.approval import write_approval

    write_approval(file, removal_document)
    click.echo(removal_document.text)
    click.echo(f"saved to {file}: nothing was touched", err=True)
    return 0


def _confirm(site: ChosenStacks) -> None:
    devices = sum(len(stack.devices) for stack in site.stacks)
    question = f"This removes the deployed files of {devices} devices of {site.plan.name} in {len(site.stacks)} stacks."
    click.echo(question, err=True)
    if click.prompt("Type the cluster's name to go on", default="", show_default=False, err=True) != site.plan.name:
        raise click.ClickException("that is not the cluster's name; nothing was touched")


def _asked_why() -> str:
    if not sys.stdin.isatty():
        raise ClusterwrightError(
            'devices would be cleared: say why for the audit log, with --reason "why" or CLUSTERWRIGHT_REASON. '
            "Nothing was touched."
        )
    return str(click.prompt("Why (for the audit log)", err=True))


def _drive(
    action: str,
    site: ChosenStacks,
    engine: Engine,
    *,
    reason: str,
    options: dict[str, Any],
    adopted: Mapping[str, _Adopted] = MappingProxyType({}),
    permitted: RecordedPermission = NO_PERMISSION_NEEDED,
) -> int:
    """Run the action over every stack, and record the devices' content before, the differences and the end."""
    from clusterwright.cli.stacks.progress import shown
    from clusterwright.deploy.pulumi.order import drive_stacks
    from clusterwright.deploy.pulumi.recorded_stack import RecordedStack
    from clusterwright.deploy.pulumi.units import units_of_devices
    from clusterwright.rollout.audit import Trail
    from clusterwright.rollout.holes import fill_holes
    from clusterwright.rollout.ledger import rollout_name
    from clusterwright.rollout.stack_change import UnitReports, destroyed, refreshed

    progress(f"{action}: {', '.join(stack.name for stack in site.stacks)}")
    had_state = engine.all_given(site.stacks)
    before = {stack.name: RecordedStack({}, {}) for stack in site.stacks} | had_state
    is_refresh = action == "refresh"
    lost = fill_holes(site.plan, site.target, site.stacks, site.source, before) if is_refresh else ()
    before |= {name: before[name].with_running(sorted(adoption.running)) for name, adoption in adopted.items()}
    if site.devices:
        before = _asked_alone(site, before)
    approval = _approval(action, site, reason, before, permitted)
    trail = Trail(site.root, rollout_name(approval.base))
    trail.approved(approval, resumes=False)
    reports = UnitReports()
    failures_only = is_quiet() and not is_refresh  # differences are the result of a refresh
    with shown(options["events"], failures_only=failures_only) as listen, interruptible(engine) as is_stopped:

        def report_and_show(event: Event) -> None:
            reports(event)
            listen(event)

        def run(stack: Stack) -> Ran:
            running = adopted.get(stack.name)
            if running is not None:
                adoption = engine.run("adopt", stack, report_and_show, running.units, running.manifest)
                if not adoption.ok or stack.name not in had_state:
                    return adoption
            return engine.run(action, stack, report_and_show, units_of_devices(stack, site.devices))

        at_once: int = options["parallel"]
        ran = drive_stacks(site.stacks, run, at_once, upper_last=action == "destroy", is_stopped=is_stopped)
    by_name = {stack.name: stack for stack in site.stacks}
    changes = []
    for stack_run in ran:
        state_before, state_after = before[stack_run.stack], _after(engine, by_name[stack_run.stack])
        if is_refresh:
            uncompared = [name for name in lost if name in state_before.trees]
            change = refreshed(state_before, state_after, stack_run, reports, uncompared)
        else:
            change = destroyed(state_before, state_after, stack_run, reports)
        trail.stack(change)
        changes.append(change)
    trail.ended(_result(ran, is_stopped=is_stopped()))
    if is_stopped():
        click.echo(f"{action} was interrupted; run the same command again to continue", err=True)
        return EXIT_INTERRUPTED
    status = tell_ran(action, site.stacks, ran)
    if is_refresh and status == 0:
        _tell_differences(changes)
    return status


def _asked_alone(site: ChosenStacks, before: Mapping[str, RecordedStack]) -> dict[str, RecordedStack]:
    """The recorded state of the units with the devices of --device."""
    requested: set[str] = set()
    for stack in site.stacks:
        for unit in stack.units:
            if not site.devices.isdisjoint(unit.devices):
                requested.update(unit.devices)
    given_alone: dict[str, RecordedStack] = {}
    for stack_name, given in before.items():
        trees = {name: tree for name, tree in given.trees.items() if name in requested}
        given_alone[stack_name] = replace(given, trees=trees)
    return given_alone


def _tell_differences(changes: list[StackChange]) -> None:
    """Report the devices with a difference, new or old."""
    from clusterwright.rollout.stack_change import AS_GIVEN, NOT_KNOWN

    unknown = []
    differing = []
    as_given = 0
    for change in changes:
        for name, result in change.devices.items():
            if result == NOT_KNOWN:
                unknown.append(name)
            elif result == AS_GIVEN:
                as_given += 1
            else:
                differing.append(name)
    asked = as_given + len(differing)
    if unknown:
        click.echo(
            f"{len(unknown)} devices were not compared: what they were given is lost: {and_more(unknown, _SHOWN)}. "
            "`up` compares them with the spec",
            err=True,
        )
    if not differing:
        click.echo(f"all {asked} devices hold what they were given", err=True)
        return
    summary = f"{len(differing)} of {asked} devices hold something else: {and_more(differing, _SHOWN)}"
    click.echo(f"{summary}. The lines stand above, `up` fixes them", err=True)


def _after(engine: Engine, stack: Stack) -> RecordedStack | None:
    """The state after the action; None if it cannot be read: the stack's record reports that."""
    try:
        return engine.given(stack)
    except ClusterwrightError:
        return None


def _approval(
    action: str, site: ChosenStacks, reason: str, before: Mapping[str, RecordedStack], permitted: RecordedPermission
) -> Approval:
    """The action for the record, with digests of the stacks' manifests and of the devices' trees."""
    from clusterwright.rollout.audit import Approval, revision_of, who

    user, host = who()
    path = site.deployment.spec
    return Approval(
        action=action,
        cluster=site.plan.name,
        stacks=tuple(before),
        who=user,
        host=host,
        reason=reason,
        spec=str(path),
        revision=revision_of(path, (Path(name) for name in site.spec.document.files)),
        manifest=digest_of({name: given.manifest for name, given in before.items()}),
        base=digest_of(trees_by_device(before)),
        text=permitted.text,
        waves=(),
        answers=permitted.answers,
        signatures=permitted.signatures,
        only=tuple(sorted(site.devices)),
    )


def _result(ran: tuple[Ran, ...], *, is_stopped: bool) -> Result:
    from clusterwright.rollout.execution import Result, UpdateEnd

    if is_stopped:
        return Result(end=UpdateEnd.ABORTED, waves=(), stacks=ran, text="interrupted")
    failed = [stack_run.stack for stack_run in ran if not stack_run.ok]
    if failed:
        return Result(end=UpdateEnd.STOPPED, waves=(), stacks=ran, text=f"{', '.join(failed)} failed")
    return Result(UpdateEnd.DONE, (), ran)
