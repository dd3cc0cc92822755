"""``clusterwright drain`` and ``undrain``: an exception of the spec, and the devices changed by it."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from clusterwright.and_more import and_more
from clusterwright.cli.tasks import edits
from clusterwright.finding import ClusterwrightError

if TYPE_CHECKING:
    from clusterwright.cli.planning import PlannedSpec
    from clusterwright.plan.model import Plan
    from clusterwright.spec.model import ClusterSpec, SpecException

_PORT = click.argument("port", default="")


@click.command()
@edits.spec_edit_options
@_PORT
@click.option(
    "--until",
    type=click.DateTime(["%Y-%m-%d"]),
    metavar="DATE",
    help="Planned last day: from the day after, lint, preview and status remind you to undrain.",
)
def drain(*, spec: Path, name: str, port: str, until: datetime | None, **options: Any) -> int:
    """Take traffic and jobs off a switch, a node or a cable: add an exception to the spec, and send its changes.

    NAME is a device of SPEC, or a rack or pod with all its devices; with PORT, the cable at that port of the device:
    both ends are shut, and the cable stays in the plan. Jobs end before switches of a rack or pod redirect traffic. The
    exception is written into SPEC with --because as its reason, and only devices with changed files are updated, as by
    `up --device`. One of several redundant devices may be drained; a second one is refused, and SPEC is restored. No
    drain ends by itself, also not after --until.

    Exit status: 0 drained, 1 errors in the spec, 2 refused, 3 stopped by failures, 130 interrupted.
    """
    edits.require_because(options)
    day = until.date() if until is not None else None
    if day is not None and day < datetime.now(UTC).date():
        raise click.UsageError(f"--until {day} has passed already.")
    return _send(_drained(spec, name, port, reason=options["because"].strip(), until=day), options)


@click.command()
@edits.spec_edit_options
@_PORT
def undrain(*, spec: Path, name: str, port: str, **options: Any) -> int:
    """End a drain: remove the exception from the spec, and send its changes.

    Exit status: 0 ended, 1 errors in the spec, 2 refused, 3 stopped by failures, 130 interrupted.
    """
    edits.require_because(options)
    return _send(_undrained(spec, name, port), options)


def _send(edit: edits.SpecEdit, options: dict[str, Any]) -> int:
    from clusterwright.rollout.preview.services import service_sentences

    devices = edits.changed_by(edit)
    if not devices:
        refusal = (
            "this changes no file of any device, so nothing would be drained: what routes around "
            f"{and_more(edit.devices, 3)} is not configured by the spec. Nothing was touched."
        )
        services = (sentence.text for sentence in service_sentences(edit.before.plan, edit.after.plan))
        raise ClusterwrightError("\n  ".join((refusal, *services)))
    return edits.carry_out(edit, devices, options)


def _drained(path: Path, name: str, port: str, *, reason: str, until: date | None) -> edits.SpecEdit:
    """The edit to add the exception. Raises ClusterwrightError for a device or cable with another exception."""
    from clusterwright.plan.service import ACTIVE, DRAINED
    from clusterwright.spec.text.exception_text import with_exception, without_exception

    planned = edits.planned_with(path)
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
        return _edit(path, file, (text, written), (planned, edits.planned_with(path, (file, written))), item)
    if existing[0].state != DRAINED:
        subject = f"{name} {item.port or ''}".strip()
        raise ClusterwrightError(f"{subject} is {existing[0].state} in the spec: that goes further.")
    file = Path(plan.spec.document.locate(existing[0].path).file)
    text = file.read_bytes()
    without = without_exception(text.decode(), plan.spec.document, existing[0]).encode()
    return _edit(path, file, (without, text), (edits.planned_with(path, (file, without)), planned), existing[0])


def _undrained(path: Path, name: str, port: str) -> edits.SpecEdit:
    """The edit to remove the exception. Raises ClusterwrightError for a missing one."""
    from clusterwright.plan.service import DRAINED
    from clusterwright.spec.text.exception_text import without_exception

    planned = edits.planned_with(path)
    plan = planned.plan
    about = _concerned(plan, name, port)
    existing = [item for item in _exceptions_about(plan, about) if item.state == DRAINED]
    if not existing:
        refusal = f"no exception of the spec drains {name} {port}".rstrip()
        raise ClusterwrightError(f"{refusal}. Where a run did not end, `clusterwright up {path}` goes on.")
    file = Path(plan.spec.document.locate(existing[0].path).file)
    text = file.read_bytes()
    after = without_exception(text.decode(), plan.spec.document, existing[0]).encode()
    return _edit(path, file, (text, after), (planned, edits.planned_with(path, (file, after))), existing[0])


def _concerned(plan: Plan, name: str, port: str) -> SpecException:
    """An exception without a state, about a device, a group, or the cable at a port, by its switch's end."""
    from clusterwright.spec.model import SpecException

    def about(device: str | None, group: str | None = None, port: str | None = None) -> SpecException:
        return SpecException(device=device, group=group, port=port, state=None, image=None, reason="", path=())

    if not port and name not in plan.by_name and any(name in (device.rack, device.pod) for device in plan.devices):
        return about(None, group=name)
    edits.require_device(plan, name)
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
    """The devices of an exception."""
    if item.device is not None:
        return (item.device,)
    return tuple(device.name for device in plan.devices if item.group in (device.rack, device.pod))


