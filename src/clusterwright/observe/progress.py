"""Cabling progress: the state of each planned cable in the last scan or the last dumps."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from enum import StrEnum

PlannedEnd = tuple[str, str]
"""The lower end of a planned cable: its device and port."""


class CableState(StrEnum):
    """``WRONG``: one end is plugged elsewhere. ``UNKNOWN``: no device at either end was queried, or the observations
    have two explanations."""

    SEEN = "seen"
    MISSING = "missing"
    WRONG = "wrong"
    UNKNOWN = "unknown"


def cable_states(
    cables: Iterable[tuple[PlannedEnd, int, int]],
    observed: Mapping[int, int],
    elsewhere: Collection[int],
    silent: Collection[int],
    unclear: Collection[int],
) -> Iterator[tuple[PlannedEnd, CableState]]:
    """State of each of ``cables``: its lower end, and both ends by their numbers in ``observed``.

    ``elsewhere`` are ends connected to an unplanned device, ``silent`` ends that need not be observed, ``unclear`` ends
    with contradicting observations.
    """
    for planned, a, b in cables:
        if a in unclear or b in unclear:
            state = CableState.UNKNOWN
        elif a in elsewhere or b in elsewhere:
            state = CableState.WRONG
        elif observed.get(a) == b:
            state = CableState.SEEN
        elif a in observed or b in observed:
            state = CableState.WRONG
        elif a in silent or b in silent:
            state = CableState.UNKNOWN
        else:
            state = CableState.MISSING
        yield planned, state
