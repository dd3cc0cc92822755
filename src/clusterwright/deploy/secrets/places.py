"""Places of secrets in a tree's lines, for hiding former values.

A device repeats its own lines in a comparison: after a rotation they have the former value, which is in no source any
more. The rest of the line is known.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping

from clusterwright.artifact import Artifact
from clusterwright.placeholder import MARK, MARK_IN_BYTES, PLACEHOLDER, around

Places = Mapping[str, str]
"""Patterns of lines with any word in the place of a secret, and the lines to show, with placeholders."""

_LEAST = 3  # characters around a placeholder needed to recognise its line
_WORD, _WORD_IN_JSON = rf"(?!{MARK})\S+", rf"(?!{MARK})[^\s\\]+"  # any word but a placeholder


def places_in(tree: Iterable[Artifact]) -> Places:
    """Places of a device's secrets, except those in files without other text."""
    lines: set[bytes] = set()
    for artifact in tree:
        if MARK_IN_BYTES in artifact.content:
            lines.update(line for line in artifact.content.split(b"\n") if MARK_IN_BYTES in line)
    places: dict[str, str] = {}
    for line in sorted(lines):
        places.update(_of_line(line.decode("utf-8", "replace")))
    return places


def in_place(text: str, places: Places) -> str:
    """``text`` with placeholders instead of any value in ``places``."""
    for pattern, line in places.items():
        text = re.sub(pattern, line.replace("\\", r"\\"), text)
    return text


def _of_line(line: str) -> Iterator[tuple[str, str]]:
    """Pattern and shown text of a line, for files and for JSON."""
    placeholders = [match[0] for match in PLACEHOLDER.finditer(line)]
    parts = around(line)
    parts[0] = parts[0].lstrip()
    if not placeholders or len("".join(parts)) < _LEAST:
        return
    for word, literals in ((_WORD, parts), (_WORD_IN_JSON, [json.dumps(part)[1:-1] for part in parts])):
        shown = "".join(part + placeholder for part, placeholder in zip(literals, [*placeholders, ""], strict=True))
        yield word.join(re.escape(part) for part in literals), shown
