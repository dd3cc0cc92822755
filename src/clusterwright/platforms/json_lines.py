"""JSON that people can read and diff: one line for every port, neighbour or policy, whatever its size.

Encoded by the C encoder line by line, and whole where every line is one value; an indented document would go through
Python's own, which is far slower.
"""

from __future__ import annotations

from _json import make_encoder
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from json import JSONEncoder
from json.encoder import encode_basestring_ascii as _quote
from typing import Any


@lru_cache(maxsize=16)
def _encoder(separator: str) -> Any:
    """Rendered documents are trees, so nothing has to be looked for that holds itself. JSONEncoder makes an encoder for
    every value; here it is made once."""
    return make_encoder(None, JSONEncoder().default, _quote, None, ": ", separator, False, False, True)


_parts = _encoder(", ")
_SCALARS = frozenset((str, int, float, bool, type(None)))


@dataclass(frozen=True, slots=True)
class Encoded:
    """A value as JSON already: what many documents have alike is encoded once. Only lines hold one, no values do."""

    text: str


def encode(value: Any) -> str:
    """A value as JSON on one line. Raises TypeError where a part of it is ``Encoded``."""
    return value.text if isinstance(value, Encoded) else "".join(_parts(value, 0))


def dump_lines(document: Mapping[str, Any], depth: int = 2) -> bytes:
    """The document as UTF-8, broken into lines down to ``depth`` levels, keys in the order given."""
    return f"{_lines(document, depth, chr(10))}\n".encode()


def _lines(value: Any, depth: int, margin: str) -> str:
    """A value's text; ``margin`` is the line break and the indent of the line that it stands on."""
    if depth == 0 or not isinstance(value, (dict, list, tuple)) or not value:
        return encode(value)
    inner = f"{margin}  "
    entries: Iterable[Any] = value.values() if isinstance(value, dict) else value
    if _SCALARS.issuperset(map(type, entries)):
        text = "".join(_encoder(f",{inner}")(value, 0))
        return f"{text[0]}{inner}{text[1:-1]}{margin}{text[-1]}"
    parts: Iterator[str] = (
        map(encode, entries) if depth == 1 else (_lines(entry, depth - 1, inner) for entry in entries)
    )
    if depth == 1:
        parts = map(encode, entries)
    if isinstance(value, dict):
        parts = (f"{_quote(key)}: {part}" for key, part in zip(value, parts, strict=True))
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    return f"{opening}{inner}{f',{inner}'.join(parts)}{margin}{closing}"
