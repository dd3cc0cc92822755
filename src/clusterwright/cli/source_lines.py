"""Lines of files, shown below findings."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from clusterwright.spec.text.source import MAX_BYTES


def source_line(file: str, line: int) -> str | None:
    """Line ``line`` of ``file``, from 1; None for an unreadable file."""
    lines = _lines(file)
    return lines[line - 1] if 0 < line <= len(lines) else None


@cache
def _lines(file: str) -> tuple[str, ...]:
    try:
        path = Path(file)
        if not path.is_file() or path.stat().st_size > MAX_BYTES:
            return ()
        text = path.read_bytes().decode("utf-8", "replace")
    except (OSError, ValueError):
        return ()
    return tuple(text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n"))
