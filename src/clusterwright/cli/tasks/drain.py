"""``clusterwright drain`` and ``undrain``: an exception of the spec, and the devices that change by it."""

from __future__ import annotations

import os
from collections import Counter
from contextlib import closing, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from clusterwright.cli.stacks.judged import Judging, judging_options
from clusterwright.cli.stacks.options import deployment_options, open_site
from clusterwright.finding import ClusterwrightError, SpecError

if TYPE_CHECKING:
    from clusterwright.plan.model import Plan
    from clusterwright.spec.model import SpecException

_arguments = (
    click.argument("spec", type=click.Path(path_type=Path)),
    click.argument("name"),
    click.argument("port", default=""),
    deployment_options,
    click.option("--yes", is_flag=True, help="Do not ask before the first wave."),
    judging_options,
)


def _task(command: Any) -> Any:
    for decorate in reversed(_arguments):
        command = decorate(command)
    return command


@dataclass(frozen=True, slots=True)
class _ExceptionEdit:
    """An exception that is written into a file of the spec, or taken out of it: the texts, and the plans that follow.

    ``device`` is the one concerned. ``before`` is what the spec says without the edit, be it made already.
    """

    spec: Path
    file: Path
    device: str
    text_before: bytes
    text_after: bytes
    before: Plan
    after: Plan

    @property
    def is_made(self) -> bool:
        """Whether the file holds the edit already: a run that did not end goes on."""
        return self.file.read_bytes() == self.text_after


@click.command()
@_task
def drain(*, spec: Path, name: str, port: str, **options: Any) -> int:
    """Take traffic and jobs off a switch, a node or a cable: the spec's exception, and what changes by it.

    NAME is a device of SPEC; with PORT, the cable at that port of it: both its ends are shut, and it keeps its place.
    The exception is written into SPEC with --because as its reason, and only the devices that change by it are sent
    what they are to have, as `up --device` does. One of those that stand in for each other may be away; a second one is
    refused, and SPEC is put back as it was.

    Exit status: 0 drained, 1 errors in the spec, 2 refused, 3 stopped by failures, 130 interrupted.
    """
    _require_because(options)
    return _carry_out(_drained(spec, name, port, options["because"].strip()), options)


@click.command()
@_task
def undrain(*, spec: Path, name: str, port: str, **options: Any) -> int:
    """Give back what `drain` took away: the spec's exception goes, and what changes by it is sent.

    Exit status: 0 given back, 1 errors in the spec, 2 refused, 3 stopped by failures, 130 interrupted.
    """
    _require_because(options)
    return _carry_out(_undrained(spec, name, port), options)


def _require_because(options: dict[str, Any]) -> None:
    if not options["because"].strip():
        raise click.UsageError('--because is missing: say why, as --because "ticket 4711, a line card fails".')


def _drained(path: Path, name: str, port: str, reason: str) -> _ExceptionEdit:
    """Raises ClusterwrightError for what is drained otherwise already."""
    from clusterwright.plan.service import ACTIVE, DRAINED
    from clusterwright.spec.model import SpecException
    from clusterwright.spec.text.exception_text import with_exception, without_exception

    plan = _plan(path)
    device, at = _concerned(plan, name, port)
    item = SpecException(device, None, at or None, DRAINED, None, reason, ())
    known = _exceptions_about(plan, device, at)
    file = Path(plan.spec.document.file)
    if not known:
        _require_nodes_drained(plan, device, at)
        if not at and plan.by_name[device].state != ACTIVE:
            raise ClusterwrightError(f"{device} is {plan.by_name[device].state} by an exception of its group already.")
        text = file.read_bytes()
        written = with_exception(text.decode(), item).encode()
        return _edit(path, file, (text, written), (plan, _plan(path, (file, written))), item)
    if known[0].state != DRAINED:
        raise ClusterwrightError(f"{device} {at}".strip() + f" is {known[0].state} in the spec: that goes further.")
    file = Path(plan.spec.document.locate(known[0].path).file)
    text = file.read_bytes()
    without = without_exception(text.decode(), plan.spec.document, known[0]).encode()
    return _edit(path, file, (without, text), (_plan(path, (file, without)), plan), known[0])


