"""Changed files of a device as lines of a preview."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from clusterwright.compare.changes import FileDiff
from clusterwright.compare.configuration import BINARY
from clusterwright.compare.diff_lines import shown_lines
from clusterwright.rollout.preview.grouping import FileChange

_WHOLE = 6  # most lines of a shown new or removed file
_CHANGED = "changed"


def file_lines(files: Sequence[FileChange], most_files: int, most_lines: int) -> Iterator[str]:
    """Lines about a group's files, indented by two: changed files first, then new and removed ones."""
    ordered = sorted(files, key=lambda file: (file.diff.status != _CHANGED, _is_binary(file.diff), file.diff.status))
    for file in ordered[:most_files]:
        yield f"  {file.diff.status} /{file.diff.path}{_size(file.diff)}"
        yield from _shown(file.diff, most_lines)
        if file.also:
            yield f"  {file.diff.status} {len(file.also):,} more files of that pattern, the last /{file.also[-1]}"
    count = sum(1 + len(file.also) for file in ordered[most_files:])
    if count:
        noun = "file" if count == 1 else "files"
        yield f"  … and {count:,} more {noun}"


def _shown(diff: FileDiff, most: int) -> Iterator[str]:
    if _size(diff):
        return
    yield from (f"    {line}" for line in shown_lines(diff.lines, most))


def _size(diff: FileDiff) -> str:
    """A text in the place of a hidden file's lines; "" for a shown one."""
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
