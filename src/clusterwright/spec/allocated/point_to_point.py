"""Reading a point-to-point list: the laid cables, a CSV file with a row for each.

NVIDIA's Cable Validation Tool has the columns ``A-Node`` (``A-Node Name``), ``A-Port``, ``Z-Node`` and ``Z-Port`` in
any case and order, beside others, its Mission Control ``SRC_NAME``, ``SRC_HCA_PORT``, ``DST_NAME`` and ``DST_PORT``.
The list of cables from ``clusterwright inventory`` has ``a_device``, ``a_port``, ``b_device`` and ``b_port``.
Spreadsheets also separate fields by semicolons or tabs.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path as FilePath
from typing import NamedTuple

from clusterwright.finding import Finding, Position, Severity, SpecError
from clusterwright.spec.allocated.reading import MAX_BYTES, NO_FACT
from clusterwright.spec.text.source import delimiter_of, read_text

_COLUMNS = (
    ("anode", "anodename", "adevice", "srcname"),
    ("aport", "srchcaport", "srcport"),
    ("znode", "znodename", "bdevice", "dstname"),
    ("zport", "bport", "dstport", "dsthcaport"),
)
_EXPECTED = "Begin it with the columns A-Node, A-Port, Z-Node and Z-Port; others may stand beside them."


class LaidCable(NamedTuple):
    """A row of the list: its two ends, unchanged, and its line."""

    a_node: str
    a_port: str
    z_node: str
    z_port: str
    line: int


def read_cables(path: FilePath) -> tuple[LaidCable, ...]:
    """The rows of the list at ``path``. Raises SpecError: CW101 for an unreadable file, CW260 for a wrong list."""
    file = str(path)
    text = read_text(path, file, MAX_BYTES).removeprefix("\ufeff")
    reader = csv.reader(text.splitlines(), delimiter=delimiter_of(text))
    try:
        return tuple(_rows(reader, file))
    except csv.Error as error:
        raise SpecError([no_cable(file, reader.line_num, f"This is no line of CSV: {error}.", _EXPECTED)]) from None


def no_cable(file: str, line: int, message: str, hint: str, code: str = NO_FACT) -> Finding:
    """The finding for a row of the list ``file``."""
    return Finding(code=code, severity=Severity.ERROR, message=message, hint=hint, position=Position(file, line, 1))


def _rows(reader: Iterator[list[str]], file: str) -> Iterator[LaidCable]:
    places: list[int] = []
    for line, row in enumerate(reader, 1):
        if not any(field.strip() for field in row):
            continue
        if not places:
            places = _column_indexes(row, file, line)
            continue
        if len(row) <= max(places):
            message = f"The row has {len(row)} fields, and its columns reach to field {max(places) + 1}."
            raise SpecError([no_cable(file, line, message, "Write one field for each column.")])
        a_node, a_port, z_node, z_port = (row[column].strip() for column in places)
        yield LaidCable(a_node=a_node, a_port=a_port, z_node=z_node, z_port=z_port, line=line)
    if not places:
        raise SpecError([no_cable(file, 1, "The list has no header.", _EXPECTED)])


def _column_indexes(header: list[str], file: str, line: int) -> list[int]:
    """Indexes of the four columns in the header. Raises SpecError for a missing one."""
    names = ["".join(filter(str.isalpha, field.lower())) for field in header]
    indexes = []
    for title, spellings in zip(("A-Node", "A-Port", "Z-Node", "Z-Port"), _COLUMNS, strict=True):
        matching = [names.index(name) for name in spellings if name in names]
        if not matching:
            raise SpecError([no_cable(file, line, f"The list has no column {title}.", _EXPECTED)])
        indexes.append(matching[0])
    return indexes
