"""Propagation of routes over a fabric's sessions by the policies at both ends, for all prefixes at once.

Routes propagate in layers, first those of one hop, then of two, and so on: every hop adds an AS number, and the
shortest paths are used, equally short ones together. A layer is a matrix of the number of paths of each switch (row) to
each prefix (column). One sparse product for each pair of policies carries it over the sessions with this pair. Prefixes
treated equally by every policy share a column. A router refuses routes originated with its own AS number; AS numbers in
the middle of a path are not tracked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from clusterwright.facts.router import Prefix, PrefixRules, Router, Term, changed, list_permits
from clusterwright.proofs.ethernet.edges import NO_TAGS, EdgeTable, EdgeWay, Shape, Tags, is_exact
from clusterwright.proofs.ethernet.network import Integers, RoutedFabric

Counts = NDArray[np.float32]
Flags = NDArray[np.bool_]
_FARTHEST = 16  # hops; a Clos of n tiers needs 2 (n - 1)
_AT_ONCE = 128  # columns
_SECTION = 1024  # columns in memory at a time: 0.3 GB for 10,000 routers


class PrefixColumn(NamedTuple):
    """The properties of a prefix that policies can match."""

    origins: tuple[int, ...]
    """Routers announcing it."""
    matched: tuple[bool, ...]
    """For each list with ranges, whether it permits the prefix."""
    named: tuple[tuple[int, str], ...]
    """Routers and lists of single prefixes containing it."""


@dataclass(frozen=True, eq=False)
class Announced:
    """The prefixes of a fabric by column."""

    ranges: tuple[PrefixRules, ...]
    """Lists of ranges of prefixes, in the order of ``PrefixColumn.matched``."""
    columns: tuple[PrefixColumn, ...]
    prefixes: tuple[Prefix, ...]
    """One prefix of each column."""
    column_of: Mapping[Prefix, int]
    is_host: Flags
    """By column, whether it has a prefix of more than one address."""

    @cached_property
    def weights(self) -> Integers:
        """The number of prefixes of each column."""
        return np.bincount(list(self.column_of.values()), minlength=len(self.columns))


@dataclass(frozen=True, eq=False)
class ColumnSection:
    """Some of a fabric's columns, or of a part of the fabric representing the whole."""

    fabric: RoutedFabric
    rows: Integers
    """The number of each router in the whole fabric."""
    columns: Integers
    weights: Integers
    """The number of prefixes of each column."""
    is_host: Flags
    """By column, whether it has a prefix of hosts."""
    stands_for: Integers
    """By router, the number of equivalent routers represented by it towards a router that represents only itself."""
    copies: tuple[tuple[Integers, Integers], ...]
    """Maps to the whole fabric: for each of its routers a row here, and the number of equivalent columns there."""

    @cached_property
    def masks(self) -> _Masks:
        """The routes permitted by policies in these columns."""
        return _Masks(self)

    @cached_property
    def origin(self) -> Flags:
        """Whether a router (row) announces a column."""
        origin = np.zeros((len(self.fabric.routers), len(self.columns)), bool)
        announcements = announced(self.fabric)
        for place, column in enumerate(self.columns.tolist()):
            origin[list(announcements.columns[column].origins), place] = True
        return origin

    def total(self, rows: Counts) -> Counts:
        """A number of each row, summed over all equivalent columns, for the routers of the whole fabric."""
        return np.asarray(np.sum([rows[places] * times for places, times in self.copies], axis=0))

    def most(self, rows: Counts) -> Counts:
        """The largest number in equivalent columns, for the routers of the whole fabric."""
        return np.asarray(np.max([rows[places] * (times > 0) for places, times in self.copies], axis=0))


def whole(fabric: RoutedFabric, columns: Integers | None = None) -> Iterator[ColumnSection]:
    """All columns of a fabric, or some, in sections that bound the memory."""
    announcements = announced(fabric)
    chosen = np.arange(len(announcements.columns)) if columns is None else columns
    rows, once = np.arange(len(fabric.routers)), np.ones(len(fabric.routers), np.int64)
    for start in range(0, len(chosen), _SECTION):
        section_columns = chosen[start : start + _SECTION]
        yield ColumnSection(
            fabric=fabric,
            rows=rows,
            columns=section_columns,
            weights=announcements.weights[section_columns],
            is_host=announcements.is_host[section_columns],
            stands_for=once,
            copies=((rows, once),),
        )


@dataclass(frozen=True, eq=False)
class Routes:
    """The routes of each router (row) to each column."""

    hops: NDArray[np.int8]
    """Hops of the best paths, -1 without a route."""
    paths: Counts
    """The number of best paths."""
    sessions: Counts
    """By router, the most sessions with best paths to one prefix."""
    tags: Mapping[Tags, Flags]
    """The routers and columns with routes of these communities."""


