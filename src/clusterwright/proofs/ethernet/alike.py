"""Equivalent parts of a fabric, such as its pods: the routes to one represent the routes to all others.

Below a tier, a fabric consists of parts connected only by the switches above. Two parts are equivalent (of one kind) if
the routers of one, in their order, have the cables, sessions, policies and prefixes of the other, and the same equal
AS numbers. Exchanging two such parts changes no propagation, so the prefixes of one part of each kind suffice. From
there, all other parts of a kind have the same routes: one represents them all, and its routes to switches above count
that many times. A part that differs in anything is a kind by itself. A prefix of several parts, by its routers or in
their lists, belongs to none of them and is propagated through the whole fabric.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

import numpy as np

from clusterwright.proofs.ethernet.edges import edge_table
from clusterwright.proofs.ethernet.network import Integers, RoutedFabric
from clusterwright.proofs.ethernet.parts import ABOVE, cut, parts_below
from clusterwright.proofs.ethernet.routes import ColumnSection, announced, whole


@dataclass(frozen=True, slots=True)
class _AlikeParts:
    """The parts below a tier, by kind."""

    part: list[int]
    """The part of each router."""
    place: list[int]
    """The index of each router in its part."""
    kinds: tuple[tuple[int, ...], ...]
    """The parts of each kind."""
    columns: dict[int, list[int]]
    """Columns of prefixes by part, ABOVE included."""
    shared: list[int]
    """Columns of prefixes of several parts."""

    @property
    def stand_ins(self) -> int:
        """The number of representative routers: those above, and up to two parts of each kind."""
        representative_parts = {ABOVE, *chain.from_iterable(parts[:2] for parts in self.kinds)}
        return sum(part in representative_parts for part in self.part)


def sections(fabric: RoutedFabric) -> Iterator[ColumnSection]:
    """The fewest columns representing all columns of the fabric, in sections."""
    parts_by_level = [_parts(fabric, level) for level in np.unique(fabric.rank).tolist()[1:]]
    # The routes of each kind are computed separately, over all representatives.
    smallest = min(parts_by_level, key=lambda parts: parts.stand_ins * len(parts.kinds), default=None)
    if smallest is None or smallest.stand_ins == len(fabric.routers) or not announced(fabric).columns:
        yield from whole(fabric)
        return
    for number in range(len(smallest.kinds)):
        yield from _of_kind(fabric, smallest, number)
    if smallest.shared:
        yield from whole(fabric, np.array(smallest.shared))


def _parts(fabric: RoutedFabric, level: int) -> _AlikeParts:
    """The parts connected by the tier ``level`` and the tiers above it."""
    below = parts_below(fabric, level)
    part, place = below.part, below.place
    columns, shared, prefixes = _prefixes(fabric, part, place)
    kinds: dict[object, list[int]] = {}
    routers, cables = _routers(fabric, part, place), _cables(fabric, part, place)
    for number in range(below.count):
        kinds.setdefault((routers[number], cables[number], prefixes[number]), []).append(number)
    return _AlikeParts(part=part, place=place, kinds=tuple(map(tuple, kinds.values())), columns=columns, shared=shared)


_Descriptions = dict[int, tuple[tuple[object, ...], ...]]
"""Comparable descriptions of the members of each part."""


def _routers(fabric: RoutedFabric, part: list[int], place: list[int]) -> _Descriptions:
    """Routers by part; an AS number of only one part is replaced by the index of its first router there."""
    parts_of_asn: dict[int, set[int]] = {}
    first_place: dict[int, int] = {}
    for index, router in enumerate(fabric.routers):
        parts_of_asn.setdefault(router.asn, set()).add(part[index])
        first_place.setdefault(router.asn, place[index])
    descriptions: dict[int, list[tuple[object, ...]]] = {}
    for index, router in enumerate(fabric.routers):
        number: object = router.asn
        if len(parts_of_asn[router.asn]) == 1:
            number = (first_place[router.asn],)
        description = int(fabric.rank[index]), bool(fabric.silent[index]), router.keeps_communities, number
        descriptions.setdefault(part[index], []).append(description)
    return {part_number: tuple(described) for part_number, described in descriptions.items()}


def _cables(fabric: RoutedFabric, part: list[int], place: list[int]) -> dict[int, tuple[bytes, bytes]]:
    """Cables and sessions by part, with the effect of their policies; routers above keep their numbers."""
    owner = np.array(part)
    end = np.where(owner == ABOVE, 2 * np.arange(len(part)), 2 * np.array(place) + 1)
    edges = edge_table(fabric)
    cables = _edges_by_part(owner, end, fabric.ends[:, 0], fabric.ends[:, 1], np.zeros(len(fabric.ends), np.int64))
    sessions = _edges_by_part(owner, end, edges.source, edges.target, edges.way)
    return {number: (cables.get(number, b""), sessions.get(number, b"")) for number in set(part)}


def _edges_by_part(owner: Integers, end: Integers, near: Integers, far: Integers, kind: Integers) -> dict[int, bytes]:
    """Cables or sessions by the part of one of their ends, as comparable bytes.

    Both ends are numbered as parts number them; ``kind`` is the kind of the cable or session. The order is the same
    for all parts.
    """
    part_of_edge = np.maximum(owner[near], owner[far])
    # Both ends and their kind as one number: in the largest clusters ten digits for the ends, and a few more.
    number = (end[near] * (2 * len(end)) + end[far]) * (kind.max(initial=0) + 1) + kind
    order = np.lexsort((number, part_of_edge))
    parts, first = np.unique(part_of_edge[order], return_index=True)
    edges_of_parts = np.split(number[order], first[1:]) if len(order) else []
    return {part: edges.tobytes() for part, edges in zip(parts.tolist(), edges_of_parts, strict=True)}


def _prefixes(
    fabric: RoutedFabric, part: list[int], place: list[int]
) -> tuple[dict[int, list[int]], list[int], dict[int, tuple[tuple[object, ...], ...]]]:
    """The columns by part, those of several parts, and a comparable description of each part's columns."""
    announcements = announced(fabric)
    columns: dict[int, list[int]] = {number: [] for number in part}
    shared: list[int] = []
    descriptions: dict[int, list[tuple[object, ...]]] = {number: [] for number in part}
    end: list[tuple[int, bool]] = []
    for router, number in enumerate(part):
        is_in_part = number != ABOVE
        end.append((place[router] if is_in_part else router, is_in_part))
    for index, column in enumerate(announcements.columns):
        listing_routers = [router for router, _ in column.named]
        parts = {part[router] for router in (*column.origins, *listing_routers)} - {ABOVE}
        if len(parts) > 1:
            shared.append(index)
            continue
        number = max(parts, default=ABOVE)
        columns[number].append(index)
        origins = tuple(end[router] for router in column.origins)
        named = tuple((end[router], name) for router, name in column.named)
        is_host, weight = bool(announcements.is_host[index]), int(announcements.weights[index])
        descriptions[number].append((origins, column.matched, named, is_host, weight))
    return columns, shared, {number: tuple(described) for number, described in descriptions.items()}


