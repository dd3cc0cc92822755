"""Equivalent parts of a fabric under failures, as its pods: a few parts of each kind represent all of that kind.

Two parts below a tier are equivalent if the switches of one, in their order, have the cables, speeds, ports below and
nodes of the other. Exchanging two such parts changes no result of a failure, and a failure affects at most as many
parts as things fail. So for two failing things three parts of each kind suffice: those affected, and one for all
others. A part that differs in anything is a kind by itself.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import chain

import numpy as np

from clusterwright.proofs.ethernet.network import Integers
from clusterwright.proofs.ethernet.parts import ABOVE, cut, parts_below
from clusterwright.proofs.ethernet.uplinks import FabricUplinks, Failure, UnitSizes

_DescribedCable = tuple[tuple[int, int], tuple[int, int], float, int]
"""The part and place of both ends, the speed in Gb/s, and the index of the link."""
_ENOUGH = 3  # parts of a kind: two affected by a failure, and one unaffected


@dataclass(frozen=True, eq=False)
class _Members:
    """Switches or cables by their part."""

    part: list[int]
    place: list[int]
    """The index of each in its part."""
    of: tuple[tuple[int, ...], ...]
    """The members of each part by ``place``."""
    row: Integers
    """The number of each representative, -1 for all others."""

    @cached_property
    def _inside(self) -> tuple[Integers, Integers, Integers]:
        """Members of parts, with the part and the place of each."""
        inside = np.array([member for member, part in enumerate(self.part) if part != ABOVE], np.int64)
        return inside, np.array(self.part)[inside], np.array(self.place)[inside]

    @cached_property
    def _by_part(self) -> tuple[Integers, Integers]:
        """The members of all parts in order, and the start of each part."""
        return np.array(list(chain.from_iterable(self.of)), np.int64), np.cumsum([0, *map(len, self.of)])

    @cached_property
    def _row_of(self) -> list[int]:
        """``row`` as a list, for single look-ups."""
        numbers: list[int] = self.row.tolist()
        return numbers

    def rows(self, stands: Integers) -> Integers:
        """The row of each member's representative; ``stands`` has the representative of every part."""
        inside, part, place = self._inside
        members, first = self._by_part
        rows = self.row.copy()
        rows[inside] = self.row[members[first[stands[part]] + place]]
        return rows

    def stand_in(self, member: int, stands: dict[int, int]) -> int:
        """The row of one member's representative; ``stands`` has the representative of its part."""
        part = self.part[member]
        if part == ABOVE:
            return self._row_of[member]
        members = self.of[stands[part]]
        return self._row_of[members[self.place[member]]]


@dataclass(frozen=True, eq=False, slots=True)
class StandIns:
    """Switches representing the whole fabric."""

    whole: FabricUplinks
    uplinks: FabricUplinks
    """Uplinks of the representatives."""
    kinds: tuple[tuple[int, ...], ...]
    """Equivalent parts."""
    kind: tuple[int, ...]
    """The kind of each part."""
    usual: Integers
    """The representative of each part, in failures without effect on this part or its equivalents."""
    switches: _Members
    links: _Members

    def alike(self, failures: Iterable[Failure]) -> dict[Failure, list[int]]:
        """Failures of representatives, each with the indexes of all failures represented by it."""
        indexes: dict[Failure, list[int]] = {}
        affected = cache(self._affected)
        for index, failure in enumerate(failures):
            stands = affected(self._parts(failure))
            switches = tuple(self.switches.stand_in(switch, stands) for switch in failure.switches)
            links = tuple(self.links.stand_in(link, stands) for link in failure.links)
            indexes.setdefault(Failure(switches, links), []).append(index)
        return indexes

    def like(self, rows: Integers, failure: Failure) -> list[int]:
        """The switches of the whole fabric, in order, represented by ``rows`` in a failure."""
        affected = self._affected(self._parts(failure))
        stands = self.usual.copy()
        stands[list(affected)] = list(affected.values())
        for kind in {self.kind[part] for part in affected}:
            alike = np.array(self.kinds[kind])
            rest = alike[~np.isin(alike, list(affected))]
            stands[rest] = alike[np.minimum(len(alike) - len(rest) + np.arange(len(rest)), _ENOUGH - 1)]
        like: list[int] = np.flatnonzero(np.isin(self.switches.rows(stands), rows)).tolist()
        return like

    def _parts(self, failure: Failure) -> tuple[int, ...]:
        """The part of each failed switch or cable."""
        parts_of_switches = [self.switches.part[switch] for switch in failure.switches]
        parts_of_links = [self.links.part[link] for link in failure.links]
        return (*parts_of_switches, *parts_of_links)

    def _affected(self, parts: tuple[int, ...]) -> dict[int, int]:
        """The parts with a failed member, each with its representative in that failure."""
        if len(parts) >= _ENOUGH:
            raise ValueError(f"{len(parts)} things fail, and parts stand for each other in failures of two")
        stands: dict[int, int] = {}
        for part in parts:
            if part != ABOVE and part not in stands:
                alike = self.kinds[self.kind[part]]
                stands[part] = alike[sum(self.kind[other] == self.kind[part] for other in stands)]
        return stands


