"""Devices of a stack after a refresh, or files that its destruction removed, for the record."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from clusterwright.deploy.pulumi.automation import Ran
from clusterwright.deploy.pulumi.events import Event, EventKind
from clusterwright.deploy.pulumi.given import Given

MOST_LINES = 400
"""Lines about one stack that the record keeps: what devices say themselves has no end."""

NOT_KNOWN = "not known"
AS_GIVEN = "as given"


@dataclass(frozen=True, slots=True)
class StackChange:
    """One stack, after it was refreshed or destroyed.

    ``manifest`` is the digest of its last manifest, "" where that is not known. ``devices`` has for each one with files
    ``removed``, ``kept``, ``as given``, ``differs``, ``gone``, ``not known``, or the reason of its failure.
    ``said`` are the lines about each unit that has some.
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
    """Messages about the units of each stack while they are driven; with a ``severity``, only those."""

    def __init__(self, severity: str = "") -> None:
        self._severity = severity
        self._lines: defaultdict[str, defaultdict[str, list[str]]] = defaultdict(lambda: defaultdict(list))

    def __call__(self, event: Event) -> None:
        """Hear ``event``."""
        if event.kind is EventKind.MESSAGE and event.unit and self._severity in ("", event.severity):
            self._lines[event.stack][event.unit] += event.text.splitlines()

    def of(self, stack: str) -> dict[str, tuple[str, ...]]:
        """The lines by unit, ``MOST_LINES`` of them; the rest is counted."""
        lines_by_unit: dict[str, tuple[str, ...]] = {}
        remaining_lines = MOST_LINES
        for unit, lines in sorted(self._lines[stack].items()):
            more = len(lines) - remaining_lines
            lines_by_unit[unit] = (
                tuple(lines) if more <= 0 else (*lines[:remaining_lines], f"... and {more} more lines")
            )
            remaining_lines = max(remaining_lines - len(lines), 0)
        return lines_by_unit


def refreshed(
    before: Given, after: Given | None, ran: Ran, reports: UnitReports, lost: Collection[str] = ()
) -> StackChange:
    """The record of a refresh from the states ``before`` and ``after``; None: it could not be read.

    ``lost`` are devices that nothing could be compared with.
    """
    devices = {name: _found(name, after, is_read=ran.ok) for name in sorted(before.trees)}
    devices |= dict.fromkeys(lost, NOT_KNOWN)
    return _change(before, ran, reports, devices)


def destroyed(before: Given, after: Given | None, ran: Ran, reports: UnitReports) -> StackChange:
    """As ``refreshed``; a device that is in the state still was not cleared."""
    return _change(before, ran, reports, {name: _left(name, after) for name in sorted(before.trees)})


def _left(name: str, after: Given | None) -> str:
    if after is None:
        return NOT_KNOWN
    return after.failed.get(name, "kept") if name in after.trees else "removed"


def _found(name: str, after: Given | None, *, is_read: bool) -> str:
    if after is None:
        return NOT_KNOWN
    if name not in after.trees:
        return "gone"
    if not after.trees[name]:
        return "differs"
    return AS_GIVEN if is_read else NOT_KNOWN


def _change(before: Given, ran: Ran, reports: UnitReports, devices: Mapping[str, str]) -> StackChange:
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
