"""``clusterwright up``: an update is prepared, shown, approved, and sent in waves."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from clusterwright.cli.stacks.allowed import (
    Permission,
    closed_until,
    now,
    overdue_lines,
    recorded_overrides,
    require_allowed,
)
from clusterwright.cli.stacks.checked import CheckedPreview, CheckOptions, check_options, check_preview, note_done
from clusterwright.cli.stacks.ended import tell_brought_back, tell_end, tell_result
from clusterwright.cli.stacks.options import (
    EXIT_FINDINGS,
    ChosenStacks,
    device_option,
    interruptible,
    open_site,
    rollback_option,
    stack_options,
)
from clusterwright.cli.terminal import is_quiet, progress
from clusterwright.finding import ClusterwrightError

if TYPE_CHECKING:
    from clusterwright.deploy.pulumi.automation import Engine
    from clusterwright.deploy.target import Target
    from clusterwright.rollout.audit import Approval
    from clusterwright.rollout.gates.health import Gate
    from clusterwright.rollout.gates.selection import Gates
    from clusterwright.rollout.ledger import UnderWay
    from clusterwright.rollout.prepare import Prepared
    from clusterwright.rollout.waves import Wave


@dataclass(frozen=True, slots=True)
class UpdateRequest:
    """The options of the command line except for the stacks."""

    reason: str
    yes: bool
    checking: CheckOptions
    accept: str = ""
    approved: Path | None = None
    pause_after: frozenset[int] = frozenset()
    interactive: bool = False
    verdicts: Path | None = None
    probe: str = ""


@click.command()
@stack_options
@device_option
@rollback_option
@click.option(
    "--reason",
    default="",
    envvar="CLUSTERWRIGHT_REASON",
    help="Reason for the audit log. Required without a terminal if running devices change.",
)
@click.option("--accept", default="", metavar="REASON", help="Continue although a wave breaks the policy; recorded.")
@click.option(
    "--approved",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Send what `preview --save` wrote into this file, byte for byte, or nothing.",
)
@click.option(
    "--pause-after",
    type=click.IntRange(1),
    multiple=True,
    metavar="WAVE",
    help="Pause after this wave; may be repeated.",
)
@click.option("--interactive", "-i", is_flag=True, help="Ask before each wave.")
@click.option("--yes", is_flag=True, help="Do not prompt before the first wave.")
@click.option(
    "--verdicts",
    type=click.Path(path_type=Path, dir_okay=False),
    help="After each wave, devices that this file of health verdicts names count as failed.",
)
@click.option(
    "--probe",
    default="",
    metavar="COMMAND",
    help="Run after each wave, with the wave as JSON on its input; prints `device: reason` for each failed device.",
)
@check_options
def up(
    *,
    reason: str,
    accept: str,
    approved: Path | None,
    pause_after: tuple[int, ...],
    interactive: bool,
    yes: bool,
    verdicts: Path | None,
    probe: str,
    **options: Any,
) -> int:
    """Deploy SPEC: new stacks at once, the layer above the pods first; running devices in waves.

    Exit status: 0 done, 1 errors in the spec, 2 refused, 3 stopped by failures, 4 paused, 130 interrupted. The same
    command goes on where it ended.
    """
    from clusterwright.deploy.pulumi.automation import Engine

    request = UpdateRequest(
        reason=reason,
        accept=accept,
        approved=approved,
        pause_after=frozenset(pause_after),
        interactive=interactive,
        yes=yes,
        verdicts=verdicts,
        probe=probe,
        checking=CheckOptions.taken_from(options),
    )
    site = open_site(options, asks_for_secrets=True)
    if site is None:
        return EXIT_FINDINGS
    progress(f"up: {', '.join(stack.name for stack in site.stacks)}")
    engine = Engine(site.deployment)
    with closing(engine), site.alone("up"):
        return update_stacks(site, engine, request, events=options["events"], at_once=options["parallel"])


def update_stacks(
    site: ChosenStacks, engine: Engine, request: UpdateRequest, *, events: Path | None, at_once: int
) -> int:
    """Prepare an update, show it, and carry it out if allowed; the exit status. Raises ClusterwrightError.

    Any refusal comes before the first change on a device.
    """
    from clusterwright.cli.stacks.progress import shown
    from clusterwright.cli.stacks.watched import watched
    from clusterwright.cli.stacks.waves import update_text
    from clusterwright.deploy.pulumi.events import Event, EventKind
    from clusterwright.deploy.store import Store
    from clusterwright.rollout import ledger
    from clusterwright.rollout.audit import Trail
    from clusterwright.rollout.deployed import keep_spec
    from clusterwright.rollout.execution import Execution, Orders, UpdateEnd
    from clusterwright.rollout.waves import plan_waves

    before = ledger.load(site.root)
    prepared = site.prepare(engine, before)
    rollout = prepared.rollout
    kept = keep_spec(Store(site.root / "objects"), site.spec, site.source.read)
    is_resumed = before is not None and before.name == rollout.name
    if is_resumed:
        progress(f"rollout {rollout.name} goes on{_at(rollout)}")
    elif before:
        click.echo(f"rollout {before.name} was left{_at(before)}; this one starts from the deployed files", err=True)
    checked = None if prepared.is_quiet else check_preview(site, prepared, request.checking)
    if checked:
        checked.require_held()
    gates = _gates(site, request, prepared)
    text = update_text(checked, prepared, gates)
    for part in (text, *overdue_lines(site.spec)):
        if part:
            click.echo(part, err=True)
    allowed = require_allowed(
        site,
        prepared,
        checked,
        file=request.approved,
        accept=request.accept,
        checking=request.checking,
        is_resumed=is_resumed,
    )
    reason = _reason(request, prepared)
    _confirm(request, rollout)
    approval = _approval(
        site,
        request,
        prepared,
        reason=reason,
        text=text,
        checked=checked,
        gates=gates,
        kept=kept,
        allowed=allowed,
    )
    trail = Trail(site.root, rollout.name)
    trail.approved(approval, resumes=is_resumed)
    with (
        shown(events, failures_only=is_quiet()) as show,
        watched(show, site, rollout, is_quiet=prepared.is_quiet) as listen,
        interruptible(engine) as is_aborted,
    ):
        budget = site.spec.rollout.failure_budget
        again = partial(plan_waves, site.plan, site.stacks, policy=site.spec.rollout)
        orders = Orders(
            budget=budget,
            at_once=at_once,
            first_budget_percent=site.spec.rollout.first_failure_percent,
            pause_after=request.pause_after,
            is_aborted=is_aborted,
            goes_on=_may_start(request, allowed),
            again=again,
        )
        execution = Execution(
            root=site.root,
            engine=engine,
            prepared=prepared,
            orders=orders,
            gates=gates.asked,
            listen=listen,
            note=trail.wave,
        )
        listen(Event(EventKind.ROLLOUT_STARTED, details={"rollout": rollout.name, "waves": len(rollout.waves)}))
        result = execution.run()
        if result.end is UpdateEnd.DONE:
            note_done(site, prepared, kept)
        tell_end(listen, rollout, result)
    trail.ended(result)
    status = tell_result(site, result, prepared.settled)
    if site.brought_back is not None:
        tell_brought_back(site, site.brought_back)
    return status


def _at(rollout: UnderWay) -> str:
    if rollout.left:
        return f" at wave {rollout.left[0][0]} of {len(rollout.waves)}"
    return " behind its waves" if rollout.waves else ""


def _reason(request: UpdateRequest, prepared: Prepared) -> str:
    if request.reason or not prepared.waves:
        return request.reason
    if not sys.stdin.isatty():
        raise ClusterwrightError(
            'running devices would change: say why for the audit log, with --reason "why" or CLUSTERWRIGHT_REASON. '
            "Nothing was touched."
        )
    return str(click.prompt("Why (for the audit log)", err=True))


def _confirm(request: UpdateRequest, rollout: UnderWay) -> None:
    if rollout.left and not request.yes and not request.approved and sys.stdin.isatty():
        click.confirm(f"Start{_at(rollout)}?", abort=True, err=True)


def _may_start(request: UpdateRequest, allowed: Permission) -> Callable[[int, Wave], bool]:
    """A function deciding whether a wave may start: in an open window, and confirmed with ``--interactive``."""

    def may_start(number: int, wave: Wave) -> bool:
        opening = "" if request.checking.outside_window else closed_until(allowed.policies, now())
        if opening:
            click.echo(f"wave {number} waits: the next window opens {opening}", err=True)
            return False
        if not request.interactive:
            return True
        return click.confirm(f"Wave {number}: {len(wave.devices)} devices of {wave.layer}. Go on?", err=True)

    return may_start


def _gates(site: ChosenStacks, request: UpdateRequest, prepared: Prepared) -> Gates:
    """All gates between waves: files, the devices' state, and the site's verdicts."""
    from clusterwright.deploy.store import Store
    from clusterwright.rollout.gates.health import HoldsTree, SiteProbe, Verdicts
    from clusterwright.rollout.gates.selection import Gates, device_gates

    devices, skipped = site.target.devices(), request.checking.skipped
    by_device = device_gates(
        site.plan, devices, prepared.effects, rollout=prepared.rollout, root=site.root, skipped=skipped
    )
    names = {stack.layer: stack.name for stack in site.stacks}

    def opened(layer: str) -> Target:
        chosen = site.target.of_stack(names[layer]) if site.target.secrets else site.target
        return chosen.open()

    gates: list[Gate] = [HoldsTree(opened, Store(site.root / "objects")), *by_device.asked]
    if request.verdicts:
        gates.append(Verdicts(request.verdicts))
    if request.probe:
        gates.append(SiteProbe(tuple(shlex.split(request.probe))))
    return Gates(tuple(gates), by_device.unasked)


def _approval(
    site: ChosenStacks,
    request: UpdateRequest,
    prepared: Prepared,
    *,
    reason: str,
    text: str,
    checked: CheckedPreview | None,
    gates: Gates,
    kept: str,
    allowed: Permission,
) -> Approval:
    from clusterwright.rollout.approval import load_approval
    from clusterwright.rollout.audit import Approval, RecordedOverride, revision_of, who

    user, host = who()
    path, back = site.deployment.spec, site.brought_back
    approved = load_approval(request.approved) if request.approved else None
    overrides = [RecordedOverride(f"policy: {wave.breaks}", request.accept, user) for wave in prepared.breaks]
    for gate, why_skipped in request.checking.skipped.items():
        overrides.append(RecordedOverride(f"gate not asked: {gate}", why_skipped, user))
    overrides.extend(recorded_overrides(allowed, request.checking, user))
    if checked:
        overrides.extend(checked.answers)
    revision = back.revision if back else revision_of(path, map(Path, site.spec.document.files))
    signed_text = approved.text if approved else text
    signatures = approved.signatures if approved else ()
    rolled_back_to = back.name if back else ""
    return Approval(
        action="up",
        cluster=site.plan.name,
        stacks=tuple(stack.name for stack in site.stacks),
        who=user,
        host=host,
        reason=reason,
        spec=str(path),
        revision=revision,
        manifest=prepared.digest,
        base=prepared.base,
        text=signed_text,
        waves=prepared.rollout.waves,
        answers=tuple(overrides),
        signatures=signatures,
        gates=gates.questions,
        left_out=gates.left_out,
        only=tuple(sorted(prepared.only)),
        kept=kept,
        manifests={name: manifest.digest for name, manifest in prepared.manifests.items()},
        to=rolled_back_to,
    )
