"""Types of unquoted YAML scalars: null, boolean, integer, number or text, after YAML 1.2's core schema.

YAML 1.1 and 1.2 disagree about some spellings. A spelling that is harmless as text (``no``, ``2024-03-12``, ``12:30``)
is text; one with a number in either reading (``010``, ``1_000``) is refused.
"""

from __future__ import annotations

import re
from typing import Any

_NULL = frozenset({"", "~", "null", "Null", "NULL"})
_BOOLEANS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_INTEGER = re.compile(r"[-+]?(?:0|[1-9][0-9]*)")
_PREFIXED = re.compile(r"0x[0-9a-fA-F]+|0o[0-7]+")
_NUMBER = re.compile(r"[-+]?(?:\.[0-9]+|(?:0|[1-9][0-9]*)(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_NOT_FINITE = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
_AMBIGUOUS = re.compile(
    r"[-+]?0[0-9]+(?:\.[0-9]*)?|[-+]?[0-9]+_[0-9_]*(?:\.[0-9_]*)?|[-+]?0b[01_]+|[-+]0[xo][0-9a-fA-F]+"
)
# Limits of integers in all JSON readers and YAML libraries, without loss.
_LEAST_INTEGER, _GREATEST_INTEGER = -(2**63) + 1, 2**64 - 1  # the usual InfiniBand subnet prefix is above 2**63
_MAX_DIGITS = 32


class AmbiguousScalarError(ValueError):
    """An unquoted scalar with different meanings among readers of YAML; ``what`` names it, ``hint`` has a clear
    spelling."""

    def __init__(self, what: str, hint: str) -> None:
        super().__init__(what)
        self.what = what
        self.hint = hint


def resolve(text: str) -> Any:
    """The value of the unquoted scalar ``text``: None, bool, int, float or str. Raises AmbiguousScalarError."""
    if text in _NULL:
        return None
    if text in _BOOLEANS:
        return _BOOLEANS[text]
    if text[0] not in "-+.0123456789":
        return text
    if _NOT_FINITE.fullmatch(text):
        raise AmbiguousScalarError(f"a number without a value ({text})", "Write a finite number, or leave the key out.")
    if _AMBIGUOUS.fullmatch(text):
        shown = text if len(text) <= _MAX_DIGITS else text[:_MAX_DIGITS] + "…"
        raise AmbiguousScalarError(
            f"a number that YAML versions read differently ({shown})",
            "Write it in plain decimal digits, or in quotes if it is text.",
        )
    if _INTEGER.fullmatch(text) or _PREFIXED.fullmatch(text):
        if len(text) > _MAX_DIGITS or not _LEAST_INTEGER <= (number := int(text, 0)) <= _GREATEST_INTEGER:
            raise AmbiguousScalarError("an integer beyond 64 bits", "Write a smaller number, or quote it as text.")
        return number
    if _NUMBER.fullmatch(text):
        value = float(text)
        if value in (float("inf"), float("-inf")):
            raise AmbiguousScalarError("a number too large to hold", "Write a smaller number, or quote it as text.")
        return value
    return text


def describe(value: Any) -> str:
    """The kind of ``value``, in words for a message: ``a list``, ``text``, ``the number 3``."""
    if value is None:
        return "empty"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return f"the number {value}"
    if isinstance(value, str):
        short = value if len(value) <= 40 else value[:39] + "…"
        return f'the text "{shown(short)}"'
    return "a list" if isinstance(value, list) else "a mapping"


def shown(text: str) -> str:
    """``text`` on one line of a message, with control characters as escapes."""
    return "".join(map(_shown_character, text))


def _shown_character(char: str) -> str:
    return char if char.isprintable() else char.encode("unicode_escape").decode()
