"""Reading the labels that somebody scanned: a CSV file of device, port and GUID.

Scanners and vendors write a GUID in many ways (``0x0c42a10300b2e41c``, ``0c:42:a1:03:00:b2:e4:1c``); all of them are
read. What cannot be a port's or switch's GUID is refused at its line and column (CW143), never guessed at.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path as FilePath

from clusterwright.finding import Finding, Position, Severity, SpecError
from clusterwright.spec.infiniband import GuidFile, ScannedGuid
from clusterwright.spec.reading import Reading
from clusterwright.spec.text.document import Path
from clusterwright.spec.text.source import read_text, refuse_characters

BAD_LABEL = "CW143"
COLUMNS = ("device", "port", "guid")

_SEPARATORS = re.compile(r"[:.\-_ ]")
_GUID_DIGITS = 16
_MAC_DIGITS = 12
# The first byte of an EUI-64 (IEEE): bit 0 says that it names a group and not one device.
_GROUP_BIT = 1 << 56
_ALL_ONES = (1 << 64) - 1


@dataclass(slots=True)
class _Reader:
    """Reads one file; ``findings`` fills up instead of stopping at the first mistake."""

    file: str
    findings: list[Finding] = field(default_factory=list)

    def problem(self, line: int, column: int, message: str, hint: str) -> None:
        self.findings.append(Finding(BAD_LABEL, Severity.ERROR, message, hint, Position(self.file, line, column)))

    def rows(self, text: str) -> Iterator[ScannedGuid]:
        order: dict[str, int] | None = None
        for number, line in enumerate(text.split("\n"), 1):
            fields = _fields(line)
            if not line.strip() or line.startswith("#"):
                continue
            if order is None:
                order = self.header(number, fields)
                if order is None:
                    return
                continue
            row = self.row(number, fields, order)
            if row is not None:
                yield row
        if order is None:
            self.problem(1, 1, "the file has no header.", f"Begin it with the line {','.join(COLUMNS)}.")

    def header(self, line: int, fields: list[tuple[int, str]]) -> dict[str, int] | None:
        order = {text.lower(): at for at, (_, text) in enumerate(fields)}
        missing = [name for name in COLUMNS if name not in order]
        if missing:
            hint = f"Begin the file with the line {','.join(COLUMNS)}; further columns may follow."
            self.problem(line, 1, f'the header has no column "{missing[0]}".', hint)
            return None
        return order

    def row(self, line: int, fields: list[tuple[int, str]], order: dict[str, int]) -> ScannedGuid | None:
        if len(fields) <= max(order[name] for name in COLUMNS):
            self.problem(line, 1, f"the line has {len(fields)} of {len(order)} fields.", "Write one comma between two.")
            return None
        (device_at, device), (_, port), (column, text) = (fields[order[name]] for name in COLUMNS)
        if not device:
            self.problem(line, device_at, "the line names no device.", "Write the device's planned name.")
            return None
        guid = self.guid(line, column, text)
        return None if guid is None else ScannedGuid(device, port, guid, Position(self.file, line, column))

    def guid(self, line: int, column: int, text: str) -> int | None:
        found = guid_of(text)
        if isinstance(found, int):
            return found
        self.problem(line, column, *found)
        return None


def guid_of(text: str) -> int | tuple[str, str]:
    """The GUID that a label has, or what is wrong with it and how to mend that."""
    digits = _SEPARATORS.sub("", text.lower().removeprefix("0x"))
    if len(digits) == _MAC_DIGITS and _is_hexadecimal(digits):
        return f'"{text}" has 12 digits: a MAC address.', "Scan the label that says GUID."
    if len(digits) != _GUID_DIGITS or not _is_hexadecimal(digits):
        hint = "A GUID has 16 hexadecimal digits, as in 0x0c42a10300b2e41c or 0c:42:a1:03:00:b2:e4:1c."
        return f'"{text}" is not a GUID.', hint
    value = int(digits, 16)
    if value in (0, _ALL_ONES):
        return f'"{text}" is what an unwritten label holds.', "Scan the label again."
    if value & _GROUP_BIT:
        hint = "The second digit of a device's GUID is even; scan the label again."
        return f'"{text}" names a multicast group, not a device.', hint
    return value


def read_guid_file(path: FilePath, file: str, place: Path) -> GuidFile:
    """The labels in ``path``, called ``file`` in findings and named at ``place`` in the spec.

    Raises SpecError with a finding at the line and column of everything that is no label (CW143), and for a file that
    cannot be read (CW101).
    """
    text = read_text(path, file).removeprefix("\ufeff").replace("\r\n", "\n")
    refuse_characters(text, file)
    reader = _Reader(file)
    rows = tuple(reader.rows(text))
    if reader.findings:
        raise SpecError(reader.findings)
    return GuidFile(file, rows, place)


def labels_named(reading: Reading, _: str, path: Path) -> GuidFile | None:
    """The labels in the file that the spec names at ``path``; None, and recorded, where they cannot be read."""
    return reading.named_file(path, lambda file: (read_guid_file(file, str(file), path), ()))


def _fields(line: str) -> list[tuple[int, str]]:
    """The fields of a line, each with its column from 1. Quotes around a field are what a spreadsheet adds."""
    found: list[tuple[int, str]] = []
    column = 1
    for field_text in line.split(","):
        bare = field_text.strip()
        found.append((column + len(field_text) - len(field_text.lstrip()), bare.strip('"')))
        column += len(field_text) + 1
    return found


def _is_hexadecimal(text: str) -> bool:
    return all(digit in "0123456789abcdef" for digit in text)
