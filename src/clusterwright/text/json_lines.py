"""JSON for reading and comparing: one line for every port, neighbour or policy of any size.

The C encoder writes line by line, and an object at once if every line is one value; an indented document would go
through Python's encoder, which is far slower.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from json import JSONEncoder
from json.encoder import encode_basestring_ascii as _quote
from typing import Any


@lru_cache(maxsize=16)
def _encoder(separator: str) -> Callable[[Any], str]:
    """The encoder with this separator, without a search for cycles: rendered documents are trees."""
    return JSONEncoder(check_circular=False, separators=(separator, ": ")).encode


_SCALARS = frozenset((str, int, float, bool, type(None)))


Document = Mapping[str, Any]


def encode(value: Any) -> str:
    """A value as JSON on one line."""
    return _encoder(", ")(value)


def dump_lines(document: Document, depth: int = 2) -> bytes:
    """The document as UTF-8, broken into lines down to ``depth`` levels, keys in the order given."""
    return lines_text(document, depth).encode()


def lines_text(document: Document, depth: int = 2) -> str:
    """The same as text."""
    return f"{_lines(document, depth, chr(10))}\n"


def _lines(value: Any, depth: int, margin: str) -> str:
    """A value's text; ``margin`` is the line break and the indent of its line."""
    if depth == 0 or not isinstance(value, (dict, list, tuple)) or not value:
        return encode(value)
    inner = f"{margin}  "
    entries: Iterable[Any] = value.values() if isinstance(value, dict) else value
    if _SCALARS.issuperset(map(type, entries)):
        text = _encoder(f",{inner}")(value)
        return f"{text[0]}{inner}{text[1:-1]}{margin}{text[-1]}"
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    # Values on one line are encoded without a recursive call: they are most of a document.
    texts = [encode(entry) if depth == 1 else _lines(entry, depth - 1, inner) for entry in entries]
    if isinstance(value, dict):
        texts = [f"{_quote(key)}: {text}" for key, text in zip(value, texts, strict=True)]
    joined = f",{inner}".join(texts)
    return f"{opening}{inner}{joined}{margin}{closing}"
