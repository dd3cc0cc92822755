"""Parts of a fabric that are alike, as its pods are: routes to one tell what routes to all others do.

Below some tier a fabric falls into parts that only switches above join. Two parts are alike where one's routers, in
their order, have the other's cables, sessions, policies and prefixes, and AS numbers that are equal to the same ones:
exchanging two such parts then changes nothing that spreads, so the prefixes of one part of each kind are enough. Seen
from there, all other parts of a kind carry the same routes, and one of them stands for all, its routes to switches
above counted as often. Nothing is assumed of parts: where one differs in anything, it is of a kind of its own. A prefix
that routers or lists of several parts name is no part's, and is followed through the whole fabric.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from clusterwright.proofs.ethernet.edges import edge_table
from clusterwright.proofs.ethernet.network import Integers, RoutedFabric
from clusterwright.proofs.ethernet.parts import ABOVE, cut, parts_below
from clusterwright.proofs.ethernet.routes import ColumnSection, announced, whole


@dataclass(frozen=True, slots=True)
class _AlikeParts:
    """The parts below a tier: the ``part`` of each router and its ``place`` in it, and the parts of each of ``kinds``.

    ``columns`` are those of each part, and of what is above; ``shared`` are those of several parts.
    """

    part: list[int]
    place: list[int]
    kinds: tuple[tuple[int, ...], ...]
    columns: dict[int, list[int]]
    shared: list[int]

    @property
    def stand_ins(self) -> int:
        """How many routers stand for all: those above, and up to two parts of each kind."""
        chosen = {ABOVE, *(part for alike in self.kinds for part in alike[:2])}
        return sum(part in chosen for part in self.part)


def sections(fabric: RoutedFabric) -> Iterator[ColumnSection]:
    """Columns that tell what all columns of the fabric do, in parts of it that are as small as that allows."""
    parts = [_parts(fabric, level) for level in np.unique(fabric.rank).tolist()[1:]]
    # Each kind is followed by itself, over all that stand for others.
    found = min(parts, key=lambda each: each.stand_ins * len(each.kinds), default=None)
    if found is None or found.stand_ins == len(fabric.routers) or not announced(fabric).columns:
        yield from whole(fabric)
        return
    for number in range(len(found.kinds)):
        yield from _of_kind(fabric, found, number)
    if found.shared:
        yield from whole(fabric, np.array(found.shared))


def _parts(fabric: RoutedFabric, level: int) -> _AlikeParts:
    """What the tier ``level`` and those above it join."""
    below = parts_below(fabric, level)
    part, place = below.part, below.place
    columns, shared, prefixes = _prefixes(fabric, part, place)
    kinds: dict[object, list[int]] = {}
    routers, cables = _routers(fabric, part, place), _cables(fabric, part, place)
    for own in range(below.count):
        kinds.setdefault((routers[own], cables[own], prefixes[own]), []).append(own)
    return _AlikeParts(part=part, place=place, kinds=tuple(map(tuple, kinds.values())), columns=columns, shared=shared)


_Told = dict[int, tuple[tuple[object, ...], ...]]
"""What all that parts have is like, by part."""


def _routers(fabric: RoutedFabric, part: list[int], place: list[int]) -> _Told:
    """Routers, with AS numbers that no other part has by the first router of this one that has it."""
    users: dict[int, set[int]] = {}
    first: dict[int, int] = {}
    routers: dict[int, list[tuple[object, ...]]] = {}
    for at, router in enumerate(fabric.routers):
        users.setdefault(router.asn, set()).add(part[at])
        first.setdefault(router.asn, place[at])
    for at, router in enumerate(fabric.routers):
        number = (first[router.asn],) if len(users[router.asn]) == 1 else router.asn
        what = int(fabric.rank[at]), bool(fabric.silent[at]), router.keeps_communities, number
        routers.setdefault(part[at], []).append(what)
    return {own: tuple(told) for own, told in routers.items()}


def _cables(fabric: RoutedFabric, part: list[int], place: list[int]) -> dict[int, tuple[bytes, bytes]]:
    """Cables, and sessions with what their policies do; the routers above by their own numbers."""
    owner = np.array(part)
    end = np.where(owner == ABOVE, 2 * np.arange(len(part)), 2 * np.array(place) + 1)
    edges = edge_table(fabric)
    cables = _told(owner, end, fabric.ends[:, 0], fabric.ends[:, 1], np.zeros(len(fabric.ends), np.int64))
    sessions = _told(owner, end, edges.source, edges.target, edges.way)
    return {own: (cables.get(own, b""), sessions.get(own, b"")) for own in set(part)}


def _told(owner: Integers, end: Integers, one: Integers, other: Integers, what: Integers) -> dict[int, bytes]:
    """What joins routers, by the part that an end of it is in: both ends as parts call them, and ``what`` it is, in one
    order for all parts."""
    own = np.maximum(owner[one], owner[other])
    # both ends and what joins them as one number: of the largest clusters ten digits for the ends, and a few
    joined = (end[one] * (2 * len(end)) + end[other]) * (what.max(initial=0) + 1) + what
    order = np.lexsort((joined, own))
    parts, first = np.unique(own[order], return_index=True)
    every = np.split(joined[order], first[1:]) if len(order) else []
    return {part: rows.tobytes() for part, rows in zip(parts.tolist(), every, strict=True)}


def _prefixes(
    fabric: RoutedFabric, part: list[int], place: list[int]
) -> tuple[dict[int, list[int]], list[int], dict[int, tuple[tuple[object, ...], ...]]]:
    """The columns by part, those of several parts, and what those of a part are like."""
    known = announced(fabric)
    columns: dict[int, list[int]] = {own: [] for own in part}
    shared: list[int] = []
    found: dict[int, list[tuple[object, ...]]] = {own: [] for own in part}
    end = [(at, False) if own == ABOVE else (place[at], True) for at, own in enumerate(part)]
    for number, column in enumerate(known.columns):
        touched = {part[at] for at in (*column.origins, *(at for at, _ in column.named))} - {ABOVE}
        if len(touched) > 1:
            shared.append(number)
            continue
        own = max(touched, default=ABOVE)
        columns[own].append(number)
        origins = tuple(end[at] for at in column.origins)
        named = tuple((end[at], name) for at, name in column.named)
        found[own].append((origins, column.matched, named, bool(known.is_host[number]), int(known.weights[number])))
    return columns, shared, {own: tuple(told) for own, told in found.items()}


def _of_kind(fabric: RoutedFabric, parts: _AlikeParts, number: int) -> Iterator[ColumnSection]:
    """The columns of one part of a kind, with a second one for the others of it, and one for all of each other kind;
    with the first kind those of what is above.
    """
    alike = parts.kinds[number]
    chosen = {kind[0]: len(kind) for kind in parts.kinds} | {alike[0]: 1}
    chosen |= {part: len(alike) - 1 for part in alike[1:2]}
    rows = [at for at, own in enumerate(parts.part) if own == ABOVE or own in chosen]
    own_fabric = cut(fabric, rows), np.array(rows)
    stands_for = np.array([chosen.get(parts.part[at], 1) for at in rows])
    row_of = {(parts.part[at], parts.place[at] if parts.part[at] != ABOVE else at): row for row, at in enumerate(rows)}
    stand_in = {part: kind[0] for kind in parts.kinds for part in kind}
    is_alike = np.isin(parts.part, alike)

    def rows_in(stands: dict[int, int]) -> Integers:
        places = (
            (stands.get(own, ABOVE), parts.place[at] if own != ABOVE else at) for at, own in enumerate(parts.part)
        )
        return np.array([row_of[place] for place in places])

    first = rows_in(stand_in), np.where(is_alike, 1, len(alike))
    second = rows_in(stand_in | dict.fromkeys(alike, alike[-1 if len(alike) < 2 else 1])), is_alike * (len(alike) - 1)
    if own := parts.columns.get(alike[0]):
        yield _section(fabric, own_fabric, own, stands_for, (first, second))
    if number == 0 and (own := parts.columns.get(ABOVE)):
        yield _section(fabric, own_fabric, own, stands_for, ((first[0], np.ones_like(first[1])),))


def _section(
    fabric: RoutedFabric,
    part: tuple[RoutedFabric, Integers],
    columns: list[int],
    stands_for: Integers,
    copies: tuple[tuple[Integers, Integers], ...],
) -> ColumnSection:
    """Columns of the whole fabric as those of a part of it, where some may be one."""
    known, here = announced(fabric), announced(part[0])
    own, into = np.unique([here.column_of[known.prefixes[column]] for column in columns], return_inverse=True)
    weights = np.bincount(into, known.weights[columns]).astype(np.int64)
    is_host = np.bincount(into, known.is_host[columns]) > 0
    return ColumnSection(*part, own, weights, is_host, stands_for, copies)