def _exceptions_about(plan: Plan, about: SpecException) -> list[SpecException]:
    """The exceptions with a state for the same device, group or cable, by either end of the cable."""
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
) -> edits.SpecEdit:
    """The edit from the first of ``texts`` and ``planned`` specs to the second, with ``item`` added or removed.

    Raises ClusterwrightError for any other difference of the two specs.
    """
    before, after = planned[0].plan.spec, planned[1].plan.spec
    counts_before, counts_after = _exception_counts(before), _exception_counts(after)
    changed = (counts_after - counts_before) + (counts_before - counts_after)
    states = [(exception.device, exception.group, exception.port, exception.state) for exception in changed]
    rest_before = {key: value for key, value in before.document.data.items() if key != "exceptions"}
    rest_after = {key: value for key, value in after.document.data.items() if key != "exceptions"}
    if states != [(item.device, item.group, item.port, item.state)] or rest_before != rest_after:
        raise ClusterwrightError(
            f"{file}: its exceptions are merged with those of the file that it extends, and the edit would change more "
            "than one. Edit them by hand, and run `clusterwright up`. Nothing was touched."
        )
    return edits.SpecEdit(
        spec=path,
        file=file,
        devices=_members(planned[0].plan, item),
        text_before=texts[0],
        text_after=texts[1],
        before=planned[0],
        after=planned[1],
    )


def _exception_counts(spec: ClusterSpec) -> Counter[SpecException]:
    """The exceptions of a spec, without their places in the file."""
    return Counter(replace(exception, path=()) for exception in spec.exceptions)


def _require_nodes_drained(plan: Plan, devices: tuple[str, ...], port: str) -> None:
    """Raises ClusterwrightError if other active nodes would lose the cable, or their last uplink to a fabric."""
    cut: set[str] = set()
    for device in devices:
        cut |= _cut_nodes(plan, device, port) - set(devices)
    if cut:
        loss = "that link" if port else "every path into a fabric"
        pronoun = "it" if len(cut) == 1 else "them"
        raise ClusterwrightError(
            f"{and_more(sorted(cut), 4)} would lose {loss}, and jobs run there: drain {pronoun} first. "
            "Nothing was touched."
        )


def _cut_nodes(plan: Plan, device: str, port: str) -> set[str]:
    cut: set[str] = set()
    for cable in plan.cables_of.get(device, ()):
        ends = {cable.a.device: cable.a, cable.b.device: cable.b}
        nodes = [name for name in ends if plan.by_name[name].kind == "node"]
        if not nodes or nodes[0] == device or plan.by_name[nodes[0]].state != "active":
            continue
        node = nodes[0]
        is_cut = ends[device].port == port if port else not _has_other_uplink(plan, node, device, cable.fabric)
        if is_cut:
            cut.add(node)
    return cut


def _has_other_uplink(plan: Plan, node: str, switch: str, fabric: str) -> bool:
    """Whether a node has a cable in service to another switch of the fabric than ``switch``."""
    for cable in plan.cables_of[node]:
        is_other = switch not in (cable.a.device, cable.b.device)
        if cable.fabric == fabric and is_other and cable.in_service:
            return True
    return False
