"""The lines of a difference on a terminal: a bounded number, with long ones cut around their first difference."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

_COLUMNS = 160
_BEFORE = 60  # columns shown before the first difference of two long lines


def shown_lines(lines: Sequence[str], most: int) -> Iterator[str]:
    """The first ``most`` of a unified diff's lines, cut to 160 columns, and the number of the others.

    A table of FBOSS is one line of JSON with thousands of characters: of a removed and an added line the shown part
    begins shortly before their first difference.
    """
    yield from (_cut(line) for line in _focused(lines)[:most])
    if len(lines) > most:
        yield f"… {len(lines) - most:,} more lines"


def _focused(lines: Sequence[str]) -> list[str]:
    """The lines, with long pairs of removed and added ones cut at the front to show their first difference."""
    focused = list(lines)
    index = 0
    while index < len(focused):
        start = index
        while index < len(focused) and focused[index].startswith("-"):
            index += 1
        removed = index - start
        while index < len(focused) and focused[index].startswith("+"):
            index += 1
        for old in range(start, min(start + removed, index - removed)):
            _focus(focused, old, old + removed)
        index = max(index, start + 1)
    return focused


def _focus(lines: list[str], old: int, new: int) -> None:
    """Cut the lines ``old`` and ``new`` shortly before their first difference, if they are long and begin alike."""
    same = _common_length(lines[old][1:], lines[new][1:])
    if max(len(lines[old]), len(lines[new])) <= _COLUMNS or same <= _COLUMNS // 2:
        return
    for index in (old, new):
        line = lines[index]
        lines[index] = f"{line[0]}… {line[1 + same - _BEFORE :]}"


def _common_length(first: str, second: str) -> int:
    """Length of the common beginning of two texts."""
    for index, (a, b) in enumerate(zip(first, second, strict=False)):
        if a != b:
            return index
    return min(len(first), len(second))


def _cut(line: str) -> str:
    return line if len(line) <= _COLUMNS else f"{line[: _COLUMNS - 1]}…"
