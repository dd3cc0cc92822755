"""Ranges of names, as an allocation file writes them: ``eth2/1..8/1`` are eight ports.

One number of a name counts, from its first to its last value; leading zeros keep their width.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain

MOST = 65_536  # names of one range

_RANGE = re.compile(r"(.*?)(\d+)\.\.(\d+)((?:\D.*)?)")
_NUMBER = re.compile(r"(\d+)")


@lru_cache(maxsize=65_536)
def expand(word: str) -> tuple[str, ...]:
    """The names that a word stands for: itself, or all of its range. Raises ValueError for one that is no range."""
    if ".." not in word:
        return (word,)
    match = _RANGE.fullmatch(word)
    if match is None:
        raise ValueError(f'"{word}" is no range')
    before, first, last, after = match.groups()
    low, high = int(first), int(last)
    if not low <= high < low + MOST:
        raise ValueError(f'"{word}" does not count up, or is longer than {MOST}')
    width = len(first)
    return tuple(f"{before}{number:0{width}d}{after}" for number in range(low, high + 1))


def expand_all(words: Iterable[str]) -> list[str]:
    """The names that words stand for. Raises ValueError."""
    return list(chain.from_iterable(map(expand, words)))


def fold(names: Sequence[str]) -> str:
    """The words for these names, in their order, as short as ranges make them."""
    return " ".join(_folded(names))


def _folded(names: Sequence[str]) -> Iterator[str]:
    start = 0
    while start < len(names):
        end, varying = start + 1, -1
        parts = _NUMBER.split(names[start])
        while end < len(names):
            following = _NUMBER.split(names[end])
            place = _counting(parts, following)
            if place < 0 or varying not in (-1, place):
                break
            varying, parts, end = place, following, end + 1
        if varying < 0:
            yield names[start]
        else:
            first = _NUMBER.split(names[start])
            yield "".join((*first[:varying], f"{first[varying]}..{parts[varying]}", *first[varying + 1 :]))
        start = end


def _counting(one: Sequence[str], other: Sequence[str]) -> int:
    """Which part of a name counts up by one to that of the other; -1 where they differ in another way."""
    if len(one) != len(other):
        return -1
    places = [index for index, (a, b) in enumerate(zip(one, other, strict=True)) if a != b]
    if len(places) != 1 or places[0] % 2 == 0:
        return -1
    here, there = one[places[0]], other[places[0]]
    return places[0] if f"{int(here) + 1:0{len(here)}d}" == there else -1
