"""Placeholders in text shared by many devices, filled with the values of each."""

from __future__ import annotations

PLACE = "\0"
"""Marks the place of a value. No text of a spec has this byte."""


def as_format(text: str) -> str:
    """A text with places as a format for ``%``."""
    return text.replace("%", "%%").replace(PLACE, "%s")
