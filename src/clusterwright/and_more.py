"""Lists in sentences, cut after their first items."""

from __future__ import annotations

from collections.abc import Sequence


def and_more(words: Sequence[str], most: int, between: str = ", ") -> str:
    """The first ``most`` of ``words``, and the number of the others if there are any: ``a, b and 3 more``."""
    shown = between.join(words[:most])
    remaining = len(words) - most
    return f"{shown} and {remaining:,} more" if remaining > 0 else shown