@lru_cache(maxsize=16)
def announced(fabric: RoutedFabric) -> Announced:
    """All prefixes announced by a fabric's routers, in one column if every policy treats them equally."""
    origins: dict[Prefix, list[int]] = {}
    named: dict[Prefix, list[tuple[int, str]]] = {}
    ranges: dict[PrefixRules, None] = {}
    for index, router in enumerate(fabric.routers):
        for prefix, _ in router.networks:
            origins.setdefault(prefix, []).append(index)
        for name, rules in _lists(router).items():
            if not is_exact(rules):
                ranges[rules] = None
                continue
            for rule in rules:
                named.setdefault(rule.within, []).append((index, name))
    columns: dict[PrefixColumn, int] = {}
    column_of: dict[Prefix, int] = {}
    for prefix, routers in origins.items():
        matched = tuple(list_permits(rules, prefix) for rules in ranges)
        key = PrefixColumn(tuple(routers), matched, tuple(named.get(prefix, ())))
        column_of[prefix] = columns.setdefault(key, len(columns))
    prefixes: list[Prefix] = [(b"", 0)] * len(columns)
    is_host = np.zeros(len(columns), bool)
    for prefix, column in column_of.items():
        prefixes[column] = prefix
        is_host[column] |= prefix[1] < 8 * len(prefix[0])
    return Announced(
        ranges=tuple(ranges), columns=tuple(columns), prefixes=tuple(prefixes), column_of=column_of, is_host=is_host
    )


def _lists(router: Router) -> dict[str, PrefixRules]:
    terms = chain.from_iterable(router.policies.values())
    return {term.list_name: term.prefixes for term in terms if term.prefixes is not None}


def spread(section: ColumnSection, edges: EdgeTable, *, counts_sessions: bool = True) -> Routes:
    """Propagate the prefixes of some columns over the edges of their fabric until no switch learns more.

    The ``sessions`` of the outcome are counted only on request: they are a third of the work. Prefixes are independent
    of each other, so a block of columns small enough for a processor's cache is computed at a time.
    """
    origin = section.origin
    shape = origin.shape
    groups = _groups(section, edges)
    is_foreign = _foreign(section)
    hops, paths = np.full(shape, -1, np.int8), np.zeros(shape, np.float32)
    sessions = np.zeros(shape[0], np.float32)
    tags: dict[Tags, Flags] = {}
    for start in range(0, shape[1], _AT_ONCE):
        block = slice(start, start + _AT_ONCE)
        part = _spread(
            groups,
            section.masks,
            origin[:, block],
            is_foreign=is_foreign[:, block],
            block=block,
            counts_sessions=counts_sessions,
        )
        hops[:, block], paths[:, block] = part.hops, part.paths
        np.maximum(sessions, part.sessions, out=sessions)
        for tag, flags in part.tags.items():
            tags.setdefault(tag, np.zeros(shape, bool))[:, block] = flags
    return Routes(hops=hops, paths=paths, sessions=sessions, tags=tags)


def _spread(
    groups: _Groups, masks: _Masks, origin: Flags, *, is_foreign: Flags, block: slice, counts_sessions: bool
) -> Routes:
    """``spread`` for a block of columns, with their ``origin`` and ``is_foreign``."""
    hops = np.where(origin, np.int8(0), np.int8(-1))
    paths, width = origin.astype(np.float32), np.zeros(origin.shape, np.float32)
    tags: dict[Tags, Flags] = {NO_TAGS: origin.copy()}
    front: dict[Tags, Counts] = {NO_TAGS: paths.copy()}
    for hop in range(1, _FARTHEST):
        arrived = _arrivals(groups, masks, front, block, counts_sessions)
        is_open = (hops < 0) & is_foreign
        front = {tag: new * is_open for tag, (new, _) in arrived.items()}
        if not any(counts.any() for counts in front.values()):
            break
        for tag, counts in front.items():
            is_new = counts > 0
            hops[is_new] = hop
            paths += counts
            if counts_sessions:
                width += arrived[tag][1] * is_open
            tags[tag] = tags[tag] | is_new if tag in tags else is_new
    return Routes(hops=hops, paths=paths, sessions=width.max(axis=1), tags=tags)


def _arrivals(
    groups: _Groups, masks: _Masks, front: dict[Tags, Counts], block: slice, counts_sessions: bool
) -> dict[Tags, tuple[Counts, Counts]]:
    """Paths and sessions of the next hop's routes, by communities."""
    shape = front[next(iter(front))].shape
    arrived: dict[Tags, tuple[Counts, Counts]] = {}
    for (out_of, into, keeps), (targets, sources, sessions) in groups.items():
        for tag, paths in front.items():
            counts = paths[sources]
            if not counts.any():
                continue
            for sent, permitted in masks.outcomes(out_of, tag):
                offered = counts * _cells(permitted, sources, block)
                most_paths = offered.max(initial=0)
                if not most_paths:
                    continue
                carried_paths = sessions @ offered
                used_sessions = carried_paths
                if counts_sessions and most_paths != 1:
                    used_sessions = sessions @ (offered > 0).astype(np.float32)
                received = sent if keeps else NO_TAGS
                for accepted, permitted_here in masks.outcomes(into, received):
                    if accepted not in arrived:
                        arrived[accepted] = np.zeros(shape, np.float32), np.zeros(shape, np.float32)
                    arrived_paths, arrived_sessions = arrived[accepted]
                    allowed = _cells(permitted_here, targets, block)
                    arrived_paths[targets] += carried_paths * allowed
                    if counts_sessions:
                        arrived_sessions[targets] += used_sessions * allowed
    return arrived


