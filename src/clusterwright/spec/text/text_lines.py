"""CW172: every text of a file is one line, at any key."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from clusterwright.finding import Finding, Severity
from clusterwright.spec.text.document import Document, Path, format_path

MORE_THAN_A_LINE = "CW172"

# Control characters, the line ends of Unicode among them: each ends a line, a word or a comment for some reader.
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_WORDS = {"\n": "a line end", "\r": "a line end", "\t": "a tab"}


def broken_lines(document: Document) -> Iterator[tuple[str, Finding]]:
    """A finding for every text and every key with a line end, a tab or another control character, by its path."""
    # Most documents have none, and are not searched with their paths.
    if _CONTROL.search("".join(texts_in(document.data))):
        yield from _in(document, document.data, ())


def texts_in(data: Any) -> list[str]:
    """Every text and every key of YAML or JSON data, at any depth."""
    texts: list[str] = []
    remaining = [data]
    for value in remaining:  # it grows by the values' contents
        if isinstance(value, str):
            texts.append(value)
        elif isinstance(value, Mapping):
            texts += map(str, value)
            remaining += value.values()
        elif isinstance(value, Sequence):
            remaining += value
    return texts


def _in(document: Document, value: Any, path: Path) -> Iterator[tuple[str, Finding]]:
    if isinstance(value, str):
        yield from _of(document, value, path, key=False)
    elif isinstance(value, dict):
        for key, below in value.items():
            yield from _of(document, key, (*path, key), key=True)
            yield from _in(document, below, (*path, key))
    elif isinstance(value, list):
        for index, below in enumerate(value):
            yield from _in(document, below, (*path, index))


def _of(document: Document, text: str, path: Path, *, key: bool) -> Iterator[tuple[str, Finding]]:
    match = _CONTROL.search(text)
    if match is None:
        return
    what = _WORDS.get(match[0], f"the control character U+{ord(match[0]):04X}")
    where = format_path(path, document.data)
    place = "A key" if key else where or "The text"
    position = "at its end" if match.end() == len(text) else f"behind its first {match.start()} characters"
    message = f"{place} has {what} {position}; what is written from it would have another line."
    hint = "Write it on one line; a text folded over several begins with `>-`, which leaves no line end."
    yield (
        where,
        Finding(
            code=MORE_THAN_A_LINE,
            severity=Severity.ERROR,
            message=message,
            hint=hint,
            position=document.locate(path, key=key),
            path=where,
            place=path,
        ),
    )
