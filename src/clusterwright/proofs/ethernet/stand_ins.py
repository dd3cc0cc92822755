"""Parts of a fabric that failures treat alike, as its pods: a few of each kind stand for all of that kind.

Two parts below a tier are alike where the switches of one, in their order, have the cables, speeds, ports below and
nodes of the other. Exchanging two such parts changes nothing that is judged of a failure, and a failure touches no
more parts than things fail. So three parts of each kind are enough for two things that fail: those that are hit, and
one for all others. Nothing is assumed of parts: a part that differs in anything is of a kind of its own.
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

_ENOUGH = 3  # parts of a kind: two that a failure hits, and one that it does not


@dataclass(frozen=True, eq=False)
class _Members:
    """Switches or cables by their part: ``part`` and ``place`` of each, and those of each part by place.

    ``row`` is the number of each among those that stand for others, -1 for all others.
    """

    part: list[int]
    place: list[int]
    of: tuple[tuple[int, ...], ...]
    row: Integers

    @cached_property
    def _inside(self) -> tuple[Integers, Integers, Integers]:
        """Members of parts, with the part and the place of each."""
        inside = np.array([at for at, part in enumerate(self.part) if part != ABOVE], np.int64)
        return inside, np.array(self.part)[inside], np.array(self.place)[inside]

    @cached_property
    def _by_part(self) -> tuple[Integers, Integers]:
        """All of one part after the other, and where each part begins."""
        return np.array(list(chain.from_iterable(self.of)), np.int64), np.cumsum([0, *map(len, self.of)])

    @cached_property
    def _row_of(self) -> list[int]:
        """``row`` for those that are looked up one by one."""
        numbers: list[int] = self.row.tolist()
        return numbers

    def rows(self, stands: Integers) -> Integers:
        """The rows of the stand-ins of each, where ``stands`` gives for every part its stand-in."""
        inside, part, place = self._inside
        every, first = self._by_part
        rows = self.row.copy()
        rows[inside] = self.row[every[first[stands[part]] + place]]
        return rows

    def stand_in(self, at: int, stands: dict[int, int]) -> int:
        """The row of the stand-in of one member, where ``stands`` gives the stand-in of its part."""
        part = self.part[at]
        return self._row_of[at if part == ABOVE else self.of[stands[part]][self.place[at]]]


@dataclass(frozen=True, eq=False, slots=True)
class StandIns:
    """Switches that stand for the ``whole`` of a fabric, with their ``uplinks``.

    ``kinds`` are the parts that are alike and ``kind`` is each part's. ``usual`` is the stand-in of a part while no
    failure hits it or a part like it.
    """

    whole: FabricUplinks
    uplinks: FabricUplinks
    kinds: tuple[tuple[int, ...], ...]
    kind: tuple[int, ...]
    usual: Integers
    switches: _Members
    links: _Members

    def alike(self, failures: Iterable[Failure]) -> dict[Failure, list[int]]:
        """Failures of stand-ins, each with the indexes of all failures that it stands for."""
        indexes: dict[Failure, list[int]] = {}
        hit = cache(self._hit)
        for at, failure in enumerate(failures):
            stands = hit(self._parts(failure))
            switches = tuple(self.switches.stand_in(switch, stands) for switch in failure.switches)
            links = tuple(self.links.stand_in(link, stands) for link in failure.links)
            indexes.setdefault(Failure(switches, links), []).append(at)
        return indexes

    def like(self, rows: Integers, failure: Failure) -> list[int]:
        """The switches of the whole fabric, in order, for which some stand in a failure."""
        hit = self._hit(self._parts(failure))
        stands = self.usual.copy()
        stands[list(hit)] = list(hit.values())
        for kind in {self.kind[part] for part in hit}:
            alike = np.array(self.kinds[kind])
            rest = alike[~np.isin(alike, list(hit))]
            stands[rest] = alike[np.minimum(len(alike) - len(rest) + np.arange(len(rest)), _ENOUGH - 1)]
        like: list[int] = np.flatnonzero(np.isin(self.switches.rows(stands), rows)).tolist()
        return like

    def _parts(self, failure: Failure) -> tuple[int, ...]:
        """The part of each thing that fails."""
        switches, links = self.switches.part, self.links.part
        return (*[switches[at] for at in failure.switches], *[links[at] for at in failure.links])

    def _hit(self, parts: tuple[int, ...]) -> dict[int, int]:
        """The parts in which something fails, each with its stand-in in that failure."""
        if len(parts) >= _ENOUGH:
            raise ValueError(f"{len(parts)} things fail, and parts stand for each other in failures of two")
        stands: dict[int, int] = {}
        for part in parts:
            if part != ABOVE and part not in stands:
                alike = self.kinds[self.kind[part]]
                stands[part] = alike[sum(self.kind[other] == self.kind[part] for other in stands)]
        return stands


def stand_ins(uplinks: FabricUplinks) -> StandIns:
    """The fewest parts, below any of its tiers, that stand for all of a fabric."""
    return min((below(uplinks, level) for level in range(len(uplinks.units))), key=_effort)


def _effort(choice: StandIns) -> int:
    """The cost of a choice: its single failures, times the switches that each may touch."""
    first = {ABOVE, *(alike[0] for alike in choice.kinds)}
    failures = sum(part in first for part in (*choice.switches.part, *choice.links.part))
    return failures * len(choice.uplinks.fabric.routers)


def below(uplinks: FabricUplinks, level: int) -> StandIns:
    """Parts below a tier; below the lowest there are none, and everything stands for itself."""
    fabric = uplinks.fabric
    parts = parts_below(fabric, level)
    part, name = parts.part, parts.ends
    described: list[list[object]] = [[] for _ in range(parts.count)]
    routers: list[list[int]] = [[] for _ in range(parts.count)]
    columns_of_switches = [fabric.rank, uplinks.down, uplinks.tops]
    for unit in uplinks.units:
        columns_of_switches += [unit.racks, unit.nodes]
    rows_of_switches = zip(*(column.tolist() for column in columns_of_switches), strict=True)
    for at, what in enumerate(rows_of_switches):
        if part[at] != ABOVE:
            described[part[at]].append(what)
            routers[part[at]].append(at)
    links: list[list[tuple[tuple[int, int], tuple[int, int], float, int]]] = [[] for _ in range(parts.count)]
    link_part, link_place = [ABOVE] * len(uplinks.low), [0] * len(uplinks.low)
    ends = zip(uplinks.low.tolist(), uplinks.high.tolist(), uplinks.gbps.tolist(), strict=True)
    for at, (low, high, gbps) in enumerate(ends):
        number = max(part[low], part[high])
        link_part[at] = number
        if number != ABOVE:
            links[number].append((name[low], name[high], gbps, at))
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
        usual[list(members)] = [members[min(at, _ENOUGH - 1)] for at in range(len(members))]
    kept = {ABOVE, *usual.tolist()}
    rows = [at for at, number in enumerate(part) if number in kept]
    columns = [at for at, number in enumerate(link_part) if number in kept]
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
            of=tuple(tuple(cable[-1] for cable in link) for link in links),
            row=_numbers(columns, len(link_part)),
        ),
    )


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
