"""Reading scanned labels: a CSV file of device, port and GUID.

Scanners and vendors write a GUID in many ways (``0x0c42a10300b2e41c``, ``0c:42:a1:03:00:b2:e4:1c``); all of them are
read. Anything that cannot be a port's or switch's GUID is refused at its line and column (CW143), never guessed at.
"""

from __future__ import annotations

import re
from pathlib import Path as FilePath

from clusterwright.finding import Position, SpecError
from clusterwright.spec.infiniband import GuidFile, ScannedGuid
from clusterwright.spec.labels.rows import LabelFile
from clusterwright.spec.reading import Reading
from clusterwright.spec.text.document import Path

BAD_LABEL = "CW143"
_SEPARATORS = re.compile(r"[:.\-_ ]")
_GUID_DIGITS = 16
_MAC_DIGITS = 12
# The first byte of an EUI-64 (IEEE): bit 0 marks the identifier of a group.
_GROUP_BIT = 1 << 56
_ALL_ONES = (1 << 64) - 1


def guid_of(text: str) -> int | tuple[str, str]:
    """The GUID of a label, or its error and the remedy."""
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

    Raises SpecError with a finding at the line and column of every wrong label (CW143), and for an unreadable file
    (CW101).
    """
    labels = LabelFile(file, BAD_LABEL, "guid")
    rows = []
    for row in labels.rows(path):
        guid = guid_of(row.text)
        if isinstance(guid, int):
            rows.append(
                ScannedGuid(device=row.device, port=row.port, guid=guid, position=Position(file, row.line, row.column))
            )
        else:
            labels.problem(row.line, row.column, *guid)
    if labels.findings:
        raise SpecError(labels.findings)
    return GuidFile(file, tuple(rows), place)


def labels_named(reading: Reading, _: str, path: Path) -> GuidFile | None:
    """The labels in the file named at ``path`` in the spec; None, with a finding, for an unreadable one."""
    return reading.named_file(path, lambda file: (read_guid_file(file, str(file), path), ()))


def _is_hexadecimal(text: str) -> bool:
    return all(digit in "0123456789abcdef" for digit in text)
