"""What checks take from switches' files, some switches after others: a text is read once for all who ask for it.

Readers remember the last texts that they took apart. A check that went through all files after another one had would
find none of them remembered; so those that ask for the same switches ask in turn, before the next switches come.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any, Generic, TypeVar

from clusterwright.proofs.tree import RenderedTree
from clusterwright.switches.readers import READERS

Taken = TypeVar("Taken")
_AT_ONCE = 128  # switches: as many as readers remember the texts of


class SwitchReading(Generic[Taken]):
    """What ``take`` makes of each part of a tree, from the files of some switches or of all that is no switch."""

    def __init__(self, tree: RenderedTree, take: Callable[[RenderedTree], Taken]) -> None:
        self.tree = tree
        self.take = take
        self.found: tuple[Taken, ...] | None = None

    @property
    def parts(self) -> tuple[Taken, ...]:
        """What was made of one part after another. Raises what ``take`` raises."""
        if self.found is None:
            read_together((self,))
        return self.found or ()


def read_together(readings: Iterable[SwitchReading[Any]]) -> None:
    """Makes all of several readings that is not made yet, side by side. Raises what any of them raises."""
    left: dict[RenderedTree, list[SwitchReading[Any]]] = {}
    for reading in dict.fromkeys(readings):
        if reading.found is None:
            left.setdefault(reading.tree, []).append(reading)
    for tree, own in left.items():
        found = zip(*([reading.take(part) for reading in own] for part in _parts(tree)), strict=True)
        for reading, parts in zip(own, found, strict=True):
            reading.found = parts


@lru_cache(maxsize=2)
def _parts(tree: RenderedTree) -> tuple[RenderedTree, ...]:
    switches = frozenset(device for reader in READERS for device in tree.devices_with(reader.file))
    return tuple(tree.in_parts(switches, _AT_ONCE))
