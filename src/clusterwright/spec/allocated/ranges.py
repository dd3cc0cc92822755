"""Ranges of names in an allocation file: ``eth2/1..8/1`` are eight ports.

One number of a name varies, from its first to its last value; leading zeros keep their width.
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
    """The names of a word: itself, or all of its range. Raises ValueError for an invalid range."""
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
    """The names of all words. Raises ValueError."""
    return list(chain.from_iterable(map(expand, words)))


def fold(names: Sequence[str]) -> str:
    """The shortest words for these names, in their order."""
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


def _counting(parts: Sequence[str], following: Sequence[str]) -> int:
    """Index of the part that counts up by one in the following name; -1 for any other difference."""
    if len(parts) != len(following):
        return -1
    places = [index for index, (a, b) in enumerate(zip(parts, following, strict=True)) if a != b]
    if len(places) != 1 or places[0] % 2 == 0:
        return -1
    number, next_number = parts[places[0]], following[places[0]]
    return places[0] if f"{int(number) + 1:0{len(number)}d}" == next_number else -1