def _undrained(path: Path, name: str, port: str) -> _ExceptionEdit:
    """Raises ClusterwrightError where nothing is drained."""
    from clusterwright.plan.service import DRAINED
    from clusterwright.spec.text.exception_text import without_exception

    plan = _plan(path)
    device, at = _concerned(plan, name, port)
    known = [item for item in _exceptions_about(plan, device, at) if item.state == DRAINED]
    if not known:
        raise ClusterwrightError(
            f"no exception of the spec drains {device} {at}".rstrip()
            + f". Where a run did not end, `clusterwright up {path} --device {device}` goes on."
        )
    file = Path(plan.spec.document.locate(known[0].path).file)
    text = file.read_bytes()
    after = without_exception(text.decode(), plan.spec.document, known[0]).encode()
    return _edit(path, file, (text, after), (plan, _plan(path, (file, after))), known[0])


def _concerned(plan: Plan, name: str, port: str) -> tuple[str, str]:
    """The device that the exception names, and its port: that of the switch at a cable of a node."""
    from difflib import get_close_matches

    if name not in plan.by_name:
        near = get_close_matches(name, plan.by_name, 1)
        raise ClusterwrightError(f"there is no device {name!r}." + (f" Did you mean {near[0]}?" if near else ""))
    if not port:
        return name, ""
    for cable in plan.cables_of.get(name, ()):
        for end, other in ((cable.a, cable.b), (cable.b, cable.a)):
            if (end.device, end.port) != (name, port):
                continue
            if plan.by_name[name].kind == "switch":
                return name, port
            return other.device, other.port
    raise ClusterwrightError(f"no cable of {name} is at {port!r}: `clusterwright inventory` lists its cables.")


def _exceptions_about(plan: Plan, device: str, port: str) -> list[SpecException]:
    """Those that state something about the device, or about the cable at its port by either of its ends."""
    ends = {(device, port)}
    for cable in plan.cables_of.get(device, ()) if port else ():
        both = {(cable.a.device, cable.a.port), (cable.b.device, cable.b.port)}
        ends |= both if (device, port) in both else set()
    return [item for item in plan.spec.exceptions if (item.device, item.port or "") in ends and item.state]


def _edit(
    path: Path, file: Path, texts: tuple[bytes, bytes], plans: tuple[Plan, Plan], item: SpecException
) -> _ExceptionEdit:
    """``texts`` of ``file`` and ``plans``, without ``item`` and with it, or the other way round.

    Raises ClusterwrightError where more or something else than ``item`` is set apart by the two texts.
    """
    sides = [Counter(replace(each, path=()) for each in plan.spec.exceptions) for plan in plans]
    more, less = sides[1] - sides[0], sides[0] - sides[1]
    states = [(each.device, each.port, each.state) for each in (*more, *less)]
    rest = [{key: value for key, value in plan.spec.document.data.items() if key != "exceptions"} for plan in plans]
    if states != [(item.device, item.port, item.state)] or rest[0] != rest[1]:
        raise ClusterwrightError(
            f"{file}: its exceptions are merged with those of the file that it extends, and the edit would change more "
            "than one. Edit them by hand, and run `clusterwright up`. Nothing was touched."
        )
    return _ExceptionEdit(path, file, item.device or "", *texts, *plans)


def _plan(path: Path, instead: tuple[Path, bytes] | None = None) -> Plan:
    """The plan of the spec, with the text of one of its files replaced.

    Raises ClusterwrightError for what lint refuses, with its lines where these are those of the file.
    """
    from clusterwright.rules.engine import lint_and_plan
    from clusterwright.spec.text.source import reading_instead

    try:
        with reading_instead(*instead) if instead else nullcontext():
            result, plan = lint_and_plan(path)
        if result.errors:
            raise SpecError(result.errors)
    except SpecError as error:
        if instead is None:
            raise
        # The lines that findings name are in no file yet: an excerpt would show others.
        told = "\n".join(f"  {finding.code}: {finding.message} {finding.hint}" for finding in error.findings)
        raise ClusterwrightError(f"lint refuses the spec with that edit. Nothing was touched.\n{told}") from None
    return plan


