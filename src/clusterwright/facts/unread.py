"""Unread text: nothing is proven of a file beyond the lines, fields and tables that readers know."""

from __future__ import annotations

from typing import NamedTuple


class Unread(NamedTuple):
    """Something in a file that no fact of a reader takes in, and that is not known to be without influence.

    ``file`` is its path on the device, ``line`` counts from 1, 0 where the place is not known. ``text`` is what stands
    there: in a text the lines that open its sections and the line itself, in JSON the keys that lead to it, joined by
    `` / ``; ``claims`` are the names of the checks that it could touch, all that read the file where it is empty.
    ``differs`` says that the field is known: its value is not the rendered one, and no fact tells what that does.
    """

    file: str
    line: int
    text: str
    claims: frozenset[str] = frozenset()
    differs: bool = False


BETWEEN = " / "  # as the spec writes places that it vouches for
