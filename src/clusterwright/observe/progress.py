"""How far the cabling is: what became of each planned cable, as the last scan or the last dumps show it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from enum import StrEnum

PlannedEnd = tuple[str, str]
"""The lower end of a planned cable: its device and port."""


class CableState(StrEnum):
    """``WRONG`` is a cable of which one end is plugged elsewhere; of an ``UNKNOWN`` one nobody was asked, or two
    readings fit what was seen."""

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
    """The state of each of ``cables``: its lower end, and both ends by their numbers in ``observed``.

    ``elsewhere`` are ends that something strange is plugged into, ``silent`` those of which nothing was to be heard,
    ``unclear`` those that nobody can judge.
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
        else:
            state = CableState.UNKNOWN if a in silent or b in silent else CableState.MISSING
        yield planned, state
