"""CW280 to CW283: the overlay file, with labels of installed devices and ports, compared with the plan."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from clusterwright.finding import MOST_TOLD, Position, Severity
from clusterwright.nearest_name import did_you_mean
from clusterwright.plan.chips import chip_names
from clusterwright.plan.model import Device, format_guid
from clusterwright.rules.rule import LintRule, Problem, Subject, rule
from clusterwright.spec.labels.overlay import OverlayRow
from clusterwright.spec.model import ClusterSpec

_PREFIX_SHIFT = 40
_ALONE = (("serial", "serial number"), ("asset_tag", "asset tag"), ("mac", "MAC address"), ("guid", "GUID"))
NOT_NOTED = LintRule("CW280", Severity.ERROR)


def _at(subject: Subject, row: OverlayRow) -> Position:
    return Position(subject.spec.overlay.file, row.line, 1)


@rule("CW281", Severity.ERROR)
def noted_elsewhere(subject: Subject) -> Iterator[Problem]:
    """Rows of a device or port missing in the plan."""
    overlay = subject.spec.overlay
    if not overlay:
        return
    plan = subject.plan
    chips: set[str] = set()
    for director in plan.devices:
        inside = plan.spec.catalogue[director.model].chips
        if inside is not None:
            chips.update(chip_names(director.name, inside))
    reported_count = 0
    for row in overlay.rows:
        device = plan.by_name.get(row.device)
        if reported_count == MOST_TOLD:
            return
        if device is None and not (row.device in chips and row.guid is not None and not row.port):
            hint = did_you_mean(row.device, plan.by_name, "Write the name that the inventory has.")
            yield Problem((), f'The spec has no device "{row.device}".', hint, position=_at(subject, row))
        elif device is not None and row.port and row.port not in plan.spec.catalogue[device.model].port_names:
            message = f'{device.name}, a {device.model}, has no port "{row.port}".'
            yield Problem((), message, "Write the port's name in the hardware catalogue.", position=_at(subject, row))
        else:
            continue
        reported_count += 1


@rule("CW282", Severity.ERROR)
def noted_twice(subject: Subject) -> Iterator[Problem]:
    """Rows sharing a unique value."""
    overlay = subject.spec.overlay
    if not overlay:
        return
    hint = "Look at both labels again."
    for row, message in _twice(subject):
        yield Problem((), message, hint, position=_at(subject, row))


def _end_by_guid(spec: ClusterSpec) -> Mapping[int, tuple[str, str]]:
    """Ends in the files of GUIDs of all fabrics."""
    ends: dict[int, tuple[str, str]] = {}
    for fabric in spec.fabrics:
        if fabric.guids:
            ends.update((row.guid, (row.device, row.port)) for row in fabric.guids.rows)
    return ends


def _twice(subject: Subject) -> Iterator[tuple[OverlayRow, str]]:
    spec = subject.spec
    ends: dict[tuple[str, str], int] = {}
    values: dict[tuple[str, object], str] = {}
    macs = {row.mac: (row.device, row.port) for row in spec.boot.macs.rows} if spec.boot and spec.boot.macs else {}
    guids = _end_by_guid(spec)
    prefixes = {fabric.subnet_manager.guid_prefix for fabric in spec.fabrics if fabric.subnet_manager is not None}
    files = (
        ("mac", "MAC address", macs, frozenset(macs.values())),
        ("guid", "GUID", guids, frozenset(guids.values())),
    )
    for row in spec.overlay.rows:
        end, name = (row.device, row.port), f"{row.device} {row.port}".rstrip()
        first = ends.setdefault(end, row.line)
        if first != row.line:
            yield row, f"{name} has a row already, on line {first}."
        for field, what in _ALONE:
            value = getattr(row, field)
            owner = name if value is None else values.setdefault((field, value), name)
            if owner != name:
                yield row, f"The {what} of {name} is that of {owner} already."
        for field, what, end_by_value, known_ends in files:
            value = getattr(row, field)
            if value is not None and end_by_value.get(value, end) != end:
                yield row, f"The spec's own file has the {what} of {name} at {' '.join(end_by_value[value]).rstrip()}."
            elif value is not None and end in known_ends and value not in end_by_value:
                yield row, f"The spec's own file has another {what} for {name}."
        if row.guid is not None and row.guid >> _PREFIX_SHIFT in prefixes:
            yield row, f"{format_guid(row.guid)} is a planned placeholder, not the label of a device."
    yield from _cables_twice(subject)


def _cables_twice(subject: Subject) -> Iterator[tuple[OverlayRow, str]]:
    """Cable numbers at two ports of different cables, and two numbers of one cable."""
    numbered = [row for row in subject.spec.overlay.rows if row.cable is not None]
    if not numbered:
        return
    far: dict[tuple[str, str], tuple[str, str]] = {}
    for cable in subject.plan.cables:
        a, b = (cable.a.device, cable.a.port), (cable.b.device, cable.b.port)
        far[a], far[b] = b, a
    owner: dict[str | None, tuple[str, str]] = {}
    for row in numbered:
        end = (row.device, row.port)
        first = owner.setdefault(row.cable, end)
        if first not in (end, far.get(end)):
            yield row, f"{row.device} {row.port} has cable {row.cable}, which is in {' '.join(first)} already."
        other = subject.spec.overlay.by_end.get(far.get(end, end))
        if other is not None and other.cable not in (None, row.cable) and other.line < row.line:
            message = f"The cable from {' '.join(end)} to {other.device} {other.port} has two numbers, {row.cable}"
            yield row, f"{message} and {other.cable}."


@rule("CW283", Severity.WARNING)
def stands_elsewhere(subject: Subject) -> Iterator[Problem]:
    """Rows with another rack or unit than the planned one."""
    overlay = subject.spec.overlay
    if not overlay:
        return
    reported_count = 0
    for row in overlay.rows:
        device = subject.plan.by_name.get(row.device)
        if device is None or (row.rack in (None, device.rack) and row.unit in (None, device.unit)):
            continue
        message = f"{row.device} was found in {_place(row.rack, row.unit)}, and is planned in {_planned(device)}."
        yield Problem((), message, "Move it, or pin its place in the allocation file.", position=_at(subject, row))
        reported_count += 1
        if reported_count == MOST_TOLD:
            return


def _place(rack: str | None, unit: float | None) -> str:
    position = f"unit {unit:g}" if unit is not None else ""
    return " ".join(part for part in (rack, position) if part)


def _planned(device: Device) -> str:
    return _place(device.rack, device.unit or None) or "no rack"
