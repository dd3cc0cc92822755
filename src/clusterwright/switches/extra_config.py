"""The spec's manual additions to a switch's configuration, merged into the rendered one.

Entries apply in the order of the spec. EOS takes lines: an existing section gets the new ones at its end, any other is
added before the end of the file; ``router bgp`` without a number is the switch's own. JSON files take merge patches
(RFC 7396).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from clusterwright.plan.model import Device, Plan
    from clusterwright.spec.ethernet import ExtraConfig

END = "end"
BGP = "router bgp"
SEPARATOR = "!"


def with_lines(plan: Plan, device: Device, text: str) -> str:
    """EOS text with the spec's lines for this switch."""
    entries = _entries(plan, device)
    if not entries:
        return text
    lines = text.splitlines()
    for entry in entries:
        for header, body in _sections(entry.lines):
            _add(lines, header, body)
    return "\n".join(lines) + "\n"


def with_patches(plan: Plan, device: Device, file: str, document: dict[str, Any]) -> dict[str, Any]:
    """A JSON file with the spec's patches for this switch's ``file``, named by its path on the device."""
    patches = [entry.merge for entry in _entries(plan, device) if entry.file == file]
    return reduce(merge_patch, patches, document)


def merge_patch(target: Any, patch: Mapping[str, Any]) -> dict[str, Any]:
    """RFC 7396: objects merge, null takes away, everything else replaces; neither argument is changed."""
    merged = dict(target) if isinstance(target, Mapping) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        elif isinstance(value, Mapping):
            merged[key] = merge_patch(merged.get(key), value)
        else:
            merged[key] = value
    return merged


def _entries(plan: Plan, device: Device) -> list[ExtraConfig]:
    """The spec's entries for a switch, in the order of the spec."""
    return [entry for entry in plan.spec.extra_config if entry.concerns(device.name, device.role, device.fabric)]


def _sections(lines: Sequence[str]) -> list[tuple[str, list[str]]]:
    """Lines at the margin, each with the indented ones below it."""
    sections: list[tuple[str, list[str]]] = []
    for line in lines:
        if line.startswith(" ") and sections:
            sections[-1][1].append(line)
        else:
            sections.append((line, []))
    return sections


def _add(lines: list[str], header: str, body: list[str]) -> None:
    """Insert the lines of a section at the end of the existing one, or as a new section before the end of the file."""
    if header == BGP:
        header = next((line for line in lines if line.startswith(f"{BGP} ")), header)
    if header not in lines:
        position = lines.index(END)
        lines[position:position] = [header, *body, SEPARATOR]
        return
    start = position = lines.index(header) + 1
    while position < len(lines) and lines[position].startswith(" "):
        position += 1
    known_lines = set(lines[start:position])
    lines[position:position] = [line for line in body if line not in known_lines]
