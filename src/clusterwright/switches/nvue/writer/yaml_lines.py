"""YAML in NVUE's form: block mappings in the order of the document, `{}` for an empty object, quotes where needed.

Documents are trees of mappings, text and numbers alone, so a few lines write them, far faster than a library.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from json import dumps
from typing import Any

# Text without a second meaning in YAML; all other text is quoted as in JSON, a subset of YAML.
_PLAIN = re.compile(r"[A-Za-z_/][A-Za-z0-9_./-]*")
_WORDS = frozenset({"on", "off", "yes", "no", "y", "n", "true", "false", "null"})


def dump(document: Mapping[str, Any]) -> bytes:
    """The file of one ``set`` with everything below it, as UTF-8."""
    lines = ["- set:"]
    _add(lines, document, "    ")
    return ("\n".join(lines) + "\n").encode()


def _add(lines: list[str], document: Mapping[str, Any], margin: str) -> None:
    for key, value in document.items():
        start = f"{margin}{_word(key)}:"
        if not isinstance(value, Mapping):
            lines.append(f"{start} {_word(value)}")
        elif value:
            lines.append(start)
            _add(lines, value, f"{margin}  ")
        else:
            lines.append(f"{start} {{}}")


def _word(value: str | int) -> str:
    if isinstance(value, int):
        return str(value)
    if _PLAIN.fullmatch(value) and value.lower() not in _WORDS:
        return value
    return dumps(value)
