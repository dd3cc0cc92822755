"""Reading opensm's small files: options, GUID lists, the map of node names. Every value keeps its line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from clusterwright.finding import VerifyError

_GUID = re.compile(r"0x[0-9a-fA-F]{1,16}$")
_NAME = re.compile(r'(0x[0-9a-fA-F]{1,16})\s+"([^"]*)"\s*$')


@dataclass(frozen=True, slots=True)
class Option:
    """An option's value and line."""

    value: str
    line: int


def parse_options(text: str) -> dict[str, Option]:
    """The options of an opensm.conf: a name, white space, a value. The last line for a name holds, as in opensm."""
    options: dict[str, Option] = {}
    for number, line in enumerate(text.split("\n"), 1):
        words = line.split(None, 1)
        if words and not words[0].startswith("#"):
            options[words[0]] = Option(words[1].strip() if len(words) > 1 else "", number)
    return options


def guid_lines(text: str) -> Iterator[tuple[int, str, int | None]]:
    """Each entry of a list of GUIDs: its line number, its text, and the GUID if that is one."""
    for number, line in enumerate(text.split("\n"), 1):
        word = line.split("#", 1)[0].strip()
        if word:
            yield number, word, int(word, 16) if _GUID.match(word) else None


def name_lines(text: str) -> Iterator[tuple[int, re.Match[str] | None]]:
    """Each entry of a node-name map: its line number, and its GUID and name if it has these."""
    for number, line in enumerate(text.split("\n"), 1):
        stripped = line.strip()
        if stripped and not stripped.startswith("#"):
            yield number, _NAME.match(stripped)


def parse_guids(text: str, place: str) -> dict[int, int]:
    """GUIDs to their lines, in a file with one GUID a line. Raises VerifyError for anything else."""
    guids: dict[int, int] = {}
    for number, word, guid in guid_lines(text):
        if guid is None:
            raise VerifyError(f"{place}:{number}: {word!r} is no GUID. Render the spec again.")
        guids.setdefault(guid, number)
    return guids


def parse_names(text: str, place: str) -> dict[int, Option]:
    """A node-name map: GUIDs to names with their lines. Raises VerifyError for another kind of line."""
    names: dict[int, Option] = {}
    for number, match in name_lines(text):
        if match is None:
            raise VerifyError(f'{place}:{number}: not a line `0xGUID "name"`. Render the spec again.')
        names[int(match[1], 16)] = Option(match[2], number)
    return names
