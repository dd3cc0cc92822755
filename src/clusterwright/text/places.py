"""Places: where text that many devices have alike takes what each has alone."""

from __future__ import annotations

PLACE = "\0"
"""Where a text is to stand. No text of a spec has this byte."""


def as_format(text: str) -> str:
    """A text with places as a format, which ``%`` fills."""
    return text.replace("%", "%%").replace(PLACE, "%s")
