"""Suggestions for misspelt names."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

# Similarity by difflib, of 1. A reader weighs a suggestion: "uplink" for "links" has 0.73. An automatic change, such as
# renaming a key, needs a nearer name.
SUGGESTED = 0.6
SURE = 0.75
# Letters mistyped or misread for the digits of a code.
LOOKALIKES = str.maketrans("OIL", "011")


def nearest(name: str, names: Iterable[str], likeness: float = SUGGESTED) -> str | None:
    """The most similar of ``names``; None if all are less similar than ``likeness``."""
    matches = get_close_matches(name, tuple(names), n=1, cutoff=likeness)
    return matches[0] if matches else None


def did_you_mean(name: str, names: Iterable[str], otherwise: str = "", *, likeness: float = SUGGESTED) -> str:
    """A question suggesting the nearest of ``names``; ``otherwise`` if none is similar."""
    suggested = nearest(name, names, likeness)
    return otherwise if suggested is None else f'Did you mean "{suggested}"?'


def did_you_mean_code(code: str, codes: Iterable[str], otherwise: str = "") -> str:
    """A question suggesting the nearest of ``codes`` with at most one wrong digit; ``otherwise`` without one.

    Letters typed or misread for digits do not count as wrong.
    """
    digits = code.upper().translate(LOOKALIKES)
    distances: dict[str, tuple[int, int]] = {}
    for candidate in codes:
        if len(candidate) != len(digits):
            continue
        wrong_digits = _differences(candidate, digits)
        if wrong_digits <= 1:
            distances[candidate] = wrong_digits, _distance(candidate, digits)
    if not distances:
        return otherwise
    return f'Did you mean "{min(distances, key=lambda candidate: distances[candidate])}"?'


def _differences(first: str, second: str) -> int:
    """Number of positions with different characters in two words of one length."""
    return sum(a != b for a, b in zip(first, second, strict=True))


def _distance(first: str, second: str) -> int:
    """Difference of the numbers in two rule codes; 0 if one has no number."""
    first_number, second_number = first.removeprefix("CW"), second.removeprefix("CW")
    if not first_number.isdecimal() or not second_number.isdecimal():
        return 0
    return abs(int(first_number) - int(second_number))


def only_one_near(name: str, names: Iterable[str]) -> str | None:
    """The only one of ``names`` near enough to ``name`` to replace it; None if none or several are."""
    matches = get_close_matches(name, tuple(names), n=2, cutoff=SURE)
    return matches[0] if len(matches) == 1 else None
