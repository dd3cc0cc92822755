"""JSON that people can read and diff: one line for every port, neighbour or policy, whatever its size.

Written by the C encoder line by line; an indented document would go through Python's own, which is far slower.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

_encode = json.JSONEncoder(ensure_ascii=True, separators=(", ", ": ")).encode


def dump_lines(document: Mapping[str, Any], depth: int = 2) -> bytes:
    """The document as UTF-8, broken into lines down to ``depth`` levels, keys in the order given."""
    return ("".join(_lines(document, depth, "")) + "\n").encode()


def _lines(value: Any, depth: int, indent: str) -> list[str]:
    if depth == 0 or not isinstance(value, Mapping | list | tuple) or not value:
        return [_encode(value)]
    inner = indent + "  "
    items: list[str] = []
    if isinstance(value, Mapping):
        opening, closing = "{", "}"
        for key, entry in value.items():
            items.append(f"{inner}{_encode(key)}: {''.join(_lines(entry, depth - 1, inner))}")
    else:
        opening, closing = "[", "]"
        items = [inner + "".join(_lines(entry, depth - 1, inner)) for entry in _sequence(value)]
    return [opening, "\n", ",\n".join(items), "\n", indent, closing]


def _sequence(value: Any) -> Sequence[Any]:
    return list(value)
