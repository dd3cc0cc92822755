"""Class settings of most devices of a fabric, the reference for every hop."""

from __future__ import annotations

from collections.abc import Mapping

from clusterwright.facts.router import DSCPS, Mark

Said = tuple[tuple[int | None, ...], tuple[int | None, ...], frozenset[int]]
"""For each DSCP the traffic class and the queue, and the lossless priorities."""


def class_mark(marks: Mapping[str, Mark], classes: tuple[int | None, ...], dscp: int) -> Mark:
    """The place of a missing DSCP: next to another one of its class."""
    others = (marks.get(f"dscp {other}") for other in range(DSCPS) if classes[other] == classes[dscp])
    return next((mark for mark in others if mark), ())


def priorities(numbers: frozenset[int]) -> str:
    """Priorities in words."""
    return f"priority {', '.join(map(str, sorted(numbers)))}" if numbers else "no priority"
