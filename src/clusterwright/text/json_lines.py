"""JSON that people can read and diff: one line for every port, neighbour or policy, whatever its size.

Encoded by the C encoder line by line, and whole where every line is one value; an indented document would go through
Python's own, which is far slower. What many documents have alike but for some texts is a form, which is encoded once.
"""

from __future__ import annotations

import json
import re
from _json import make_encoder
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from json import JSONEncoder
from json.encoder import encode_basestring_ascii as _quote
from typing import Any

from clusterwright.text.places import PLACE

NUMBER = f"{PLACE}#"
"""A string of a form's value in whose stead a whole number is to stand."""
_PLACES = re.compile(r'("\\u0000#"|(?<!\\)\\u0000)')


@lru_cache(maxsize=16)
def _encoder(separator: str) -> Any:
    """Rendered documents are trees, so nothing has to be looked for that holds itself. JSONEncoder makes an encoder for
    every value; here it is made once."""
    return make_encoder(None, JSONEncoder().default, _quote, None, ": ", separator, False, False, True)


_Pieces = tuple[list[str], tuple[int, ...]]
_parts = _encoder(", ")
_SCALARS = frozenset((str, int, float, bool, type(None)))


@dataclass(frozen=True, eq=False, slots=True)
class Form:
    """A ``value`` with places, whose text is made once for each depth and margin it stands at."""

    value: Any
    _pieces: dict[tuple[int, str], _Pieces] = field(default_factory=dict, init=False, repr=False)

    def fill(self, *values: str | int) -> Filled:
        """The value with texts and numbers in its places. Its text raises TypeError where they are not as many."""
        texts = "%s" * len(values) % values  # numbers among them change nothing
        if len(_quote(texts)) > len(texts) + 2:  # something in them is written otherwise in JSON
            values = tuple(each if isinstance(each, int) else _quote(each)[1:-1] for each in values)
        return Filled(self, values)

    def pieces(self, depth: int, margin: str) -> _Pieces:
        """The value's text around its places, and which of these are of numbers."""
        known = self._pieces.get((depth, margin))
        if known is None:
            pieces = _PLACES.split(_lines(self.value, depth, margin))
            numbers = tuple(at for at, place in enumerate(pieces[1::2]) if place[0] == '"')
            known = self._pieces[depth, margin] = pieces[::2], numbers
        return known


@dataclass(frozen=True, slots=True)
class Filled:
    """A form with its values. Documents, lists and lines hold one; a value within a line does not."""

    form: Form
    values: tuple[str | int, ...]

    def text(self, depth: int, margin: str) -> str:
        """Its JSON."""
        pieces, numbers = self.form.pieces(depth, margin)
        if len(pieces) != len(self.values) + 1 or any(not isinstance(self.values[at], int) for at in numbers):
            raise TypeError("a form has other places than these values")
        written = [""] * (2 * len(pieces) - 1)
        written[::2] = pieces
        written[1::2] = map(str, self.values)
        return "".join(written)  # a format would look through all of it for its places again


Document = Mapping[str, Any] | Filled


def plain(value: Any) -> Any:
    """A document, or a part of it, as its readers see it: what is filled in as any other value."""
    if isinstance(value, Filled):
        return json.loads(encode(value))
    if isinstance(value, Mapping):
        return {key: plain(each) for key, each in value.items()}
    return [plain(each) for each in value] if isinstance(value, (list, tuple)) else value


def encode(value: Any) -> str:
    """A value as JSON on one line. Raises TypeError where a part of it is ``Filled``."""
    return value.text(0, "") if isinstance(value, Filled) else "".join(_parts(value, 0))


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
    if isinstance(value, Filled):
        put(value.text(depth, margin))
        return
    if depth == 0 or not isinstance(value, (dict, list, tuple)) or not value:
        put(encode(value))
        return
    inner = f"{margin}  "
    entries: Iterable[Any] = value.values() if isinstance(value, dict) else value
    if _SCALARS.issuperset(map(type, entries)):
        text = "".join(_encoder(f",{inner}")(value, 0))
        put(f"{text[0]}{inner}{text[1:-1]}{margin}{text[-1]}")
        return
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    before = f"{opening}{inner}"
    for key, entry in zip(value, entries, strict=True):
        put(f"{before}{_quote(key)}: " if isinstance(value, dict) else before)
        _write(entry, depth - 1, "" if depth == 1 else inner, put)
        before = f",{inner}"
    put(f"{margin}{closing}")
