"""Sets of integers as sorted, disjoint intervals: the values that one field of a packet may take."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from functools import lru_cache

Interval = tuple[int, int]  # both ends belong to it


class Ranges:
    """An immutable set of integers. ``bounds`` are its intervals, sorted, disjoint and not adjacent.

    The hash is kept, as sets of thousands of addresses are looked up again and again.
    """

    __slots__ = ("_hash", "bounds")

    def __init__(self, bounds: tuple[Interval, ...]) -> None:
        self.bounds = bounds
        self._hash = hash(bounds)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, Ranges) and self._hash == other._hash and self.bounds == other.bounds
        )

    def __bool__(self) -> bool:
        return bool(self.bounds)

    def __contains__(self, value: int) -> bool:
        at = bisect_right(self.bounds, (value, value))  # an interval that begins there and goes on comes behind
        return (at > 0 and value <= self.bounds[at - 1][1]) or (at < len(self.bounds) and self.bounds[at][0] == value)

    def __repr__(self) -> str:
        return "{" + ", ".join(f"{low}" if low == high else f"{low}-{high}" for low, high in self.bounds) + "}"

    def __and__(self, other: Ranges) -> Ranges:
        return self if self is other else _meet(self, other)

    def __or__(self, other: Ranges) -> Ranges:
        return self if self is other else ranges((*self.bounds, *other.bounds))

    def __sub__(self, other: Ranges) -> Ranges:
        return EMPTY if self is other else _minus(self, other)

    def size(self) -> int:
        """How many integers belong to it."""
        return sum(high - low + 1 for low, high in self.bounds)


EMPTY = Ranges(())


def ranges(intervals: Iterable[Interval]) -> Ranges:
    """The union of intervals in any order, which may overlap."""
    merged: list[Interval] = []
    for low, high in sorted(intervals):
        if merged and low <= merged[-1][1] + 1:
            if high > merged[-1][1]:
                merged[-1] = (merged[-1][0], high)
        else:
            merged.append((low, high))
    return Ranges(tuple(merged))


def values(*wanted: int) -> Ranges:
    """The set of these integers."""
    return ranges((value, value) for value in wanted)


@lru_cache(maxsize=1 << 16)
def _meet(a: Ranges, b: Ranges) -> Ranges:
    if a == b:
        return a
    intervals: list[Interval] = []
    one, other = a.bounds, b.bounds
    i = j = 0
    while i < len(one) and j < len(other):
        low, high = max(one[i][0], other[j][0]), min(one[i][1], other[j][1])
        if low <= high:
            intervals.append((low, high))
        if one[i][1] < other[j][1]:
            i += 1
        else:
            j += 1
    bounds = tuple(intervals)
    return a if bounds == one else b if bounds == other else Ranges(bounds)


@lru_cache(maxsize=1 << 16)
def _minus(a: Ranges, b: Ranges) -> Ranges:
    intervals: list[Interval] = []
    j = 0
    cuts = b.bounds
    for low, high in a.bounds:
        while j < len(cuts) and cuts[j][1] < low:
            j += 1
        at, start = j, low
        while at < len(cuts) and cuts[at][0] <= high:
            if cuts[at][0] > start:
                intervals.append((start, cuts[at][0] - 1))
            start = cuts[at][1] + 1
            at += 1
        if start <= high:
            intervals.append((start, high))
    bounds = tuple(intervals)
    return a if bounds == a.bounds else Ranges(bounds)
