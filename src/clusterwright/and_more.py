"""Lists in sentences: the first of many, and how many there are besides."""

from __future__ import annotations

from collections.abc import Sequence


def and_more(words: Sequence[str], most: int, between: str = ", ") -> str:
    """The first ``most`` of ``words``, and the number of the others where there are any: ``a, b and 3 more``."""
    left = len(words) - most
    return between.join(words[:most]) + (f" and {left:,} more" if left > 0 else "")