def _of_kind(fabric: RoutedFabric, parts: _AlikeParts, number: int) -> Iterator[ColumnSection]:
    """The columns of one part of a kind, with a second part for the others, and one part of each other kind.

    With the first kind come the columns of the routers above.
    """
    alike = parts.kinds[number]
    # Of each kind the first part represents all, of this kind the second part represents all but the first.
    represented = {kind[0]: len(kind) for kind in parts.kinds} | {alike[0]: 1}
    represented |= {part: len(alike) - 1 for part in alike[1:2]}
    kept = {ABOVE, *represented}
    rows = [router for router, part in enumerate(parts.part) if part in kept]
    part_fabric = cut(fabric, rows), np.array(rows)
    stands_for = np.array([represented.get(parts.part[router], 1) for router in rows])
    places = list(parts.place)
    for router, part in enumerate(parts.part):
        if part == ABOVE:
            places[router] = router
    row_of = {(parts.part[router], places[router]): row for row, router in enumerate(rows)}
    stand_in: dict[int, int] = {}
    for kind in parts.kinds:
        stand_in.update(dict.fromkeys(kind, kind[0]))
    is_alike = np.isin(parts.part, alike)

    def rows_in(stands: dict[int, int]) -> Integers:
        part_and_place = zip(parts.part, places, strict=True)
        return np.array([row_of[stands.get(part, ABOVE), place] for part, place in part_and_place])

    first = rows_in(stand_in), np.where(is_alike, 1, len(alike))
    second_part = alike[1] if len(alike) > 1 else alike[0]
    second = rows_in(stand_in | dict.fromkeys(alike, second_part)), is_alike * (len(alike) - 1)
    columns = parts.columns.get(alike[0])
    if columns:
        yield _section(fabric, part_fabric, columns, stands_for, (first, second))
    columns_above = parts.columns.get(ABOVE)
    if number == 0 and columns_above:
        yield _section(fabric, part_fabric, columns_above, stands_for, ((first[0], np.ones_like(first[1])),))


def _section(
    fabric: RoutedFabric,
    part: tuple[RoutedFabric, Integers],
    columns: list[int],
    stands_for: Integers,
    copies: tuple[tuple[Integers, Integers], ...],
) -> ColumnSection:
    """Columns of the whole fabric as columns of a part, where several may coincide."""
    part_of_fabric, rows = part
    of_fabric, of_part = announced(fabric), announced(part_of_fabric)
    columns_of_part = [of_part.column_of[of_fabric.prefixes[column]] for column in columns]
    part_columns, into = np.unique(columns_of_part, return_inverse=True)
    weights = np.bincount(into, of_fabric.weights[columns]).astype(np.int64)
    is_host = np.bincount(into, of_fabric.is_host[columns]) > 0
    return ColumnSection(
        fabric=part_of_fabric,
        rows=rows,
        columns=part_columns,
        weights=weights,
        is_host=is_host,
        stands_for=stands_for,
        copies=copies,
    )
