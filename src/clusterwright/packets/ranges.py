"""Sets of integers as sorted, disjoint intervals: the possible values of a packet's field."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from functools import lru_cache

Interval = tuple[int, int]  # both ends belong to it


class Ranges:
    """An immutable set of integers. ``bounds`` are its intervals, sorted, disjoint and not adjacent.

    The hash is stored, as sets of thousands of addresses are looked up many times.
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
        index = bisect_right(self.bounds, (value, value))  # a longer interval that begins at ``value`` sorts after it
        if index > 0 and value <= self.bounds[index - 1][1]:
            return True
        return index < len(self.bounds) and self.bounds[index][0] == value

    def __repr__(self) -> str:
        intervals = []
        for low, high in self.bounds:
            intervals.append(f"{low}" if low == high else f"{low}-{high}")
        return "{" + ", ".join(intervals) + "}"

    def __and__(self, other: Ranges) -> Ranges:
        return self if self is other else _meet(self, other)

    def __or__(self, other: Ranges) -> Ranges:
        return self if self is other else ranges((*self.bounds, *other.bounds))

    def __sub__(self, other: Ranges) -> Ranges:
        return EMPTY if self is other else _minus(self, other)

    def size(self) -> int:
        """The number of integers in the set."""
        return sum(high - low + 1 for low, high in self.bounds)


EMPTY = Ranges(())


def ranges(intervals: Iterable[Interval]) -> Ranges:
    """The union of intervals, in any order and overlapping or not."""
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
    bounds_a, bounds_b = a.bounds, b.bounds
    i = j = 0
    while i < len(bounds_a) and j < len(bounds_b):
        low, high = max(bounds_a[i][0], bounds_b[j][0]), min(bounds_a[i][1], bounds_b[j][1])
        if low <= high:
            intervals.append((low, high))
        if bounds_a[i][1] < bounds_b[j][1]:
            i += 1
        else:
            j += 1
    bounds = tuple(intervals)
    if bounds == bounds_a:
        return a
    if bounds == bounds_b:
        return b
    return Ranges(bounds)


@lru_cache(maxsize=1 << 16)
def _minus(a: Ranges, b: Ranges) -> Ranges:
    intervals: list[Interval] = []
    j = 0
    cuts = b.bounds
    for low, high in a.bounds:
        while j < len(cuts) and cuts[j][1] < low:
            j += 1
        index, start = j, low
        while index < len(cuts) and cuts[index][0] <= high:
            if cuts[index][0] > start:
                intervals.append((start, cuts[index][0] - 1))
            start = cuts[index][1] + 1
            index += 1
        if start <= high:
            intervals.append((start, high))
    bounds = tuple(intervals)
    return a if bounds == a.bounds else Ranges(bounds)
