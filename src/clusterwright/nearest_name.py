"""Suggestions for misspelt names."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

# Likeness by difflib, of 1. A reader weighs a suggestion: "uplink" for "links" has 0.73. What the program does by
# itself, such as renaming a key, needs a nearer name.
SUGGESTED = 0.6
SURE = 0.75


def nearest(name: str, names: Iterable[str], likeness: float = SUGGESTED) -> str | None:
    """The most similar of ``names``; None where all are less alike than ``likeness``."""
    matches = get_close_matches(name, tuple(names), n=1, cutoff=likeness)
    return matches[0] if matches else None


def did_you_mean(name: str, names: Iterable[str], otherwise: str = "", *, likeness: float = SUGGESTED) -> str:
    """A question that suggests the nearest of ``names``; ``otherwise`` where none is alike."""
    suggested = nearest(name, names, likeness)
    return otherwise if suggested is None else f'Did you mean "{suggested}"?'


def only_one_near(name: str, names: Iterable[str]) -> str | None:
    """The one of ``names`` that ``name`` surely stands for; None where none or several could be."""
    matches = get_close_matches(name, tuple(names), n=2, cutoff=SURE)
    return matches[0] if len(matches) == 1 else None
