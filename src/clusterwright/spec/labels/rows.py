"""The rows of a file of labels: scanned or typed CSV, each row the label of a port of a device."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path as FilePath
from typing import NamedTuple

from clusterwright.finding import Finding, Position, Severity
from clusterwright.spec.text.source import delimiter_of, read_text, refuse_characters


class Label(NamedTuple):
    """A row: the ``text`` of the label of ``port`` of ``device``, with its place; ``port`` is "" in a file without
    ports."""

    device: str
    port: str
    text: str
    line: int
    column: int


@dataclass(frozen=True, slots=True)
class LabelFile:
    """A file with a header of device, port and ``column``. Errors are collected in ``findings``, with ``code``.

    ``keys`` are other names of the columns of device and port, only the device's in a file without ports.
    """

    file: str
    code: str
    column: str
    keys: tuple[str, ...] = ("device", "port")
    findings: list[Finding] = field(default_factory=list)

    def problem(self, line: int, column: int, message: str, hint: str) -> None:
        """Record a finding."""
        self.findings.append(
            Finding(
                code=self.code,
                severity=Severity.ERROR,
                message=message,
                hint=hint,
                position=Position(self.file, line, column),
            )
        )

    def rows(self, path: FilePath) -> Iterator[Label]:
        """The rows of the file at ``path``. Raises SpecError for an unreadable file (CW101)."""
        text = read_text(path, self.file).removeprefix("\ufeff").replace("\r\n", "\n")
        refuse_characters(text, self.file)
        delimiter = delimiter_of(text)
        columns = (*self.keys, self.column)
        order: dict[str, int] | None = None
        for number, line in enumerate(text.split("\n"), 1):
            fields = _fields(line, delimiter)
            if not line.strip() or line.startswith("#"):
                continue
            if order is None:
                order = {name.lower(): index for index, (_, name) in enumerate(fields)}
                missing = [name for name in columns if name not in order]
                if missing:
                    hint = f"Begin the file with the line {','.join(columns)}; further columns may follow."
                    return self.problem(number, 1, f'the header has no column "{missing[0]}".', hint)
            elif len(fields) <= max(order[name] for name in columns):
                message = f"the line has {len(fields)} of {len(order)} fields."
                self.problem(number, 1, message, "Write one comma between two.")
            else:
                device_column, device = fields[order[self.keys[0]]]
                port = fields[order[self.keys[1]]][1] if len(self.keys) > 1 else ""
                column, label = fields[order[self.column]]
                if device:
                    yield Label(device=device, port=port, text=label, line=number, column=column)
                else:
                    self.problem(number, device_column, "the line names no device.", "Write the device's planned name.")
        if order is None:
            self.problem(1, 1, "the file has no header.", f"Begin it with the line {','.join(columns)}.")


def _fields(line: str, delimiter: str) -> list[tuple[int, str]]:
    """The fields of a line without a spreadsheet's quotes, each with its column from 1."""
    fields: list[tuple[int, str]] = []
    column = 1
    for field_text in line.split(delimiter):
        bare = field_text.strip()
        fields.append((column + len(field_text) - len(field_text.lstrip()), bare.strip('"')))
        column += len(field_text) + 1
    return fields
