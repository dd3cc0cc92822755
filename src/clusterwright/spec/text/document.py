"""Documents: plain YAML data with the file, line and column of every key and value."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path as FilePath
from typing import Any

from clusterwright.finding import Finding, Position, Severity, SpecError
from clusterwright.spec.text.boundary import OUTSIDE, OUTSIDE_HINT, obstacle
from clusterwright.spec.text.source import note_absence

# A path into nested data: mapping keys and sequence indexes, outermost first.
Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Document:
    """Parsed data with positions. The same text is parsed once, so the data of a document must not be changed.

    ``data`` holds only dict, list, str, int, float, bool and None. ``values`` maps a path to the position of its value,
    ``keys`` maps the path of a mapping entry to the position of its key. ``comments`` maps (file, line) to the comment
    on that line, the source of suppressions. ``files`` are the files read, in order.
    """

    file: str
    data: Any
    values: Mapping[Path, Position] = field(repr=False)
    keys: Mapping[Path, Position] = field(repr=False)
    comments: Mapping[tuple[str, int], str] = field(repr=False)
    files: tuple[str, ...] = ()

    def at(self, path: Path) -> Any:
        """The data at ``path``; None for a missing one."""
        value = self.data
        for part in path:
            value = _step(value, part)
        return value

    def named_file(self, path: Path, code: str = "CW101") -> FilePath:
        """The file named in the text at ``path``, relative to the file of that text.

        Raises SpecError, at the text, if no such file can be read.
        """
        name = str(self.at(path))
        file = FilePath(os.path.normpath(FilePath(self.locate(path).file).parent / name))
        hint = f"Name a file relative to {self.locate(path).file}."
        problem = obstacle(file)
        if problem is not None:  # a forbidden path is not checked for existence either
            code, hint = OUTSIDE, OUTSIDE_HINT
        else:
            problem = _read_problem(file)
        if problem is not None:
            finding = Finding(
                code=code,
                severity=Severity.ERROR,
                message=f"{file} {problem}.",
                hint=hint,
                position=self.locate(path),
                path=format_path(path),
                place=path,
            )
            raise SpecError([finding])
        return file

    def locate(self, path: Path, *, key: bool = False) -> Position:
        """The position of the value (or key) at ``path``; for a derived path that of its nearest known ancestor."""
        first = self.keys if key else self.values
        if path in first:
            return first[path]
        for end in range(len(path), -1, -1):
            if path[:end] in self.values:
                return self.values[path[:end]]
        return Position(self.file, 1, 1)


def _read_problem(file: FilePath) -> str | None:
    """Why a file cannot be read, as the end of a sentence; None if it can."""
    if not os.path.lexists(file):
        note_absence(file)
        return "does not exist"
    if not file.exists():
        return "is a link that leads nowhere"
    if not file.is_file():
        return "is no file"
    if not os.access(file, os.R_OK):
        return "cannot be read: permission denied"
    return None


def format_path(path: Path, data: Any = None) -> str:
    """``("fabrics", 0, "tiers")`` as ``fabrics[0].tiers``; items by name or role if ``data`` has one."""
    text = ""
    value = data
    for part in path:
        value = _step(value, part)
        if isinstance(part, int):
            label: object = part
            if isinstance(value, dict):
                label = value.get("name") or value.get("role") or value.get("figure") or value.get("level") or part
            text += f"[{label}]"
        else:
            text += f".{part}" if text else str(part)
    return text


def _step(data: Any, part: str | int) -> Any:
    if isinstance(data, dict):
        return data.get(part)
    if isinstance(data, list) and isinstance(part, int) and 0 <= part < len(data):
        return data[part]
    return None
