"""The lines of a difference as a terminal shows them: no more than fit, and of long ones the place where they part."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

_COLUMNS = 160
_BEFORE = 60  # columns shown before the place where two long lines part


def shown_lines(lines: Sequence[str], most: int) -> Iterator[str]:
    """The first ``most`` of a unified diff's lines, cut to 160 columns, and how many more there are.

    A table of FBOSS is one line of JSON with thousands of characters: of two that replace each other, what is shown
    begins shortly before the first that differs.
    """
    yield from (_cut(line) for line in _focused(lines)[:most])
    if len(lines) > most:
        yield f"… {len(lines) - most:,} more lines"


def _focused(lines: Sequence[str]) -> list[str]:
    """Long lines that replace each other, cut at the front so that where they part is in sight."""
    focused = list(lines)
    at = 0
    while at < len(focused):
        start = at
        while at < len(focused) and focused[at].startswith("-"):
            at += 1
        removed = at - start
        while at < len(focused) and focused[at].startswith("+"):
            at += 1
        for old in range(start, min(start + removed, at - removed)):
            new = old + removed
            same = _same_start(focused[old][1:], focused[new][1:])
            if max(len(focused[old]), len(focused[new])) > _COLUMNS and same > _COLUMNS // 2:
                for index in (old, new):
                    focused[index] = f"{focused[index][0]}… {focused[index][1 + same - _BEFORE :]}"
        at = max(at, start + 1)
    return focused


def _same_start(one: str, other: str) -> int:
    """How many characters two texts begin with alike."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (left, right) in pairs if left != right), min(len(one), len(other)))


def _cut(line: str) -> str:
    return line if len(line) <= _COLUMNS else f"{line[: _COLUMNS - 1]}…"