def _require_nodes_drained(plan: Plan, device: str, port: str) -> None:
    """Raises ClusterwrightError where active nodes would lose the way that they have by the switch or the cable."""
    from clusterwright.and_more import and_more

    cut: set[str] = set()
    for cable in plan.cables_of.get(device, ()):
        ends = {cable.a.device: cable.a, cable.b.device: cable.b}
        node = next((name for name in ends if plan.by_name[name].kind == "node"), None)
        if node is None or node == device or plan.by_name[node].state != "active":
            continue
        if port and ends[device].port == port:
            cut.add(node)
        others = (other for other in plan.cables_of[node] if other.fabric == cable.fabric)
        if not port and all(device in (other.a.device, other.b.device) or not other.in_service for other in others):
            cut.add(node)
    if cut:
        raise ClusterwrightError(
            f"{and_more(sorted(cut), 4)} would lose {'that link' if port else 'every way into a fabric'}, and jobs run "
            f"there: drain {'it' if len(cut) == 1 else 'them'} first. Nothing was touched."
        )


def _carry_out(edit: _ExceptionEdit, options: dict[str, Any]) -> int:
    """Sends what changes by the edit. The spec's file is put back where nothing was touched."""
    from clusterwright.deploy.pulumi.units import cut
    from clusterwright.deploy.store import Store
    from clusterwright.rollout import ledger
    from clusterwright.rollout.deployed import keep_spec, record_spec
    from clusterwright.rollout.draining import devices_changed

    devices = devices_changed(edit.before, edit.after, edit.device)
    if not devices:
        raise ClusterwrightError(
            f"this changes no file of any device, so nothing would be drained: what routes around {edit.device} is not "
            "configured by the spec. Nothing was touched."
        )
    root: Path = options["root"]
    was_made, under_way = edit.is_made, ledger.load(root)
    if not was_made:
        _write(edit.file, edit.text_after)
    try:
        status = _update(edit, devices, options)
    except BaseException:  # an interrupt as well
        if not was_made and ledger.load(root) == under_way:
            _write(edit.file, edit.text_before)
            click.echo(f"{edit.file} is as it was", err=True)
        raise
    if status == 0:
        store, name = Store(root / "objects"), os.path.normpath(edit.file.absolute())
        kept_before = keep_spec(store, edit.before.spec, instead={name: edit.text_before})
        kept_after = keep_spec(store, edit.after.spec, instead={name: edit.text_after})
        record_spec(root, cut(edit.after), kept_before, kept_after)
    return status


def _update(edit: _ExceptionEdit, devices: tuple[str, ...], options: dict[str, Any]) -> int:
    """As ``up --device`` for each of ``devices``."""
    from clusterwright.cli.stacks.up import Wishes, update_stacks
    from clusterwright.deploy.pulumi.automation import Engine

    names = ("jobs", "accept_refuted", "skip_gate", "because")
    jobs, accepted, skipped, because = (options.pop(name) for name in names)
    judging = Judging(jobs, accepted, skipped, because if accepted or skipped else "")
    wishes = Wishes(
        reason=because.strip(),
        accept="",
        approved=None,
        pause_after=frozenset(),
        interactive=False,
        yes=options.pop("yes"),
        verdicts=None,
        probe="",
        judging=judging,
    )
    site = open_site(
        {**options, "spec": edit.spec, "pods": (), "upper": False, "devices": devices}, asks_for_secrets=True
    )
    if site is None:
        raise ClusterwrightError("the spec was edited meanwhile, and lint refuses it. Nothing was touched.")
    engine = Engine(site.deployment)
    with closing(engine), site.alone("drain"):
        return update_stacks(site, engine, wishes, options["events"], options["parallel"])


def _write(file: Path, content: bytes) -> None:
    """Replaces what ``file``, or what a link of that name leads to, holds; its rights stay."""
    from clusterwright import durable

    real = file.resolve()
    durable.replace(real, content, real.stat().st_mode & 0o777)
