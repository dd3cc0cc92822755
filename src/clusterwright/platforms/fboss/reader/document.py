"""A switch's files as JSON, in parts: switches have most of their files in common, and what is alike is read once.

Files are written with each field of the switch, or of BGP, on lines of its own. Strings of JSON hold no ends of lines,
so text cut at one is cut between words: where each part reads as fields by itself, and the file without them reads as
well, the file is just their sum. Whatever does not read so is read as a whole.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import islice
from typing import Any, NamedTuple

Json = Mapping[str, Any]
_ADDRESS = re.compile(r'"[0-9a-f]+[:.][0-9a-f:.]*/\d+"')
_LOOKED_AT = 48  # addresses of a part


class WrittenAs(NamedTuple):
    """How a file is written: the field ``key``, or the whole where it is "", has the parts as its fields.

    ``opening`` ends with the first quote of the first one's name, ``between`` with that of the next one's; ``closing``
    comes after the last one.
    """

    key: str
    opening: str
    closing: str
    between: str


class FileInParts(NamedTuple):
    """What a file says: its ``value``, its text ``around`` the parts, and the texts of these.

    In ``parts``, and in the ``outline`` that they make, addresses are ``comparable``.
    """

    value: Json
    outline: Json
    around: str
    parts: tuple[str, ...]


class _Parts(Mapping[str, Any]):
    """Fields by name, each read when it is asked for."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._texts = texts

    def __getitem__(self, name: str) -> Any:
        return fields_of(self._texts[name])[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._texts)

    def __len__(self) -> int:
        return len(self._texts)


@lru_cache(maxsize=4)
def document_of(text: str, layout: WrittenAs) -> FileInParts:
    """What is written in one of a switch's files: who reads a file right after another need not parse it once more.

    Raises ValueError or RecursionError for text that is no JSON.
    """
    start = text.find(layout.opening) + len(layout.opening) - 1
    end = text.find(layout.closing, start)
    if start >= len(layout.opening) - 1 and end > 0 and _is_place(text[:start], text[end:], layout.key):
        texts = text[start + 1 : end].split(layout.between)
        parts = tuple(map(comparable, texts))
        try:
            names = [name for part in parts for name in fields_of(part)]
        except ValueError:
            names = []
        if len(set(names)) == len(names) == len(texts):
            around = text[:start] + text[end:]
            whole = json.loads(around)
            value, outline = (_Parts(dict(zip(names, each, strict=True))) for each in (texts, parts))
            if not layout.key:
                return FileInParts(value, outline, around, parts)
            return FileInParts({**whole, layout.key: value}, {**whole, layout.key: outline}, around, parts)
    whole = json.loads(text)
    return FileInParts(whole, whole, text, ())


@lru_cache(maxsize=256)
def fields_of(part: str) -> Json:
    """The fields that stand in a part, of which the first quote is left out. Raises ValueError or RecursionError."""
    fields: Json = json.loads(f'{{"{part}}}')
    return fields


@lru_cache(maxsize=64)
def _is_place(before: str, after: str, key: str) -> bool:
    """Whether what stands between two texts are fields of ``key``, or of the whole."""
    mark = {"parts": 0}
    try:
        whole = json.loads(f"{before}{json.dumps(mark)[1:-1]}{after}")
    except (ValueError, RecursionError):
        return False
    return (whole.get(key) if key else whole) == mark and '"parts"' not in before + after


@lru_cache(maxsize=256)
def comparable(part: str) -> str:
    """A part with a word in the place of all its addresses, or of the most frequent one, as the first of them tell,
    where it has many: one it is, quotes included, wherever it stands in JSON, and no field's values are limited to
    addresses. Two that are equal so have the same fields and the same meaning, but for what the addresses are.
    """
    seen = [found[0] for found in islice(_ADDRESS.finditer(part), _LOOKED_AT)]
    if len(seen) < _LOOKED_AT:
        return _ADDRESS.sub('"an address"', part) if seen else part
    first = max(seen, key=seen.count, default="")
    return part.replace(first, '"an address"') if seen.count(first) > 1 else part
