"""Comparing texts line by line, for systems and files without another form."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from clusterwright.device_files.drift import Difference, FileDifference, is_as_planned


def compare_lines(planned: str, runs: str) -> Iterator[FileDifference]:
    """Compare lines in their order, without comments, blank lines and insignificant spaces."""
    planned_lines, running_lines = _lines(planned), _lines(runs)
    for line in planned_lines:
        if not any(is_as_planned(line, running) for running in running_lines):
            yield Difference.MISSING, "", line, "", (), None
    for line in running_lines:
        if not any(is_as_planned(expected, line) for expected in planned_lines):
            yield Difference.UNEXPECTED, "", "", line, (), None
    common = dict.fromkeys(line for line in running_lines if line in planned_lines)
    places = [planned_lines.index(line) for line in common]
    if any(first > second for first, second in pairwise(places)):
        yield Difference.CHANGED, "", "its lines in their order", "another order", (), None


def _lines(text: str) -> list[str]:
    bodies = (" ".join(line.split()) for line in text.splitlines())
    return [body for body in bodies if body and not body.startswith("#")]
