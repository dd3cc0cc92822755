"""``clusterwright drain`` and ``undrain``: an exception of the spec, and the devices that change by it."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from clusterwright.and_more import and_more
from clusterwright.cli.tasks.edits import (
    SpecEdit,
    carry_out,
    changed_by,
    planned_with,
    require_because,
    require_device,
    spec_edit_options,
)
from clusterwright.finding import ClusterwrightError

if TYPE_CHECKING:
    from clusterwright.cli.planning import PlannedSpec
    from clusterwright.plan.model import Plan
    from clusterwright.spec.model import SpecException

_PORT = click.argument("port", default="")


@click.command()
@spec_edit_options
@_PORT
@click.option(
    "--until",
    type=click.DateTime(["%Y-%m-%d"]),
    metavar="DATE",
    help="The last day on which that is wanted: from the day after, lint, preview and status ask for the undrain.",
)
def drain(*, spec: Path, name: str, port: str, until: datetime | None, **options: Any) -> int:
    """Take traffic and jobs off a switch, a node or a cable: the spec's exception, and what changes by it.

    NAME is a device of SPEC, or a rack or pod with all that is in it; with PORT, the cable at that port of the device:
    both its ends are shut, and it keeps its place. Jobs end before switches of a rack or pod send traffic elsewhere.
    The exception is written into SPEC with --because as its reason, and only the devices that change by it are sent
    what they are to have, as `up --device` does. One of those that stand in for each other may be away; a second one is
    refused, and SPEC is put back as it was. Nothing is given back by itself, also not after --until.

    Exit status: 0 drained, 1 errors in the spec, 2 refused, 3 stopped by failures, 130 interrupted.
    """
    require_because(options)
    day = until.date() if until is not None else None
    if day is not None and day < datetime.now(UTC).date():
        raise click.UsageError(f"--until {day} has passed already.")
    return _send(_drained(spec, name, port, reason=options["because"].strip(), until=day), options)


@click.command()
@spec_edit_options
@_PORT
def undrain(*, spec: Path, name: str, port: str, **options: Any) -> int:
    """Give back what `drain` took away: the spec's exception goes, and what changes by it is sent.

    Exit status: 0 given back, 1 errors in the spec, 2 refused, 3 stopped by failures, 130 interrupted.
    """
    require_because(options)
    return _send(_undrained(spec, name, port), options)


def _send(edit: SpecEdit, options: dict[str, Any]) -> int:
    from clusterwright.rollout.preview.services import service_sentences

    devices = changed_by(edit)
    if not devices:
        refusal = (
            "this changes no file of any device, so nothing would be drained: what routes around "
            f"{and_more(edit.devices, 3)} is not configured by the spec. Nothing was touched."
        )
        services = (sentence.text for sentence in service_sentences(edit.before.plan, edit.after.plan))
        raise ClusterwrightError("\n  ".join((refusal, *services)))
    return carry_out(edit, devices, options)


def _drained(path: Path, name: str, port: str, *, reason: str, until: date | None) -> SpecEdit:
    """Raises ClusterwrightError for a device or cable with another exception."""
    from clusterwright.plan.service import ACTIVE, DRAINED
    from clusterwright.spec.text.exception_text import with_exception, without_exception

    planned = planned_with(path)
    plan = planned.plan
    item = replace(_concerned(plan, name, port), state=DRAINED, reason=reason, until=until)
    existing = _exceptions_about(plan, item)
    members = _members(plan, item)
    file = Path(plan.spec.document.file)
    if not existing:
        _require_nodes_drained(plan, members, item.port or "")
        if item.device and not item.port and plan.by_name[item.device].state != ACTIVE:
            raise ClusterwrightError(f"{name} is {plan.by_name[name].state} by an exception of its group already.")
        text = file.read_bytes()
        written = with_exception(text.decode(), item).encode()
        return _edit(path, file, (text, written), (planned, planned_with(path, (file, written))), item)
    if existing[0].state != DRAINED:
        raise ClusterwrightError(
            f"{name} {item.port or ''}".strip() + f" is {existing[0].state} in the spec: that goes further."
        )
    file = Path(plan.spec.document.locate(existing[0].path).file)
    text = file.read_bytes()
    without = without_exception(text.decode(), plan.spec.document, existing[0]).encode()
    return _edit(path, file, (without, text), (planned_with(path, (file, without)), planned), existing[0])


def _undrained(path: Path, name: str, port: str) -> SpecEdit:
    """Raises ClusterwrightError where nothing is drained."""
    from clusterwright.plan.service import DRAINED
    from clusterwright.spec.text.exception_text import without_exception

    planned = planned_with(path)
    plan = planned.plan
    about = _concerned(plan, name, port)
    existing = [item for item in _exceptions_about(plan, about) if item.state == DRAINED]
    if not existing:
        raise ClusterwrightError(
            f"no exception of the spec drains {name} {port}".rstrip()
            + f". Where a run did not end, `clusterwright up {path}` goes on."
        )
    file = Path(plan.spec.document.locate(existing[0].path).file)
    text = file.read_bytes()
    after = without_exception(text.decode(), plan.spec.document, existing[0]).encode()
    return _edit(path, file, (text, after), (planned, planned_with(path, (file, after))), existing[0])


def _concerned(plan: Plan, name: str, port: str) -> SpecException:
    """An exception about a device, a group, or the cable at a port (by its switch's end), that states nothing yet."""
    from clusterwright.spec.model import SpecException

    def about(device: str | None, group: str | None = None, port: str | None = None) -> SpecException:
        return SpecException(device=device, group=group, port=port, state=None, image=None, reason="", path=())

    if not port and name not in plan.by_name and any(name in (device.rack, device.pod) for device in plan.devices):
        return about(None, group=name)
    require_device(plan, name)
    if not port:
        return about(name)
    for cable in plan.cables_of.get(name, ()):
        for end, other in ((cable.a, cable.b), (cable.b, cable.a)):
            if (end.device, end.port) != (name, port):
                continue
            if plan.by_name[name].kind == "switch":
                return about(name, port=port)
            return about(other.device, port=other.port)
    raise ClusterwrightError(f"no cable of {name} is at {port!r}: `clusterwright inventory` lists its cables.")


def _members(plan: Plan, item: SpecException) -> tuple[str, ...]:
    """The devices that an exception is about."""
    if item.device is not None:
        return (item.device,)
    return tuple(device.name for device in plan.devices if item.group in (device.rack, device.pod))


def _exceptions_about(plan: Plan, about: SpecException) -> list[SpecException]:
    """Those that state something about the device, the group, or the cable at its port by either of its ends."""
    if about.group is not None:
        return [item for item in plan.spec.exceptions if item.group == about.group and item.state]
    device, port = about.device or "", about.port or ""
    ends = {(device, port)}
    if port:
        for cable in plan.cables_of.get(device, ()):
            both = {(cable.a.device, cable.a.port), (cable.b.device, cable.b.port)}
            ends |= both if (device, port) in both else set()
    return [item for item in plan.spec.exceptions if (item.device, item.port or "") in ends and item.state]


def _edit(
    path: Path, file: Path, texts: tuple[bytes, bytes], planned: tuple[PlannedSpec, PlannedSpec], item: SpecException
) -> SpecEdit:
    """``texts`` of ``file`` and the ``planned`` specs, without ``item`` and with it, or the other way round.

    Raises ClusterwrightError where more or something else than ``item`` is set apart by the two texts.
    """
    plans = tuple(side.plan for side in planned)
    sides = [Counter(replace(each, path=()) for each in plan.spec.exceptions) for plan in plans]
    more, less = sides[1] - sides[0], sides[0] - sides[1]
    states = [(exception.device, exception.group, exception.port, exception.state) for exception in (*more, *less)]
    rest = [{key: value for key, value in plan.spec.document.data.items() if key != "exceptions"} for plan in plans]
    if states != [(item.device, item.group, item.port, item.state)] or rest[0] != rest[1]:
        raise ClusterwrightError(
            f"{file}: its exceptions are merged with those of the file that it extends, and the edit would change more "
            "than one. Edit them by hand, and run `clusterwright up`. Nothing was touched."
        )
    return SpecEdit(path, file, _members(plans[0], item), *texts, *planned)


def _require_nodes_drained(plan: Plan, devices: tuple[str, ...], port: str) -> None:
    """Raises ClusterwrightError where other active nodes would lose the way that they have by switches or the cable."""
    cut: set[str] = set()
    for device in devices:
        cut |= _cut_nodes(plan, device, port) - set(devices)
    if cut:
        raise ClusterwrightError(
            f"{and_more(sorted(cut), 4)} would lose {'that link' if port else 'every way into a fabric'}, and jobs run "
            f"there: drain {'it' if len(cut) == 1 else 'them'} first. Nothing was touched."
        )


def _cut_nodes(plan: Plan, device: str, port: str) -> set[str]:
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
    return cut
