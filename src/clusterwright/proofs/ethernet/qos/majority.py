"""The settings of classes of most devices of a fabric, with which every hop is compared."""

from __future__ import annotations

from collections.abc import Mapping

from clusterwright.facts.router import DSCPS, Mark

Said = tuple[tuple[int | None, ...], tuple[int | None, ...], frozenset[int]]
"""For each DSCP the traffic class and the queue, and the lossless priorities."""


def class_mark(marks: Mapping[str, Mark], classes: tuple[int | None, ...], dscp: int) -> Mark:
    """Where a DSCP that is missing should be: with the others of its class."""
    others = (marks.get(f"dscp {other}") for other in range(DSCPS) if classes[other] == classes[dscp])
    return next((mark for mark in others if mark), ())


def priorities(numbers: frozenset[int]) -> str:
    """Priorities as people write them."""
    return f"priority {', '.join(map(str, sorted(numbers)))}" if numbers else "no priority"
