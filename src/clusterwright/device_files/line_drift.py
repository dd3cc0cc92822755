"""Comparing texts line by line, for systems and files that have no other form."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from clusterwright.device_files.drift import Difference, Found, is_as_planned


def compare_lines(planned: str, runs: str) -> Iterator[Found]:
    """Any other file: its lines in their order, without comments, blank lines and spaces that say nothing."""
    wanted, there = _lines(planned), _lines(runs)
    for line in wanted:
        if not any(is_as_planned(line, other) for other in there):
            yield Difference.MISSING, "", line, "", (), None
    for line in there:
        if not any(is_as_planned(other, line) for other in wanted):
            yield Difference.UNEXPECTED, "", "", line, (), None
    common = [line for line in there if line in wanted]
    places = [wanted.index(line) for line in dict.fromkeys(common)]
    if any(first > second for first, second in pairwise(places)):
        yield Difference.CHANGED, "", "its lines in their order", "another order", (), None


def _lines(text: str) -> list[str]:
    bodies = (" ".join(line.split()) for line in text.splitlines())
    return [body for body in bodies if body and not body.startswith("#")]
