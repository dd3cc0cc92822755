"""Edits of single values of rendered switch files: one place of every field there is, changed and taken away."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

_OPPOSITES = {"true": "false", "up": "down", "on": "off", "enable": "disable", "enabled": "disabled"}
_OTHER_WORD = {**_OPPOSITES, **{second: first for first, second in _OPPOSITES.items()}}
_NUMBERED = re.compile(r"\d")
_JsonPath = tuple[str | int, ...]


class ValueEdit(NamedTuple):
    """An edit of a file: the ``field`` that it concerns, what it does, and the text afterwards."""

    field: str
    what: str
    text: str


def json_edits(text: str) -> Iterator[ValueEdit]:
    """Edits of a JSON file, the first place of each field."""
    document = json.loads(text)
    seen: set[str] = set()
    for path, value in _json_places(document, ()):
        field = " / ".join(_general(part) for part in path)
        if field in seen:
            continue
        seen.add(field)
        yield ValueEdit(field, "taken away", _with_json(document, path, None))
        for other in _other_values(value):
            yield ValueEdit(field, f"{value!r} -> {other!r}", _with_json(document, path, other))


def _json_places(node: Any, path: _JsonPath) -> Iterator[tuple[_JsonPath, Any]]:
    if path:
        yield path, node
    keys = node if isinstance(node, dict) else range(len(node)) if isinstance(node, list) else ()
    for key in keys:
        yield from _json_places(node[key], (*path, key))


def _general(part: str | int) -> str:
    """A key, or ``*`` where it is a name or number of which a file has many."""
    return "*" if isinstance(part, int) or _NUMBERED.search(part) or "|" in part else part


def _other_values(value: Any) -> Iterator[Any]:
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int):
        yield value + 1
        yield 0 if value else 9
    elif isinstance(value, str) and value.isdecimal():
        yield str(int(value) + 1)
        yield "0" if int(value) else "9"
    elif isinstance(value, str) and value:
        yield _OTHER_WORD.get(value, f"{value}x")


def _with_json(document: Any, path: _JsonPath, value: Any) -> str:
    """The document with a value in the place of another one; without it, where ``value`` is None."""
    copy = json.loads(json.dumps(document))
    above = copy
    for key in path[:-1]:
        above = above[key]
    if value is None:
        del above[path[-1]]
    else:
        above[path[-1]] = value
    return json.dumps(copy, indent=2)


def line_edits(text: str) -> Iterator[ValueEdit]:
    """Edits of a text whose sections are indented, the first place of each kind of line.

    A line is taken away with all that stands below it.
    """
    lines = text.split("\n")
    above: list[tuple[int, str]] = []
    seen: set[str] = set()
    for index, line in enumerate(lines):
        words = line.split()
        if not words or words[0].startswith(("!", "#")):
            continue
        indent = len(line) - len(line.lstrip())
        above = [section for section in above if section[0] < indent]
        above.append((indent, " ".join(_general(word) for word in words[:6])))
        field = " / ".join(section for _, section in above)
        if field in seen:
            continue
        seen.add(field)
        end = index + 1
        while end < len(lines) and lines[end].strip() and len(lines[end]) - len(lines[end].lstrip()) > indent:
            end += 1
        yield ValueEdit(field, "taken away", "\n".join(lines[:index] + lines[end:]))
        other = _other_line(line)
        yield ValueEdit(
            field, f"{line.strip()} -> {other.strip()}", "\n".join([*lines[:index], other, *lines[index + 1 :]])
        )


def _other_line(line: str) -> str:
    """The line with another last number, or else another last word."""
    numbers = list(re.finditer(r"\d+", line))
    if numbers:
        last = numbers[-1]
        return f"{line[: last.start()]}{int(last[0]) + 1}{line[last.end() :]}"
    body = line.rstrip(" :")
    kept, blank, word = body.rpartition(" ")
    return f"{kept}{blank}{_OTHER_WORD.get(word, f'{word}x')}{line[len(body) :]}"
