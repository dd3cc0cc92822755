"""Reading the overlay file: facts recorded in the data hall, a CSV file beside the spec.

A row describes a device (serial number, asset tag, place), or one of its ports (MAC address, GUID, number of its
cable). An invalid row is refused at its line (CW280).
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path as FilePath
from typing import NamedTuple

from clusterwright.finding import MOST_TOLD, Finding, Position, Severity
from clusterwright.nearest_name import did_you_mean
from clusterwright.spec.labels.guids import guid_of
from clusterwright.spec.labels.macs import mac_of
from clusterwright.spec.text.formulas import FORMULA_STARTS
from clusterwright.spec.text.source import delimiter_of, read_text, refuse_characters

NOT_NOTED = "CW280"
MAX_BYTES = 64 * 1024 * 1024
OF_DEVICE, OF_PORT = ("serial", "asset_tag", "rack", "unit"), ("mac", "guid", "cable")
COLUMNS = ("device", "port", *OF_DEVICE, *OF_PORT)
_LONGEST = 50  # characters of a serial number or asset tag, in NetBox and Nautobot alike
_MOST_UNITS = 100  # of a rack


class OverlayRow(NamedTuple):
    """A row; ``port`` is "" for the device as a whole. ``unit`` is the lowest rack unit, from 1."""

    device: str
    port: str
    serial: str | None
    asset_tag: str | None
    rack: str | None
    unit: float | None
    mac: int | None
    guid: int | None
    cable: str | None
    line: int


@dataclass(frozen=True)
class Overlay:
    """An overlay file."""

    file: str
    rows: tuple[OverlayRow, ...]

    def __bool__(self) -> bool:
        return bool(self.rows)

    @cached_property
    def by_end(self) -> Mapping[tuple[str, str], OverlayRow]:
        """The rows by device and port, "" for the device itself."""
        return {(row.device, row.port): row for row in self.rows}


NO_OVERLAY = Overlay("", ())


def read_overlay(path: FilePath, file: str) -> tuple[Overlay, list[Finding]]:
    """Rows of the file at ``path``, and their errors. Raises SpecError for an unreadable file."""
    findings: list[Finding] = []
    text = read_text(path, file, MAX_BYTES).removeprefix("\ufeff").replace("\r\n", "\n")
    refuse_characters(text, file)
    return Overlay(file, tuple(_rows(text, file, findings))), findings


def overlay_text(rows: Sequence[OverlayRow]) -> str:
    """The text of a file with these rows."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows((COLUMNS, *map(_cells, rows)))
    return text.getvalue()


def refused(row: OverlayRow) -> str | None:
    """The reason against a row in the file, None for a valid one."""
    row_or_problem = _row(dict(zip(COLUMNS, _cells(row), strict=True)), row.line)
    return None if isinstance(row_or_problem, OverlayRow) else row_or_problem[0]


def _cells(row: OverlayRow) -> Iterator[str]:
    for name in COLUMNS:
        value = getattr(row, name)
        if value is None:
            yield ""
        elif name == "mac":
            yield value.to_bytes(6, "big").hex(":")
        elif name == "guid":
            yield f"0x{value:016x}"
        else:
            yield f"{value:g}" if isinstance(value, float) else value


def _rows(text: str, file: str, findings: list[Finding]) -> Iterator[OverlayRow]:
    def problem(line: int, message: str, hint: str) -> None:
        if len(findings) < MOST_TOLD:
            findings.append(
                Finding(
                    code=NOT_NOTED,
                    severity=Severity.ERROR,
                    message=message,
                    hint=hint,
                    position=Position(file, line, 1),
                )
            )

    order: list[str] | None = None
    delimiter = delimiter_of(text)
    for line, raw in enumerate(text.split("\n"), 1):
        if not raw.strip() or raw.startswith("#"):
            continue
        try:
            fields = [field.strip() for field in next(csv.reader([raw], delimiter=delimiter))]
        except csv.Error as error:
            problem(line, f"This is no line of CSV: {error}.", "Scan its labels again.")
            continue
        if order is None:
            order = [field.lower() for field in fields]
            wrong = _wrong_header(order)
            if wrong:
                problem(line, *wrong)
                return
            continue
        row = _row_of(fields, order, line)
        if isinstance(row, OverlayRow):
            yield row
        else:
            problem(line, *row)
    if order is None:
        problem(1, "The file has no header.", f"Begin it with the line {','.join(COLUMNS)}; leave out what you lack.")


def _row_of(fields: list[str], order: list[str], line: int) -> OverlayRow | tuple[str, str]:
    """The row of a line with fields in the ``order`` of the header; else its error, and a hint."""
    if len(fields) != len(order):
        return f"The line has {len(fields)} of {len(order)} fields.", "Write one comma between two."
    return _row(dict(zip(order, fields, strict=True)), line)


def _wrong_header(order: list[str]) -> tuple[str, str] | None:
    for name in order:
        if name not in COLUMNS:
            hint = did_you_mean(name, COLUMNS, f"The columns are {', '.join(COLUMNS)}.")
            return f'There is no column "{name}".', hint
        if order.count(name) > 1:
            return f'The column "{name}" is there twice.', "Keep the one that is meant."
    return None if "device" in order else ('There is no column "device".', "Name the device of each row.")


def _row(cells: Mapping[str, str], line: int) -> OverlayRow | tuple[str, str]:
    device, port = cells["device"], cells.get("port", "")
    if not device:
        return "The line names no device.", "Write the device's planned name."
    misplaced = OF_DEVICE if port else ("mac", "cable")
    for name in misplaced:
        if cells.get(name):
            of = "a whole device" if port else "a port"
            return f'"{name}" is of {of}.', "Leave the port out." if port else "Name the port."
    for name in ("serial", "asset_tag", "cable"):
        if len(cells.get(name, "")) > _LONGEST or not cells.get(name, "").isprintable():
            return f'"{name}" is no text of at most {_LONGEST} characters.', "Scan the label again."
        if cells.get(name, "")[:1] in FORMULA_STARTS:
            return f'"{name}" begins as a formula does, which spreadsheets run.', "Leave that character out."
    unit = _unit_of(cells.get("unit", ""))
    mac = mac_of(cells["mac"]) if cells.get("mac") else None
    guid = guid_of(cells["guid"]) if cells.get("guid") else None
    if unit == 0:
        return f'"{cells["unit"]}" is no rack unit.', f"Write the lowest unit that it takes, from 1 to {_MOST_UNITS}."
    if cells.get("mac") and mac is None:
        return f'"{cells["mac"]}" is not an adapter\'s MAC address.', "Write it as on the label: 0c:42:a1:5b:00:0c."
    if isinstance(guid, tuple):
        return guid
    serial, asset_tag, rack, cable = (cells.get(name) or None for name in ("serial", "asset_tag", "rack", "cable"))
    return OverlayRow(
        device=device,
        port=port,
        serial=serial,
        asset_tag=asset_tag,
        rack=rack,
        unit=unit,
        mac=mac,
        guid=guid,
        cable=cable,
        line=line,
    )


def _unit_of(text: str) -> float | None:
    """A rack unit; None for an empty cell, 0 for an invalid one."""
    if not text:
        return None
    try:
        value = float(text)
    except ValueError:
        return 0
    return value if 1 <= value <= _MOST_UNITS else 0
