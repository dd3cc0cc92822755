"""CW280 to CW283: the overlay file, with labels of installed devices and ports, compared with the plan."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from clusterwright.finding import MOST_TOLD, Position, Severity
from clusterwright.nearest_name import did_you_mean
from clusterwright.plan.chips import chip_names
from clusterwright.plan.model import Device, Plan, format_guid
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
    chips = _chip_names(plan)
    reported_count = 0
    for row in overlay.rows:
        if reported_count == MOST_TOLD:
            return
        device = plan.by_name.get(row.device)
        is_chip = row.device in chips and row.guid is not None and not row.port
        if device is None and not is_chip:
            message = f'The spec has no device "{row.device}".'
            hint = did_you_mean(row.device, plan.by_name, "Write the name that the inventory has.")
        elif device is not None and row.port and row.port not in plan.spec.catalogue[device.model].port_names:
            message = f'{device.name}, a {device.model}, has no port "{row.port}".'
            hint = "Write the port's name in the hardware catalogue."
        else:
            continue
        reported_count += 1
        yield Problem((), message, hint, position=_at(subject, row))


def _chip_names(plan: Plan) -> set[str]:
    """The names of all chips of directors."""
    names: set[str] = set()
    for device in plan.devices:
        chips = plan.spec.catalogue[device.model].chips
        if chips is not None:
            names.update(chip_names(device.name, chips))
    return names


@rule("CW282", Severity.ERROR)
def noted_twice(subject: Subject) -> Iterator[Problem]:
    """Rows sharing a unique value."""
    overlay = subject.spec.overlay
    if not overlay:
        return
    hint = "Check both labels."
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
    """Rows with a value noted for something else already, each with a sentence."""
    spec = subject.spec
    line_by_end: dict[tuple[str, str], int] = {}
    owner_by_value: dict[tuple[str, object], str] = {}
    files = (_mac_file(spec), _guid_file(spec))
    prefixes = {fabric.subnet_manager.guid_prefix for fabric in spec.fabrics if fabric.subnet_manager is not None}
    for row in spec.overlay.rows:
        end, name = (row.device, row.port), f"{row.device} {row.port}".rstrip()
        first_line = line_by_end.setdefault(end, row.line)
        if first_line != row.line:
            yield row, f"{name} has a row already, on line {first_line}."
        for field, title in _ALONE:
            value = getattr(row, field)
            owner = name if value is None else owner_by_value.setdefault((field, value), name)
            if owner != name:
                yield row, f"The {title} of {name} is that of {owner} already."
        for file in files:
            fault = _contradiction(row, file)
            if fault is not None:
                yield row, fault
        if row.guid is not None and row.guid >> _PREFIX_SHIFT in prefixes:
            yield row, f"{format_guid(row.guid)} is a planned placeholder, not the label of a device."
    yield from _cables_twice(subject)


class _LabelFile(NamedTuple):
    """The labels in another file of the spec: their field in the overlay, their name for users, and their ends."""

    field: str
    title: str
    end_by_value: Mapping[int, tuple[str, str]]
    ends: frozenset[tuple[str, str]]


def _mac_file(spec: ClusterSpec) -> _LabelFile:
    ends: dict[int, tuple[str, str]] = {}
    if spec.boot is not None and spec.boot.macs is not None:
        ends.update((row.mac, (row.device, row.port)) for row in spec.boot.macs.rows)
    return _LabelFile(field="mac", title="MAC address", end_by_value=ends, ends=frozenset(ends.values()))


def _guid_file(spec: ClusterSpec) -> _LabelFile:
    ends = _end_by_guid(spec)
    return _LabelFile(field="guid", title="GUID", end_by_value=ends, ends=frozenset(ends.values()))


def _contradiction(row: OverlayRow, file: _LabelFile) -> str | None:
    """A sentence on a value of ``row`` with another end in ``file``, or the other way round; None without one."""
    end, name = (row.device, row.port), f"{row.device} {row.port}".rstrip()
    value = getattr(row, file.field)
    if value is None:
        return None
    if value not in file.end_by_value:
        return f"The spec's own file has another {file.title} for {name}." if end in file.ends else None
    if file.end_by_value[value] != end:
        labelled = " ".join(file.end_by_value[value]).rstrip()
        return f"The spec's own file has the {file.title} of {name} at {labelled}."
    return None


def _cables_twice(subject: Subject) -> Iterator[tuple[OverlayRow, str]]:
    """Cable numbers at two ports of different cables, and two numbers of one cable."""
    numbered = [row for row in subject.spec.overlay.rows if row.cable is not None]
    if not numbered:
        return
    far_ends: dict[tuple[str, str], tuple[str, str]] = {}
    for cable in subject.plan.cables:
        a, b = (cable.a.device, cable.a.port), (cable.b.device, cable.b.port)
        far_ends[a], far_ends[b] = b, a
    end_by_number: dict[str | None, tuple[str, str]] = {}
    for row in numbered:
        end = (row.device, row.port)
        first = end_by_number.setdefault(row.cable, end)
        if first not in (end, far_ends.get(end)):
            yield row, f"{row.device} {row.port} has cable {row.cable}, which is in {' '.join(first)} already."
        other = subject.spec.overlay.by_end.get(far_ends.get(end, end))
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
