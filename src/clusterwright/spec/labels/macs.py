"""Reading the MAC addresses that somebody noted when nodes were delivered: a CSV file of device, port and mac.

What cannot be an adapter's own address (a group's, zeros, too few digits) is refused at its line (CW149).
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path as FilePath

from clusterwright.finding import Finding, Position, Severity
from clusterwright.spec.reading import Reading
from clusterwright.spec.text.document import Path
from clusterwright.spec.text.source import read_text

BAD_MAC = "CW149"
COLUMNS = ("device", "port", "mac")
_SEPARATORS = re.compile(r"[:.\- ]")
_DIGITS = 12
_GROUP_BIT = 1 << 40  # of the first octet (IEEE 802): the address of a group, not of one adapter


@dataclass(frozen=True, slots=True)
class NotedMac:
    """One row: the adapter ``port`` of ``device`` bears ``mac``, an integer of 48 bits."""

    device: str
    port: str
    mac: int
    line: int


@dataclass(frozen=True)
class MacFile:
    """A file of noted addresses."""

    file: str
    rows: tuple[NotedMac, ...]
    overlay: tuple[NotedMac, ...] = ()

    @property
    def by_end(self) -> Mapping[tuple[str, str], int]:
        """Addresses by (device, port), those of the overlay file too."""
        return {(row.device, row.port): row.mac for row in (*self.rows, *self.overlay)}


def read_macs(file: FilePath) -> tuple[MacFile, tuple[Finding, ...]]:
    """The rows of ``file`` that can be read, and a finding for each that cannot. Raises SpecError as reading does."""
    findings: list[Finding] = []
    rows = tuple(_rows(str(file), read_text(file, str(file)), findings))
    return MacFile(str(file), rows), tuple(findings)


def macs_named(reading: Reading, _: str, path: Path) -> MacFile | None:
    """What the file holds that the spec names at ``path``; lines that cannot be read are recorded."""
    return reading.named_file(path, read_macs)


def _rows(file: str, text: str, findings: list[Finding]) -> Iterator[NotedMac]:
    def problem(line: int, message: str, hint: str) -> None:
        findings.append(Finding(BAD_MAC, Severity.ERROR, message, hint, Position(file, line, 1)))

    reader = csv.DictReader((line for line in text.splitlines() if not line.startswith("#")), strict=True)
    numbers = [number for number, line in enumerate(text.splitlines(), 1) if not line.startswith("#")]
    missing = [column for column in COLUMNS if column not in (reader.fieldnames or ())]
    if missing:
        problem(1, f"the file has no column {', '.join(missing)}.", f"Begin it with the line {','.join(COLUMNS)}.")
        return
    seen: dict[int, int] = {}
    for row in reader:
        line = numbers[reader.line_num - 1]
        mac = mac_of(row["mac"] or "")
        if mac is None:
            problem(
                line,
                f'"{row["mac"]}" is not an adapter\'s MAC address.',
                "Write it as on the label: 0c:42:a1:5b:00:0c.",
            )
        elif mac in seen:
            problem(line, f"line {seen[mac]} has this address already.", "Look at both labels again.")
        else:
            seen[mac] = line
            yield NotedMac((row["device"] or "").strip(), (row["port"] or "").strip(), mac, line)


def mac_of(text: str) -> int | None:
    """The address that a label has, however its digits are parted; None for what no adapter bears."""
    digits = _SEPARATORS.sub("", text.strip().lower())
    if len(digits) != _DIGITS or not all(char in "0123456789abcdef" for char in digits):
        return None
    value = int(digits, 16)
    return None if value == 0 or value & _GROUP_BIT else value
