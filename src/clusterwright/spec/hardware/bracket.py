"""Bracket patterns: ``Ethernet[3-6]/[1-36]`` for 144 names, as catalogue files write runs of cages."""

from __future__ import annotations

import re
from itertools import product

MAX_NAMES = 10_000  # an order above the largest chassis; keeps a slip from filling the memory

_BRACKET = re.compile(r"\[([0-9]{1,6})-([0-9]{1,6})(?::([0-9]{1,6}))?\]")


def expand(pattern: str) -> tuple[str, ...]:
    """Every name that ``pattern`` stands for; the last bracket runs fastest.

    ``[1-16]`` is an inclusive range, ``[1-15:2]`` one with a step, ``[01-20]`` keeps its zeros; several brackets are
    combined. A pattern without a bracket is its own only name. Raises ValueError, saying what is wrong.
    """
    if "[" not in pattern and "]" not in pattern:
        return (pattern,)
    choices: list[list[str]] = []
    size = 1
    end = 0
    for found in _BRACKET.finditer(pattern):
        choices.append([_plain(pattern, end, found.start())])
        first, last, step = int(found[1]), int(found[2]), int(found[3] or 1)
        if last < first:
            raise ValueError(f"the range {found[0]} runs backwards")
        if step == 0:
            raise ValueError(f"the range {found[0]} has a step of 0")
        numbers = range(first, last + 1, step)
        size *= len(numbers)
        if size > MAX_NAMES:
            raise ValueError(f"it stands for more than {MAX_NAMES} names")
        width = len(found[1]) if found[1].startswith("0") else 0
        choices.append([str(number).zfill(width) for number in numbers])
        end = found.end()
    choices.append([_plain(pattern, end, len(pattern))])
    return tuple("".join(parts) for parts in product(*choices))


def _plain(pattern: str, start: int, end: int) -> str:
    """The text between two brackets, which must hold no bracket of its own."""
    text = pattern[start:end]
    if "[" in text or "]" in text:
        raise ValueError(f'"{text}" is no range such as [1-16] or [1-15:2]')
    return text
