"""Ranges of numbers are the sets that they say: every operation is compared with Python's own sets."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from clusterwright.packets.ranges import Ranges, ranges, values

_TOP = 24
INTERVALS = st.lists(st.tuples(st.integers(0, _TOP), st.integers(0, 5)), max_size=5)


def as_set(drawn: list[tuple[int, int]]) -> set[int]:
    numbers: set[int] = set()
    for low, length in drawn:
        numbers.update(range(low, low + length + 1))
    return numbers


def as_ranges(drawn: list[tuple[int, int]]) -> Ranges:
    return ranges((low, low + length) for low, length in drawn)


def members(found: Ranges) -> set[int]:
    return {number for low, high in found.bounds for number in range(low, high + 1)}


@given(INTERVALS, INTERVALS)
def test_operations_are_those_of_sets(one: list[tuple[int, int]], other: list[tuple[int, int]]) -> None:
    left, right = as_ranges(one), as_ranges(other)
    assert members(left & right) == as_set(one) & as_set(other)
    assert members(left | right) == as_set(one) | as_set(other)
    assert members(left - right) == as_set(one) - as_set(other)
    assert (left == right) is (as_set(one) == as_set(other))


@given(INTERVALS)
def test_bounds_are_sorted_and_apart_and_count_each_number_once(drawn: list[tuple[int, int]]) -> None:
    found = as_ranges(drawn)
    for (_, high), (low, _) in zip(found.bounds, found.bounds[1:], strict=False):
        assert high + 1 < low, "two that touch are one"
    assert found.size() == len(as_set(drawn))
    assert bool(found) is bool(drawn)
    assert [number in found for number in range(_TOP + 8)] == [number in as_set(drawn) for number in range(_TOP + 8)]
    assert found == values(*as_set(drawn))
