"""Reading MAC addresses noted at the delivery of nodes: a CSV file of device, port and mac.

Anything that cannot be an adapter's own address (a group's, zeros, too few digits) is refused at its line (CW149).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path as FilePath

from clusterwright.finding import Finding
from clusterwright.spec.labels.rows import LabelFile
from clusterwright.spec.reading import Reading
from clusterwright.spec.text.document import Path

BAD_MAC = "CW149"
_SEPARATORS = re.compile(r"[:.\- ]")
_DIGITS = 12
_GROUP_BIT = 1 << 40  # of the first octet (IEEE 802): the address of a group, not of one adapter


@dataclass(frozen=True, slots=True)
class NotedMac:
    """One row: the adapter ``port`` of ``device`` has the address ``mac``, an integer of 48 bits."""

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
        """Addresses by (device, port), including those of the overlay file."""
        return {(row.device, row.port): row.mac for row in (*self.rows, *self.overlay)}


def read_macs(file: FilePath) -> tuple[MacFile, tuple[Finding, ...]]:
    """The readable rows of ``file``, and a finding for each other one. Raises SpecError as reading does."""
    labels = LabelFile(str(file), BAD_MAC, "mac")
    rows: dict[int, NotedMac] = {}
    ends: dict[tuple[str, str], int] = {}
    for row in labels.rows(file):
        mac = mac_of(row.text)
        if mac is None:
            message, hint = (
                f'"{row.text}" is not an adapter\'s MAC address.',
                "Write it as on the label: 0c:42:a1:5b:00:0c.",
            )
            labels.problem(row.line, 1, message, hint)
        elif mac in rows:
            message = f"line {rows[mac].line} has this address already."
            labels.problem(row.line, 1, message, "Check both labels.")
        elif (first := ends.setdefault((row.device, row.port), row.line)) != row.line:
            message = f"{row.device} {row.port} has an address already, on line {first}."
            labels.problem(row.line, 1, message, "Keep the correct line.")
        else:
            rows[mac] = NotedMac(device=row.device, port=row.port, mac=mac, line=row.line)
    return MacFile(str(file), tuple(rows.values())), tuple(labels.findings)


def macs_named(reading: Reading, _: str, path: Path) -> MacFile | None:
    """Entries of the file named at ``path``; unreadable lines are recorded."""
    return reading.named_file(path, read_macs)


def mac_of(text: str) -> int | None:
    """The address on a label, with any separators; None for an address impossible on an adapter."""
    digits = _SEPARATORS.sub("", text.strip().lower())
    if len(digits) != _DIGITS or not all(char in "0123456789abcdef" for char in digits):
        return None
    value = int(digits, 16)
    return None if value == 0 or value & _GROUP_BIT else value
