"""The places of secrets in a tree's lines: a device may hold a former value there, which is a secret too.

A device repeats its own lines when it is compared: after a rotation they have the former value, which no source gives
any more. The line is known but for that word.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping

from clusterwright.artifact import Artifact
from clusterwright.placeholder import MARK, MARK_IN_BYTES, PLACEHOLDER, around

Places = Mapping[str, str]
"""Patterns of lines with any word where a secret stands, and the lines with placeholders that are to be shown."""

_LEAST = 3  # characters around a placeholder by which its line is known
_WORD, _WORD_IN_JSON = rf"(?!{MARK})\S+", rf"(?!{MARK})[^\s\\]+"  # no placeholder that stands there already


def places_in(tree: Iterable[Artifact]) -> Places:
    """The places of all secrets of a device; those of a file that is a secret alone are not known by any words."""
    lines: set[bytes] = set()
    for artifact in tree:
        if MARK_IN_BYTES in artifact.content:
            lines.update(line for line in artifact.content.split(b"\n") if MARK_IN_BYTES in line)
    places: dict[str, str] = {}
    for line in sorted(lines):
        places.update(_of_line(line.decode("utf-8", "replace")))
    return places


def in_place(text: str, places: Places) -> str:
    """``text`` with placeholders in ``places``, in the place of any value."""
    for pattern, line in places.items():
        text = re.sub(pattern, line.replace("\\", r"\\"), text)
    return text


def _of_line(line: str) -> Iterator[tuple[str, str]]:
    """The line as it stands in a file, and as JSON writes it."""
    placeholders = [match[0] for match in PLACEHOLDER.finditer(line)]
    parts = around(line)
    parts[0] = parts[0].lstrip()
    if not placeholders or len("".join(parts)) < _LEAST:
        return
    for word, literals in ((_WORD, parts), (_WORD_IN_JSON, [json.dumps(part)[1:-1] for part in parts])):
        shown = "".join(part + placeholder for part, placeholder in zip(literals, [*placeholders, ""], strict=True))
        yield word.join(re.escape(part) for part in literals), shown
