"""Files that change on a device, as a preview shows them: lines of text, and files that change alike once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from clusterwright.compare.changes import FileDiff
from clusterwright.rollout.grouping import BINARY, FileChange

_COLUMNS = 160
_BEFORE = 60  # columns shown before the place where two long lines part
_WHOLE = 6  # lines up to which a file that comes or goes is shown
_CHANGED = "changed"


def file_lines(files: Sequence[FileChange], most_files: int, most_lines: int) -> Iterator[str]:
    """The lines about a group's files, indented by two; what changes comes before what comes or goes."""
    ordered = sorted(files, key=lambda file: (file.diff.status != _CHANGED, _is_binary(file.diff), file.diff.status))
    for file in ordered[:most_files]:
        yield f"  {file.diff.status} /{file.diff.path}{_size(file.diff)}"
        yield from _shown(file.diff, most_lines)
        if file.also:
            yield f"  {file.diff.status} {len(file.also):,} more files of that pattern, the last /{file.also[-1]}"
    count = sum(1 + len(file.also) for file in ordered[most_files:])
    if count:
        yield f"  … and {count:,} more file{'' if count == 1 else 's'}"


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
    return diff.lines == (BINARY,)


def _cut(line: str) -> str:
    return line if len(line) <= _COLUMNS else f"{line[: _COLUMNS - 1]}…"
