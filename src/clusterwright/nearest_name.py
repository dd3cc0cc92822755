"""Suggestions for misspelt names."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

# Likeness by difflib, of 1. A reader weighs a suggestion: "uplink" for "links" has 0.73. What the program does by
# itself, such as renaming a key, needs a nearer name.
SUGGESTED = 0.6
SURE = 0.75
# Letters that are typed, or read from a screen, where a code has a digit.
LOOKALIKES = str.maketrans("OIL", "011")


def nearest(name: str, names: Iterable[str], likeness: float = SUGGESTED) -> str | None:
    """The most similar of ``names``; None where all are less alike than ``likeness``."""
    matches = get_close_matches(name, tuple(names), n=1, cutoff=likeness)
    return matches[0] if matches else None


def did_you_mean(name: str, names: Iterable[str], otherwise: str = "", *, likeness: float = SUGGESTED) -> str:
    """A question that suggests the nearest of ``names``; ``otherwise`` where none is alike."""
    suggested = nearest(name, names, likeness)
    return otherwise if suggested is None else f'Did you mean "{suggested}"?'


def did_you_mean_code(code: str, codes: Iterable[str], otherwise: str = "") -> str:
    """A question that suggests the nearest of ``codes`` with one digit off; ``otherwise`` where there is none.

    Letters that are typed, or read from a screen, in the place of digits are none off.
    """
    digits = code.upper().translate(LOOKALIKES)
    distances: dict[str, tuple[int, int]] = {}
    for candidate in codes:
        if len(candidate) == len(digits) and _differences(candidate, digits) <= 1:
            distances[candidate] = _differences(candidate, digits), _distance(candidate, digits)
    if not distances:
        return otherwise
    return f'Did you mean "{min(distances, key=lambda candidate: distances[candidate])}"?'


def _differences(one: str, other: str) -> int:
    return sum(left != right for left, right in zip(one, other, strict=True))


def _distance(one: str, other: str) -> int:
    """How far the numbers of two codes lie apart; 0 where one has none."""
    numbers = [text.removeprefix("CW") for text in (one, other)]
    return abs(int(numbers[0]) - int(numbers[1])) if all(number.isdecimal() for number in numbers) else 0


def only_one_near(name: str, names: Iterable[str]) -> str | None:
    """The one of ``names`` that ``name`` surely stands for; None where none or several could be."""
    matches = get_close_matches(name, tuple(names), n=2, cutoff=SURE)
    return matches[0] if len(matches) == 1 else None
