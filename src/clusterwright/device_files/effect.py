"""Effects of a changed file on its device while it is applied, and their tables.

A table is data, inventory/effects/<system>.yaml: places of a file, the effect of a change there, the steps of the
system behind it, and the source of each. The first matching entry of a place counts; a place without one counts as a
restart of a switch, and on a node as unknown.
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
"""Separates the names of a place: ``interface Ethernet1 > mtu 9000``."""


class Effect(IntEnum):
    """The effect of a change on its device while it is applied, the mildest first."""

    LIVE = 0
    RESTART = 1
    REBOOT = 2


class Consequence(NamedTuple):
    """The effect of a change at one place: ``does`` in words, "" for one not worth reporting."""

    effect: Effect
    does: str


Effects = Callable[[str, bytes | None, bytes | None], tuple[Consequence, ...]]
"""Rates the change of a file by its path on the device; None for content that is absent before or after the change.

With LIVE traffic continues: wanted links stay up, and sessions too, or they come back gracefully within the time that
neighbours keep their routes. Everything not known to be so is RESTART.
"""


@dataclass(frozen=True, slots=True)
class KnownChange:
    """An entry of a table. ``file`` and ``places`` are patterns for a whole path and a whole place.

    ``only_on_known_skus`` is for SONiC: its updater accepts some places only on hardware in its own list.
    """

    file: str
    places: str
    effect: Effect
    does: str
    steps: str
    source: str
    only_on_known_skus: bool = False

    def fits(self, path: str, place: str) -> bool:
        """Whether the entry covers a change of this place of a file."""
        return re.fullmatch(self.file, path) is not None and re.fullmatch(self.places, place) is not None


@dataclass(frozen=True, slots=True)
class EffectTable:
    """The effects of one system, and the answer for places without an entry."""

    system: str
    changes: tuple[KnownChange, ...]
    otherwise: str

    def has_file(self, path: str) -> bool:
        """Whether an entry covers this file."""
        return any(re.fullmatch(entry.file, path) for entry in self.changes)

    def entry_of(self, path: str, place: str, *, known_sku: bool = True) -> KnownChange | None:
        """The first matching entry; None without one."""
        for entry in self.changes:
            if entry.fits(path, place) and (known_sku or not entry.only_on_known_skus):
                return entry
        return None

    def consequences(
        self, path: str, places: Iterable[str], unknown: Effect = Effect.RESTART
    ) -> tuple[Consequence, ...]:
        """The effects of changes at these places of a file, each answer once."""
        consequences: list[Consequence] = []
        for place in places:
            entry = self.entry_of(path, place)
            if entry is None:
                consequences.append(Consequence(unknown, f"{place or path}: {self.otherwise}"))
            else:
                consequences.append(Consequence(entry.effect, entry.does))
        return tuple(dict.fromkeys(consequences))


@cache
def effect_table(system: str) -> EffectTable:
    """The table of inventory/effects/<system>.yaml."""
    data: dict[str, Any] = yaml.safe_load((folder("inventory") / "effects" / f"{system}.yaml").read_text("utf-8"))
    file = re.escape(data.get("file", ""))
    changes = []
    for entry in data["changes"]:
        change = KnownChange(
            file=entry.get("file", file),
            places=entry.get("places", ".*"),
            effect=Effect[entry["effect"].upper()],
            does=entry["does"],
            steps=entry["steps"],
            source=data["sources"][entry["source"]],
            only_on_known_skus=entry.get("only_on_known_skus", False),
        )
        changes.append(change)
    return EffectTable(data["system"], tuple(changes), data["otherwise"])


# Fields that identify items of a list, the best first.
_NAMES = ("name", "peer_addr", "logicalID", "intfID", "id", "vlanID", "prefix")


def json_places(before: Any, after: Any, path: tuple[str, ...] = ()) -> Iterator[str]:
    """The differing places of two JSON documents: keys, and names of items, joined into paths."""
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
        key_path = (*path, str(key))
        if key in before and key in after:
            yield from json_places(before[key], after[key], key_path)
        else:
            yield BETWEEN.join(key_path)


def _by_name(items: list[Any]) -> dict[str, Any] | None:
    """The items by their names; None for items without a name or with the same one."""
    if not all(isinstance(item, dict) for item in items):
        return None
    for key in _NAMES:
        by_name = {str(item[key]): item for item in items if key in item}
        if len(by_name) == len(items):
            return by_name
    return None
