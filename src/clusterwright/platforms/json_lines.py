"""JSON that people can read and diff: one line for every port, neighbour or policy, whatever its size.

Encoded by the C encoder line by line; an indented document would go through Python's own, which is far slower.
"""

from __future__ import annotations

from _json import make_encoder
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import repeat
from json import JSONEncoder
from json.encoder import encode_basestring_ascii as _quote
from typing import Any

# Rendered documents are trees, so nothing has to be looked for that holds itself. The encoder is made once: JSONEncoder
# makes one for every value.
_parts = make_encoder(None, JSONEncoder().default, _quote, None, ": ", ", ", False, False, True)


@dataclass(frozen=True, slots=True)
class Encoded:
    """A value as JSON already: what many documents have alike is encoded once. Only lines hold one, no values do."""

    text: str


def encode(value: Any) -> str:
    """A value as JSON on one line. Raises TypeError where a part of it is ``Encoded``."""
    return value.text if isinstance(value, Encoded) else "".join(_parts(value, 0))


def dump_lines(document: Mapping[str, Any], depth: int = 2) -> bytes:
    """The document as UTF-8, broken into lines down to ``depth`` levels, keys in the order given."""
    pieces: list[str] = []
    _add(pieces, document, depth, "\n")
    pieces.append("\n")
    return "".join(pieces).encode()


def _add(pieces: list[str], value: Any, depth: int, margin: str) -> None:
    """Add a value's text to ``pieces``; ``margin`` is the line break and the indent of the line that it stands on."""
    if depth == 0 or not isinstance(value, (dict, list, tuple)) or not value:
        pieces.append(encode(value))
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
            pieces.append(encode(entry))
        else:
            _add(pieces, entry, depth - 1, inner)
        opening = ","
    pieces.append(f"{margin}{closing}")
