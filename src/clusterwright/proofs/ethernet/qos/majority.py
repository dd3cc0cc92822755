"""Class settings of most devices of a fabric, the reference for every hop."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from clusterwright.facts.router import DSCPS, Mark


class ClassSettings(NamedTuple):
    """The settings of classes that devices of a fabric share."""

    classes: tuple[int | None, ...]
    """The traffic class of each DSCP."""
    queues: tuple[int | None, ...]
    """The queue of each DSCP."""
    lossless: frozenset[int]
    """Priorities."""


def class_mark(marks: Mapping[str, Mark], classes: tuple[int | None, ...], dscp: int) -> Mark:
    """The place of a missing DSCP: next to another one of its class."""
    for other in range(DSCPS):
        if classes[other] == classes[dscp]:
            mark = marks.get(f"dscp {other}")
            if mark:
                return mark
    return ()


def priorities(numbers: frozenset[int]) -> str:
    """Priorities in words."""
    if not numbers:
        return "no priority"
    return f"priority {', '.join(map(str, sorted(numbers)))}"
