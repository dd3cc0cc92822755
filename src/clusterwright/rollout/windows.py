"""Rollout windows: the times at which waves may start."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from clusterwright.finding import ClusterwrightError
from clusterwright.spec.rollout import Window

DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_WEEK = 8  # days from now within which every window opens, on any day of the week


def next_opening(windows: Sequence[Window], moment: datetime) -> datetime | None:
    """The next opening of ``windows``; None while one is open at ``moment``, and without windows.

    Raises ClusterwrightError for a time zone unknown to this machine.
    """
    coming: list[datetime] = []
    for window in windows:
        for opens, closes in _openings(window, moment):
            if opens <= moment < closes:
                return None
            if opens > moment:
                coming.append(opens)
    return min(coming, default=None)


def _openings(window: Window, moment: datetime) -> Iterator[tuple[datetime, datetime]]:
    """Openings of a window with their closings, from the day before ``moment`` on."""
    zone = window.zone
    if zone is None:
        raise ClusterwrightError(f"this machine does not know the time zone {window.timezone} of a rollout window")
    opens, closes = time.fromisoformat(window.opens), time.fromisoformat(window.closes)
    first = moment.astimezone(zone).date() - timedelta(days=1)
    for offset in range(_WEEK + 1):
        day = first + timedelta(days=offset)
        if DAYS[day.weekday()] not in window.days:
            continue
        last = day if closes > opens else day + timedelta(days=1)
        yield _at(day, opens, zone), _at(last, closes, zone)


def _at(day: date, clock: time, zone: ZoneInfo) -> datetime:
    # Compared in UTC: two times of one zone are compared by their clocks, which daylight saving time sets back.
    return datetime.combine(day, clock, zone).astimezone(UTC)


def local_opening(opening: datetime, windows: Sequence[Window]) -> str:
    """The opening in the time zone of the first window, as text."""
    return f"{opening.astimezone(windows[0].zone):%a %Y-%m-%d %H:%M} {windows[0].timezone}"
