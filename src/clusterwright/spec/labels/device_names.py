"""Names given by the site to devices: a pattern for a node group or tier, or a CSV file of single names.

Every device has a planned name, by its group and number (``su-p00r001n3``, ``leaf-p00-01``). A site with other names
sets them in the file of ``device_names``, or by the ``name_pattern`` of a node group or tier. The file has priority.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import NamedTuple

from clusterwright.finding import Finding
from clusterwright.spec.labels.rows import LabelFile
from clusterwright.spec.reading import Reading
from clusterwright.spec.text.document import Path

BAD_NAME = "CW233"
NAME_RULE = "lower case letters, digits and dashes, a letter first, at most 63 characters"

_NAME = re.compile(r"[a-z]([a-z0-9-]{0,61}[a-z0-9])?")
_FIELD = re.compile(r"\{([a-z][a-z0-9-]*)(?:\+([0-9]+))?(?::0?([1-9]))?\}")
_COUNTED = re.compile(r"([a-z]+)([0-9]+)")


class SiteName(NamedTuple):
    """The site's name of the device with a planned name, at ``line`` of its file."""

    planned: str
    name: str
    line: int


@dataclass(frozen=True, slots=True)
class DeviceNames:
    """A file of names, by planned name."""

    file: str
    names: Mapping[str, SiteName]


def is_host_name(text: str) -> bool:
    """Whether a device can have this name: one label of a DNS name, in lower case."""
    return _NAME.fullmatch(text) is not None


def read_device_names(file: FilePath) -> tuple[DeviceNames, tuple[Finding, ...]]:
    """The readable rows of ``file``, and a finding for each other one (CW233)."""
    rows = LabelFile(str(file), BAD_NAME, "name", keys=("planned",))
    by_planned: dict[str, SiteName] = {}
    line_of: dict[str, int] = {}
    for row in rows.rows(file):
        if not is_host_name(row.text):
            rows.problem(row.line, row.column, f'"{row.text}" is no host name.', f"Write {NAME_RULE}.")
        elif row.device in by_planned:
            message = f"{row.device} has a name already, on line {by_planned[row.device].line}."
            rows.problem(row.line, 1, message, "Keep the correct line.")
        elif row.text in line_of:
            message = f'"{row.text}" is the name of another device already, on line {line_of[row.text]}.'
            rows.problem(row.line, row.column, message, "Give each device a name of its own.")
        else:
            by_planned[row.device] = SiteName(row.device, row.text, row.line)
            line_of[row.text] = row.line
    return DeviceNames(str(file), by_planned), tuple(rows.findings)


def device_names_named(reading: Reading, _: str, path: Path) -> DeviceNames | None:
    """The names in the file named at ``path`` in the spec; unreadable lines are recorded."""
    return reading.named_file(path, read_device_names)


def numbers_in(place: str, levels_of_code: Mapping[str, Iterable[str]]) -> dict[str, int]:
    """The number of each level in the name of a group: p03r017 has those of a pod and a rack."""
    numbers = {}
    for code, digits in _COUNTED.findall(place):
        for level in levels_of_code.get(code, ()):
            numbers[level] = int(digits)
    return numbers


def fields_of(pattern: str) -> Sequence[str]:
    """The fields of a pattern, in its order."""
    return [match[1] for match in _FIELD.finditer(pattern)]


def filled(pattern: str, numbers: Mapping[str, int]) -> str:
    """A pattern with its numbers: ``su-{su+1:02}-node-{node+1:02}`` is su-01-node-04 for su 0 and node 3.

    Raises KeyError for a field without a number.
    """

    def number(match: re.Match[str]) -> str:
        counted = numbers[match[1]] + int(match[2] or 0)
        return f"{counted:0{match[3] or 1}d}"

    return _FIELD.sub(number, pattern)
