"""Results of refreshing or destroying a stack, device by device, for the record."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from clusterwright.deploy.pulumi.automation import Ran
from clusterwright.deploy.pulumi.events import Event, EventKind
from clusterwright.deploy.pulumi.recorded_stack import RecordedStack

MOST_LINES = 400
"""Recorded lines about one stack: devices' own messages are unlimited."""

NOT_KNOWN = "not known"
AS_GIVEN = "as given"


@dataclass(frozen=True, slots=True)
class StackChange:
    """The result of refreshing or destroying a stack.

    ``manifest`` is the digest of its last manifest, "" if unknown. ``devices`` has for each device with files
    ``removed``, ``kept``, ``as given``, ``differs``, ``gone``, ``not known``, or the reason of its failure.
    ``said`` are the messages about each unit.
    """

    stack: str
    ok: bool
    manifest: str
    devices: Mapping[str, str]
    said: Mapping[str, tuple[str, ...]]
    counts: Mapping[str, int]
    duration_s: float
    reason: str


class UnitReports:
    """Collects messages about the units of each stack during an operation; with a ``severity``, only those."""

    def __init__(self, severity: str = "") -> None:
        self._severity = severity
        self._lines: defaultdict[str, defaultdict[str, list[str]]] = defaultdict(lambda: defaultdict(list))

    def __call__(self, event: Event) -> None:
        """Record the message of ``event``."""
        if event.kind is EventKind.MESSAGE and event.unit and self._severity in ("", event.severity):
            self._lines[event.stack][event.unit] += event.text.splitlines()

    def of(self, stack: str) -> dict[str, tuple[str, ...]]:
        """Lines by unit, at most ``MOST_LINES`` in all; further ones are counted."""
        lines_by_unit: dict[str, tuple[str, ...]] = {}
        remaining_lines = MOST_LINES
        for unit, lines in sorted(self._lines[stack].items()):
            omitted = len(lines) - remaining_lines
            if omitted > 0:
                lines_by_unit[unit] = (*lines[:remaining_lines], f"... and {omitted} more lines")
            else:
                lines_by_unit[unit] = tuple(lines)
            remaining_lines = max(remaining_lines - len(lines), 0)
        return lines_by_unit


def refreshed(
    before: RecordedStack, after: RecordedStack | None, ran: Ran, reports: UnitReports, lost: Collection[str] = ()
) -> StackChange:
    """The result of a refresh from the states ``before`` and ``after``; an ``after`` of None could not be read.

    ``lost`` are devices without a tree to compare with.
    """
    devices = {name: _refreshed_device(name, after, is_read=ran.ok) for name in sorted(before.trees)}
    devices |= dict.fromkeys(lost, NOT_KNOWN)
    return _change(before, ran, reports, devices)


def destroyed(before: RecordedStack, after: RecordedStack | None, ran: Ran, reports: UnitReports) -> StackChange:
    """The result of a destruction; a device still in the state ``after`` was not cleared."""
    return _change(before, ran, reports, {name: _destroyed_device(name, after) for name in sorted(before.trees)})


def _destroyed_device(name: str, after: RecordedStack | None) -> str:
    if after is None:
        return NOT_KNOWN
    return after.failed.get(name, "kept") if name in after.trees else "removed"


def _refreshed_device(name: str, after: RecordedStack | None, *, is_read: bool) -> str:
    if after is None:
        return NOT_KNOWN
    if name not in after.trees:
        return "gone"
    if not after.trees[name]:
        return "differs"
    return AS_GIVEN if is_read else NOT_KNOWN


def _change(before: RecordedStack, ran: Ran, reports: UnitReports, devices: Mapping[str, str]) -> StackChange:
    return StackChange(
        stack=ran.stack,
        ok=ran.ok,
        manifest=before.manifest,
        devices=devices,
        said=reports.of(ran.stack),
        counts=dict(ran.counts),
        duration_s=ran.duration_s,
        reason=ran.reason,
    )
