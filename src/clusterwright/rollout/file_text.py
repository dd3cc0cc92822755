"""Files that change on a device, as a preview shows them: lines of text, and files that change alike once."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

from clusterwright.compare.changes import FileDiff

_COLUMNS = 160
_BEFORE = 60  # columns shown before the place where two long lines part
_WHOLE = 6  # lines up to which a file that comes or goes is shown
_CHANGED = "changed"
_OWN_NAME = re.compile(r"[0-9a-f]{12}|(?:[0-9a-f]{2}-){5}[0-9a-f]{2}|[a-z]+(?:-[a-z]*\d+[a-z0-9]*)+")


def file_lines(files: Sequence[FileDiff], most_files: int, most_lines: int) -> Iterator[str]:
    """The lines about a group's files, indented by two; each kind of file is told once."""
    families = _families(files)
    for family in families[:most_files]:
        yield f"  {family[0].status} /{family[0].path}{_size(family[0])}"
        yield from _shown(family[0], most_lines)
        if len(family) > 1:
            yield f"  and {len(family) - 1:,} more alike, the last /{family[-1].path}"
    rest = families[most_files:]
    if rest:
        yield f"  … and {sum(map(len, rest)):,} more files"


def _families(files: Sequence[FileDiff]) -> list[list[FileDiff]]:
    """Files that are one for each node or digest, and change by as many lines; what changes comes before the rest."""
    found: dict[tuple[object, ...], list[FileDiff]] = {}
    for diff in files:
        parts = PurePosixPath(_OWN_NAME.sub("*", diff.path))
        signs = Counter(line[:1] for line in diff.lines)
        lines = () if _is_binary(diff) else (signs["+"], signs["-"])
        found.setdefault((diff.status, parts, lines), []).append(diff)
    return sorted(found.values(), key=lambda family: (family[0].status != _CHANGED, _is_binary(family[0])))


def _shown(diff: FileDiff, most: int) -> Iterator[str]:
    if _size(diff):
        return
    yield from (f"    {_cut(line)}" for line in _focused(diff.lines)[:most])
    if len(diff.lines) > most:
        yield f"    … {len(diff.lines) - most:,} more lines"


def _focused(lines: Sequence[str]) -> list[str]:
    """Long lines that replace each other, cut at the front so that where they part is in sight."""
    found = list(lines)
    at = 0
    while at < len(found):
        start = at
        while at < len(found) and found[at].startswith("-"):
            at += 1
        removed = at - start
        while at < len(found) and found[at].startswith("+"):
            at += 1
        for old in range(start, min(start + removed, at - removed)):
            new = old + removed
            same = _same_start(found[old][1:], found[new][1:])
            if max(len(found[old]), len(found[new])) > _COLUMNS and same > _COLUMNS // 2:
                for index in (old, new):
                    found[index] = f"{found[index][0]}… {found[index][1 + same - _BEFORE :]}"
        at = max(at, start + 1)
    return found


def _same_start(one: str, other: str) -> int:
    """How many characters two texts begin with alike."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (left, right) in pairs if left != right), min(len(one), len(other)))


def _size(diff: FileDiff) -> str:
    """What stands for the lines of a file that is not shown; "" for one that is."""
    if _is_binary(diff):
        return " (binary)"
    count = sum(1 for line in diff.lines if not line.startswith("@@"))
    if not any(line[:1] in "+-" for line in diff.lines):
        return "" if diff.status == _CHANGED else " (empty)"
    if diff.status == _CHANGED or count <= _WHOLE:
        return ""
    return f" ({count:,} lines)"


def _is_binary(diff: FileDiff) -> bool:
    return any("\0" in line for line in diff.lines)


def _cut(line: str) -> str:
    return line if len(line) <= _COLUMNS else f"{line[: _COLUMNS - 1]}…"
