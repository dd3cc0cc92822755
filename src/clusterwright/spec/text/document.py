"""Documents: plain YAML data that still knows the file, line and column of every key and value."""

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
    """Parsed data with positions. The same text is parsed once: nobody changes what lies in a document.

    ``data`` holds only dict, list, str, int, float, bool and None. ``values`` maps a path to the position of its value,
    ``keys`` maps the path of a mapping entry to the position of its key. ``comments`` maps (file, line) to the text of
    the comment on that line, which is where suppressions are read from. ``files`` are the files read, in order.
    """

    file: str
    data: Any
    values: Mapping[Path, Position] = field(repr=False)
    keys: Mapping[Path, Position] = field(repr=False)
    comments: Mapping[tuple[str, int], str] = field(repr=False)
    files: tuple[str, ...] = ()

    def at(self, path: Path) -> Any:
        """The data at ``path``; None where there is none."""
        here = self.data
        for part in path:
            here = _step(here, part)
        return here

    def named_file(self, path: Path, code: str = "CW101") -> FilePath:
        """The file that the text at ``path`` names, relative to the file in which that text stands.

        Raises SpecError, at the text, when there is no file of that name to be read.
        """
        name = str(self.at(path))
        file = FilePath(os.path.normpath(FilePath(self.locate(path).file).parent / name))
        hint = f"Name a file relative to {self.locate(path).file}."
        what = obstacle(file)
        if what is not None:  # whether it is there is not told either
            code, hint = OUTSIDE, OUTSIDE_HINT
        elif not os.path.lexists(file):
            note_absence(file)
            what = "does not exist"
        elif not file.is_file():
            what = "is no file" if file.exists() else "is a link that leads nowhere"
        elif not os.access(file, os.R_OK):
            what = "cannot be read: permission denied"
        if what is not None:
            message = f"{file} {what}."
            raise SpecError(
                [
                    Finding(
                        code=code,
                        severity=Severity.ERROR,
                        message=message,
                        hint=hint,
                        position=self.locate(path),
                        path=format_path(path),
                        place=path,
                    )
                ]
            )
        return file

    def locate(self, path: Path, *, key: bool = False) -> Position:
        """The position of the value (or key) at ``path``; of its nearest known ancestor when the path is derived."""
        first = self.keys if key else self.values
        if path in first:
            return first[path]
        for end in range(len(path), -1, -1):
            if path[:end] in self.values:
                return self.values[path[:end]]
        return Position(self.file, 1, 1)


def format_path(path: Path, data: Any = None) -> str:
    """``("fabrics", 0, "tiers")`` as ``fabrics[0].tiers``; items by name or role where ``data`` has one."""
    text = ""
    here = data
    for part in path:
        here = _step(here, part)
        if isinstance(part, int):
            label: object = part
            if isinstance(here, dict):
                label = here.get("name") or here.get("role") or here.get("figure") or here.get("level") or part
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
