"""Effects of a changed file on its device while it is applied, and their tables.

A table is data, inventory/effects/<system>.yaml: places of a file, what a change there does, the steps that bring it
about, and the source of each. Its first entry that fits a place counts; a place that none fits is taken for a restart
of a switch, and on a node for what nobody knows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import IntEnum
from functools import cache
from typing import Any, NamedTuple

import yaml

from clusterwright.data_files import folder

BETWEEN = " > "
"""Stands between the names of a place: ``interface Ethernet1 > mtu 9000``."""


class Effect(IntEnum):
    """The effect of a change on its device while it is applied, the mildest first."""

    LIVE = 0
    RESTART = 1
    REBOOT = 2


class Consequence(NamedTuple):
    """What a change at one place does: ``does`` in words, "" where nobody needs to hear of it."""

    effect: Effect
    does: str


Effects = Callable[[str, bytes | None, bytes | None], tuple[Consequence, ...]]
"""Judges the change of a file by its path on the device; None where it was not there before, or is not after.

With LIVE traffic passes on: links that are wanted afterwards stay up, and sessions too, or come back gracefully within
the time that neighbours keep their routes. What is not known to be so is RESTART.
"""


@dataclass(frozen=True, slots=True)
class KnownChange:
    """An entry of a table. ``file`` and ``places`` are patterns of all of a path and a place.

    ``only_on_known_skus`` is SONiC's: its updater takes some places on hardware of its own list alone.
    """

    file: str
    places: str
    effect: Effect
    does: str
    steps: str
    source: str
    only_on_known_skus: bool = False

    def fits(self, path: str, place: str) -> bool:
        """Whether a change of this place of a file is meant."""
        return re.fullmatch(self.file, path) is not None and re.fullmatch(self.places, place) is not None


@dataclass(frozen=True, slots=True)
class EffectTable:
    """The effects of one system, and the answer for a place that no entry fits."""

    system: str
    changes: tuple[KnownChange, ...]
    otherwise: str

    def has_file(self, path: str) -> bool:
        """Whether an entry is about this file."""
        return any(re.fullmatch(entry.file, path) for entry in self.changes)

    def entry_of(self, path: str, place: str, *, known_sku: bool = True) -> KnownChange | None:
        """The first entry that fits; None where nobody knows."""
        for entry in self.changes:
            if entry.fits(path, place) and (known_sku or not entry.only_on_known_skus):
                return entry
        return None

    def consequences(
        self, path: str, places: Iterable[str], unknown: Effect = Effect.RESTART
    ) -> tuple[Consequence, ...]:
        """The effects of changes at these places of a file, each answer once."""
        consequences: dict[Consequence, None] = {}
        for place in places:
            entry = self.entry_of(path, place)
            if entry is None:
                consequences[Consequence(unknown, f"{place or path}: {self.otherwise}")] = None
            else:
                consequences[Consequence(entry.effect, entry.does)] = None
        return tuple(consequences)


@cache
def effect_table(system: str) -> EffectTable:
    """The table of inventory/effects/<system>.yaml."""
    data: dict[str, Any] = yaml.safe_load((folder("inventory") / "effects" / f"{system}.yaml").read_text("utf-8"))
    file = re.escape(data.get("file", ""))
    changes = tuple(
        KnownChange(
            file=entry.get("file", file),
            places=entry.get("places", ".*"),
            effect=Effect[entry["effect"].upper()],
            does=entry["does"],
            steps=entry["steps"],
            source=data["sources"][entry["source"]],
            only_on_known_skus=entry.get("only_on_known_skus", False),
        )
        for entry in data["changes"]
    )
    return EffectTable(data["system"], changes, data["otherwise"])


# What tells items of a list apart, the best first.
_NAMES = ("name", "peer_addr", "logicalID", "intfID", "id", "vlanID", "prefix")


def json_places(before: Any, after: Any, path: tuple[str, ...] = ()) -> Iterator[str]:
    """The places of two JSON documents that differ: keys, and names of items, one behind the other."""
    if before == after:
        return
    if isinstance(before, list) and isinstance(after, list):
        named = _by_name(before), _by_name(after)
        if named[0] is None or named[1] is None:
            yield BETWEEN.join(path)
            return
        before, after = named
    if not isinstance(before, dict) or not isinstance(after, dict):
        yield BETWEEN.join(path)
        return
    for key in sorted(before.keys() | after.keys()):
        here = (*path, str(key))
        if key in before and key in after:
            yield from json_places(before[key], after[key], here)
        else:
            yield BETWEEN.join(here)


def _by_name(items: list[Any]) -> dict[str, Any] | None:
    """The items by their names; None where they have none, or share one."""
    if not all(isinstance(item, dict) for item in items):
        return None
    for key in _NAMES:
        found = {str(item[key]): item for item in items if key in item}
        if len(found) == len(items):
            return found
    return None
