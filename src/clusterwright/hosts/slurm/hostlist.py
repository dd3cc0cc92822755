"""Slurm's hostlist expressions: ``gpu-p00r[000-191]n[0-1]`` for 384 names."""

from __future__ import annotations

import re
from collections.abc import Iterable

_NUMBERS = re.compile(r"(\d+)")


def hostlist(names: Iterable[str]) -> str:
    """The names as one expression, in their natural order.

    Numbers are folded from the last to the first, each where all else is equal; a product of ranges comes out only
    where every one of its names was given. Numbers keep their leading zeros: a range spans numbers of one width.
    """
    groups: dict[tuple[str, ...], None] = {tuple(_NUMBERS.split(name)): None for name in names}
    longest = max((len(parts) for parts in groups), default=0)
    last_number = longest - 2 if longest % 2 else longest - 1
    for position in range(last_number, 0, -2):
        groups = _fold(groups, position)
    return ",".join("".join(parts) for parts in groups)


def _fold(groups: dict[tuple[str, ...], None], position: int) -> dict[tuple[str, ...], None]:
    """Join entries with different numbers at ``position`` alone."""
    values: dict[tuple[str, ...], list[str]] = {}
    whole: dict[tuple[str, ...], None] = {}
    for parts in groups:
        if position < len(parts):
            key = (*parts[:position], "\0", *parts[position + 1 :])
            values.setdefault(key, []).append(parts[position])
            whole[key] = None
        else:
            whole[parts] = None
    folded: dict[tuple[str, ...], None] = {}
    for key in whole:
        if key in values:
            folded[(*key[:position], _ranges(values[key]), *key[position + 1 :])] = None
        else:
            folded[key] = None
    return folded


def _ranges(numbers: list[str]) -> str:
    """``["00", "01", "02", "04"]`` as ``[00-02,04]``; a single number stays bare."""
    ordered = sorted(set(numbers), key=lambda text: (len(text), int(text)))
    runs: list[list[str]] = []
    for text in ordered:
        if runs and len(runs[-1][-1]) == len(text) and int(text) == int(runs[-1][-1]) + 1:
            runs[-1].append(text)
        else:
            runs.append([text])
    if len(ordered) == 1:
        return ordered[0]
    return f"[{','.join(map(_range, runs))}]"


def _range(run: list[str]) -> str:
    return run[0] if len(run) == 1 else f"{run[0]}-{run[-1]}"
