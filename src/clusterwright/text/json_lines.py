"""JSON that people can read and diff: one line for every port, neighbour or policy, whatever its size.

Encoded by the C encoder line by line, and whole where every line is one value; an indented document would go through
Python's own, which is far slower.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from json import JSONEncoder
from json.encoder import encode_basestring_ascii as _quote
from typing import Any


@lru_cache(maxsize=16)
def _encoder(separator: str) -> Callable[[Any], str]:
    """Rendered documents are trees, so nothing has to be looked for that holds itself."""
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
    """A value's text; ``margin`` is the line break and the indent of the line that it stands on."""
    pieces: list[str] = []
    _write(value, depth, margin, pieces.append)
    return "".join(pieces)


def _write(value: Any, depth: int, margin: str, put: Callable[[str], None]) -> None:
    """Puts a value's text in pieces: joined once, a long one is not copied at every level that it stands in."""
    if depth == 0 or not isinstance(value, (dict, list, tuple)) or not value:
        put(encode(value))
        return
    inner = f"{margin}  "
    entries: Iterable[Any] = value.values() if isinstance(value, dict) else value
    if _SCALARS.issuperset(map(type, entries)):
        text = _encoder(f",{inner}")(value)
        put(f"{text[0]}{inner}{text[1:-1]}{margin}{text[-1]}")
        return
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    before = f"{opening}{inner}"
    for key, entry in zip(value, entries, strict=True):
        put(f"{before}{_quote(key)}: " if isinstance(value, dict) else before)
        _write(entry, depth - 1, "" if depth == 1 else inner, put)
        before = f",{inner}"
    put(f"{margin}{closing}")
