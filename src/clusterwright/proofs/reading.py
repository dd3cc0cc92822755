"""Readings of switches' files in batches of switches: all checks share one parse of each text.

Readers cache the last parsed texts only. A check that went through all files after another check would find none of
them cached; so the checks read each batch of switches in turn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any, Generic, TypeVar

from clusterwright.facts.reader import SystemReader
from clusterwright.proofs.tree import RenderedTree
from clusterwright.switches.readers import READERS

Taken = TypeVar("Taken")
_AT_ONCE = 128  # switches in one batch: the size of the readers' caches


class SwitchReading(Generic[Taken]):
    """Results of ``take`` for each part of a tree: the files of some switches, or all files of other devices."""

    def __init__(self, tree: RenderedTree, take: Callable[[RenderedTree], Taken]) -> None:
        self.tree = tree
        self.take = take
        self.results: tuple[Taken, ...] | None = None

    @property
    def parts(self) -> tuple[Taken, ...]:
        """Results by part. Raises the errors of ``take``."""
        if self.results is None:
            read_together((self,))
        return self.results or ()


def read_together(readings: Iterable[SwitchReading[Any]]) -> None:
    """Read all pending readings side by side. Raises the errors of any of them."""
    pending: dict[RenderedTree, list[SwitchReading[Any]]] = {}
    for reading in dict.fromkeys(readings):
        if reading.results is None:
            pending.setdefault(reading.tree, []).append(reading)
    for tree, readings_of_tree in pending.items():
        results: list[list[Any]] = [[] for _ in readings_of_tree]
        for part in _parts(tree):
            for reading, results_of_reading in zip(readings_of_tree, results, strict=True):
                results_of_reading.append(reading.take(part))
        for reading, results_of_reading in zip(readings_of_tree, results, strict=True):
            reading.results = tuple(results_of_reading)


def reader_by_switch(tree: RenderedTree, readers: Iterable[SystemReader] = READERS) -> Mapping[str, SystemReader]:
    """Reader of each switch with text in the tree."""
    reader_of: dict[str, SystemReader] = {}
    for reader in readers:
        reader_of.update(dict.fromkeys(tree.devices_with(reader.file), reader))
    return reader_of


@lru_cache(maxsize=2)
def _parts(tree: RenderedTree) -> tuple[RenderedTree, ...]:
    switches = frozenset(reader_by_switch(tree))
    return tuple(tree.in_parts(switches, _AT_ONCE))
