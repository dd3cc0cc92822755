"""Effects of changes in EOS' configuration, by the different lines (inventory/effects/eos.yaml)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from clusterwright.device_files.effect import BETWEEN, Consequence, Effect, effect_table
from clusterwright.switches.eos.reader.sections import sections_of
from clusterwright.switches.eos.reader.system import READER

Sections = Mapping[str, tuple[str, ...]]


def effect(path: str, was: bytes | None, will: bytes | None) -> tuple[Consequence, ...]:
    """By the different lines; a neighbour added or removed as a whole is one place."""
    if path != READER.file or was is None or will is None:
        return (Consequence(Effect.RESTART, "the whole configuration"),)
    return effect_table("eos").consequences(path, _places(_sections(was), _sections(will)))


def _places(before: Sections, after: Sections) -> Iterator[str]:
    for header in sorted(before.keys() | after.keys()):
        old, new = before.get(header), after.get(header)
        if old == new:
            continue
        if old is None or new is None:
            yield header
            continue
        if sorted(old) == sorted(new):
            yield header  # the same lines in another order
        for line in sorted(set(old) ^ set(new)):
            changed = _whole_neighbour(line, old, new) or line.strip()
            yield BETWEEN.join((header, changed))


def _whole_neighbour(line: str, old: tuple[str, ...], new: tuple[str, ...]) -> str:
    """``neighbor ADDRESS`` for a line of a neighbour in one of the two texts alone, else ""."""
    words = line.split()
    if len(words) < 3 or words[0] != "neighbor":
        return ""
    neighbour = f"neighbor {words[1]}"
    if _has_neighbour(old, neighbour) == _has_neighbour(new, neighbour):
        return ""
    return neighbour


def _has_neighbour(lines: tuple[str, ...], neighbour: str) -> bool:
    return any(line.strip().startswith(f"{neighbour} ") for line in lines)


def _sections(text: bytes) -> Sections:
    """The top-level lines of a configuration, each with the indented lines below it."""
    sections: dict[str, tuple[str, ...]] = {}
    for section in sections_of(text.decode("utf-8", "replace")):
        sections[section.header] = (*sections.get(section.header, ()), *section.body.splitlines())
    return sections
