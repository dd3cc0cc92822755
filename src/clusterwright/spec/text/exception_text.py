"""An exception written into the text of a spec, or removed from it: every other line stays unchanged.

Only the block style of the references is edited. The caller reads the text again and compares: a result other than
intended is then refused.
"""

from __future__ import annotations

import json
import re

from clusterwright.finding import ClusterwrightError
from clusterwright.spec.model import SpecException
from clusterwright.spec.text.document import Document

_KEY = re.compile(r"exceptions:[ \t]*(#.*)?$")
_EMPTY = re.compile(r"exceptions:[ \t]*\[[ \t]*\][ \t]*(#.*)?$")
_ITEM = re.compile(r"( *)- ")


def with_exception(text: str, item: SpecException) -> str:
    """``text`` of a spec's file with ``item`` as the first of its exceptions. Raises ClusterwrightError."""
    lines = text.splitlines(keepends=True)
    start = _first_line(lines)
    if start is None:
        end = "" if not text or text.endswith("\n") else "\n"
        return f"{text}{end}\nexceptions:\n{_written(item, '  ')}"
    if _EMPTY.match(lines[start]):
        lines[start] = "exceptions:\n"
    elif not _KEY.match(lines[start]):
        raise ClusterwrightError(_by_hand(item))
    matches = [match for match in map(_ITEM.match, lines[start + 1 :]) if match is not None]
    lines.insert(start + 1, _written(item, matches[0][1] if matches else "  "))
    return "".join(lines)


def _first_line(lines: list[str]) -> int | None:
    """Index of the line of ``exceptions:``; None without one."""
    for index, line in enumerate(lines):
        if line.startswith("exceptions:"):
            return index
    return None


def without_exception(text: str, document: Document, item: SpecException) -> str:
    """``text`` of the file with ``item``, without it. Raises ClusterwrightError."""
    lines = text.splitlines(keepends=True)
    start = document.locate(item.path).line - 1
    dash = _ITEM.match(lines[start])
    if dash is None:
        raise ClusterwrightError(
            f"{document.locate(item.path).file}:{start + 1}: this exception does not begin its own line, so it is not "
            "removed by a program. Remove it by hand, and run `clusterwright up`."
        )
    end = start + 1
    while end < len(lines) and _indentation(lines[end]) > len(dash[1]):
        end += 1
    del lines[start:end]
    rest = "".join(lines)
    if len(document.at(item.path[:-1])) > 1:
        return rest
    return re.sub(r"\n?^exceptions:[ \t]*(#.*)?\n", "", rest, flags=re.MULTILINE)


def _indentation(line: str) -> int:
    """Blanks at the beginning of a line; -1 for a blank line."""
    return len(line) - len(line.lstrip(" ")) if line.strip() else -1


def _written(item: SpecException, indent: str) -> str:
    until = item.until.isoformat() if item.until is not None else None
    rows = [
        ("device", item.device),
        ("group", item.group),
        ("port", json.dumps(item.port) if item.port else None),
        ("state", item.state),
        ("until", until),
    ]
    rows = [(key, value) for key, value in rows if value]
    lines = [f"{key}: {value}" for key, value in rows]
    lines.append(f"reason: {json.dumps(item.reason, ensure_ascii=False)}")
    first, *others = lines
    return "".join([f"{indent}- {first}\n", *(f"{indent}  {line}\n" for line in others)])


def _by_hand(item: SpecException) -> str:
    return (
        "`exceptions:` of the spec is not a list with an item a line, so nothing is written into it. Write it by hand, "
        f"and run `clusterwright up`:\n{_written(item, '  ')}"
    )
