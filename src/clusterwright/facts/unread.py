"""Unread text: proofs cover only the lines, fields and tables known to readers."""

from __future__ import annotations

from typing import NamedTuple


class Unread(NamedTuple):
    """A part of a file covered by no reader's facts and not known to be harmless."""

    file: str
    """Path on the device."""
    line: int
    """Counted from 1; 0 for an unknown place."""
    text: str
    """The place, joined by `` / ``: the lines opening its sections and the line itself, or the keys in JSON."""
    claims: frozenset[str] = frozenset()
    """Names of the checks that it could affect; empty for all checks reading the file."""
    differs: bool = False
    """Whether the field is known, but has another value than the rendered one, of unknown effect."""


BETWEEN = " / "  # also in the places accepted by the spec
