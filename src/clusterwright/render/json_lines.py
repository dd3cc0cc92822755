"""JSON that people can read and diff: one line for every port, neighbour or policy, whatever its size.

Written by the C encoder line by line; an indented document would go through Python's own, which is far slower.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import repeat
from json import JSONEncoder, encoder
from typing import Any

_quote = encoder.encode_basestring_ascii
# What JSONEncoder.encode makes anew for each call, which costs as much as a line: without memory of cycles and without
# indent, ": " and ", " between what it writes, keys in their order, none left out, infinities as they are.
_pieces = encoder.c_make_encoder(  # type: ignore[attr-defined]
    None, JSONEncoder().default, _quote, None, ": ", ", ", False, False, True
)


def dump_lines(document: Mapping[str, Any], depth: int = 2) -> bytes:
    """The document as UTF-8, broken into lines down to ``depth`` levels, keys in the order given."""
    pieces: list[str] = []
    _add(pieces, document, depth, "\n")
    pieces.append("\n")
    return "".join(pieces).encode()


def _add(pieces: list[str], value: Any, depth: int, margin: str) -> None:
    """Add a value's text to ``pieces``; ``margin`` is the line break and the indent of the line that it stands on."""
    if depth == 0 or not isinstance(value, (dict, list, tuple)) or not value:
        pieces += _pieces(value, 0)
        return
    inner = f"{margin}  "
    if isinstance(value, dict):
        opening, closing = "{}"
        starts: Iterable[str] = [f"{inner}{_quote(key)}: " for key in value]
        entries: Iterable[Any] = value.values()
    else:
        opening, closing = "[]"
        starts, entries = repeat(inner), value
    for start, entry in zip(starts, entries, strict=False):
        pieces.append(f"{opening}{start}")
        if depth == 1:
            pieces += _pieces(entry, 0)
        else:
            _add(pieces, entry, depth - 1, inner)
        opening = ","
    pieces.append(f"{margin}{closing}")
