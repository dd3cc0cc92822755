"""Places of a switch's file that differ from the rendered one, by the comparison of drift."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

from clusterwright.device_files.drift import Compare, Difference
from clusterwright.facts.values import Keys

Differing = Callable[[str, str], Iterator[Keys]]
"""The keys of every value that differs between a rendered text and another one. Raises ValueError for text that does
not parse."""


def by_keys(compare: Compare) -> Differing:
    """Differing places in files of objects: a missing or unexpected object differs in each of its values."""

    def differing(planned: str, text: str) -> Iterator[Keys]:
        for kind, _, expected, _, keys, value in compare(planned, text):
            if kind is Difference.MISSING:
                yield from _values_below(keys, _parsed(expected))
            elif kind is Difference.UNEXPECTED:
                yield from _values_below(keys, value)
            else:
                yield keys

    return differing


def by_lines(compare: Compare) -> Differing:
    """Differing places in texts: a missing line and an unexpected one are a place each."""

    def differing(planned: str, text: str) -> Iterator[Keys]:
        for kind, place, expected, runs, above, _ in compare(planned, text):
            sections = above[: place.count(" / ") + 1] if place else ()
            if kind is not Difference.UNEXPECTED:
                yield (*sections, expected)
            if kind is not Difference.MISSING:
                yield (*sections, runs)
                for line in above[len(sections) + 1 :]:
                    yield (*sections, runs, line.strip())

    return differing


def _values_below(keys: Keys, value: Any) -> Iterator[Keys]:
    if isinstance(value, dict) and value:
        for key, below in value.items():
            yield from _values_below((*keys, str(key)), below)
    else:
        yield keys


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:  # an object of NVUE, written on one line by the comparison
        return None