def stand_ins(uplinks: FabricUplinks) -> StandIns:
    """The fewest parts, below any of its tiers, representing all of a fabric."""
    return min((below(uplinks, level) for level in range(len(uplinks.units))), key=_effort)


def _effort(choice: StandIns) -> int:
    """The cost of a choice: its single failures times its switches."""
    first = {ABOVE, *(alike[0] for alike in choice.kinds)}
    failures = sum(part in first for part in (*choice.switches.part, *choice.links.part))
    return failures * len(choice.uplinks.fabric.routers)


def below(uplinks: FabricUplinks, level: int) -> StandIns:
    """Parts below a tier; below the lowest there are none, and everything represents itself."""
    fabric = uplinks.fabric
    parts = parts_below(fabric, level)
    part, name = parts.part, parts.ends
    described: list[list[object]] = [[] for _ in range(parts.count)]
    routers: list[list[int]] = [[] for _ in range(parts.count)]
    columns_of_switches = [fabric.rank, uplinks.down, uplinks.tops]
    for unit in uplinks.units:
        columns_of_switches += [unit.racks, unit.nodes]
    rows_of_switches = zip(*(column.tolist() for column in columns_of_switches), strict=True)
    for router, description in enumerate(rows_of_switches):
        if part[router] != ABOVE:
            described[part[router]].append(description)
            routers[part[router]].append(router)
    links: list[list[_DescribedCable]] = [[] for _ in range(parts.count)]
    link_part, link_place = [ABOVE] * len(uplinks.low), [0] * len(uplinks.low)
    ends = zip(uplinks.low.tolist(), uplinks.high.tolist(), uplinks.gbps.tolist(), strict=True)
    for link, (low, high, gbps) in enumerate(ends):
        number = max(part[low], part[high])
        link_part[link] = number
        if number != ABOVE:
            links[number].append((name[low], name[high], gbps, link))
    kinds: dict[object, list[int]] = {}
    for number, cables in enumerate(links):
        cables.sort()
        for place, cable in enumerate(cables):
            link_place[cable[-1]] = place
        kinds.setdefault((tuple(described[number]), tuple(cable[:-1] for cable in cables)), []).append(number)
    alike = tuple(map(tuple, kinds.values()))
    kind, usual = np.zeros(parts.count, np.int64), np.zeros(parts.count, np.int64)
    for index, members in enumerate(alike):
        kind[list(members)] = index
        usual[list(members)] = [members[min(order, _ENOUGH - 1)] for order in range(len(members))]
    kept = {ABOVE, *usual.tolist()}
    rows = [router for router, number in enumerate(part) if number in kept]
    columns = [link for link, number in enumerate(link_part) if number in kept]
    return StandIns(
        whole=uplinks,
        uplinks=_cut(uplinks, rows, columns),
        kinds=alike,
        kind=tuple(kind.tolist()),
        usual=usual,
        switches=_Members(part=part, place=parts.place, of=tuple(map(tuple, routers)), row=_numbers(rows, len(part))),
        links=_Members(
            part=link_part,
            place=link_place,
            of=tuple(map(_link_indexes, links)),
            row=_numbers(columns, len(link_part)),
        ),
    )


def _link_indexes(cables: Iterable[_DescribedCable]) -> tuple[int, ...]:
    return tuple(link for _, _, _, link in cables)


def _numbers(kept: list[int], size: int) -> Integers:
    numbers = np.full(size, -1)
    numbers[kept] = np.arange(len(kept))
    return numbers


def _cut(uplinks: FabricUplinks, rows: list[int], columns: list[int]) -> FabricUplinks:
    """Some of the switches and cables, each with its sizes in the whole fabric."""
    row = _numbers(rows, len(uplinks.fabric.routers))
    return FabricUplinks(
        fabric=cut(uplinks.fabric, rows),
        low=row[uplinks.low[columns]],
        high=row[uplinks.high[columns]],
        gbps=uplinks.gbps[columns],
        down=uplinks.down[rows],
        leaves=row[np.intersect1d(uplinks.leaves, rows)],
        tops=uplinks.tops[rows],
        units=tuple(UnitSizes(unit.racks[rows], unit.nodes[rows]) for unit in uplinks.units),
    )