def _cells(flags: Flags, rows: Integers, block: slice) -> Flags:
    """Some rows of a mask in a block of its columns; a single row or column applies to all."""
    return _rows(flags if flags.shape[1] == 1 else flags[:, block], rows)


def _rows(flags: Flags, rows: Integers) -> Flags:
    """Some rows of a mask; a single row applies to all."""
    if len(flags) == 1:
        return flags
    return flags[rows]


def _foreign(section: ColumnSection) -> Flags:
    """Whether a router (row) may accept a prefix (column): only one not originated by its own AS number."""
    _, number = np.unique(np.array([router.asn for router in section.fabric.routers]), return_inverse=True)
    is_own = np.zeros((number.max() + 1, len(section.columns)), bool)
    routers, columns = np.nonzero(section.origin)
    is_own[number[routers], columns] = True
    return np.asarray(~is_own[number])


def announced_counts(section: ColumnSection, edges: EdgeTable, routes: Routes) -> dict[Shape, Counts]:
    """The number of prefixes announced by each router, by shape of policy, accepted by the neighbour or not."""
    weight = section.weights.astype(np.float32)
    counts_by_shape: dict[Shape, Counts] = {}
    for shape in {way.out_of: None for way, _ in edges.by_way()}:
        counts_by_shape[shape] = np.zeros(len(section.fabric.routers), np.float32)
        for tag, flags in routes.tags.items():
            for _, leaves in section.masks.outcomes(shape, tag):
                counts_by_shape[shape] += (flags & leaves).astype(np.float32) @ weight
    return counts_by_shape


_Groups = dict[EdgeWay, tuple[Integers, Integers, csr_array]]


def _groups(section: ColumnSection, edges: EdgeTable) -> _Groups:
    """Sessions by the effect of their policies: targets (rows), sources (columns), and sessions from one to another."""
    groups = {}
    for way, edge_numbers in edges.by_way():
        into, out_of = edges.target[edge_numbers], edges.source[edge_numbers]
        targets, rows = np.unique(into, return_inverse=True)
        sources, columns = np.unique(out_of, return_inverse=True)
        times = np.where(section.stands_for[into] == 1, section.stands_for[out_of], 1).astype(np.float32)
        groups[way] = targets, sources, csr_array((times, (rows, columns)), shape=(len(targets), len(sources)))
    return groups


class _Masks:
    """By policy and set of communities, the permitted routes and their new communities."""

    def __init__(self, section: ColumnSection) -> None:
        announcements = announced(section.fabric)
        place = {column: index for index, column in enumerate(section.columns.tolist())}
        self._prefixes = [announcements.prefixes[column] for column in place]
        self._exact: dict[str, Flags] = {}
        for row, router in enumerate(section.fabric.routers):
            for name, rules in _lists(router).items():
                if is_exact(rules):
                    flags = self._exact.setdefault(name, np.zeros(section.origin.shape, bool))
                    columns = (place.get(announcements.column_of.get(rule.within, -1)) for rule in rules)
                    flags[row, [column for column in columns if column is not None]] = True
        self._ranges: dict[PrefixRules, Flags] = {}
        self._outcomes: dict[tuple[Shape, Tags], tuple[tuple[Tags, Flags], ...]] = {}

    def outcomes(self, shape: Shape, tags: Tags) -> tuple[tuple[Tags, Flags], ...]:
        """The possible communities of routes with ``tags`` after a policy, each with its routes."""
        if (shape, tags) not in self._outcomes:
            self._outcomes[shape, tags] = tuple(self._decide(shape, tags))
        return self._outcomes[shape, tags]

    def _decide(self, shape: Shape, tags: Tags) -> Iterator[tuple[Tags, Flags]]:
        undecided: Flags = np.ones((1, 1), bool)
        for permit, reference, communities, change, values in shape:
            if communities is not None and not communities & tags:
                continue
            matched = undecided & self._matches(reference)
            undecided = undecided & ~matched
            if permit and matched.any():
                term = Term(
                    permit=True,
                    list_name="",
                    prefixes=None,
                    communities=None,
                    change=change,
                    values=values,
                    mark=(),
                )
                yield changed(term, tags), matched

    def _matches(self, reference: object) -> Flags:
        if reference is None:
            return np.ones((1, 1), bool)
        if isinstance(reference, str):
            return self._exact[reference]
        rules: PrefixRules = reference  # type: ignore[assignment]  # the third kind of what _reference gives
        if rules not in self._ranges:
            self._ranges[rules] = np.array([list_permits(rules, prefix) for prefix in self._prefixes], bool)[None, :]
        return self._ranges[rules]
