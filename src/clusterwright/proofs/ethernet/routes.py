"""How routes spread over a fabric's sessions by the policies at both ends, for all prefixes at once.

Routes travel in layers: those of one hop, then of two, and so on, as every hop adds an AS number and the shortest path
wins; equally short ones are used together. A layer is a matrix of how many paths each switch (row) has to each prefix
(column), and one sparse product per pair of policies carries it over the sessions that have this pair. Prefixes that no
policy can tell apart share a column. A router refuses what another router of its own AS number originated; AS numbers
in the middle of a path are not followed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from clusterwright.platforms.router import (
    Policy,
    Prefix,
    PrefixRules,
    Router,
    Session,
    Term,
    changed,
    list_permits,
)
from clusterwright.proofs.ethernet.network import Integers, RoutedFabric

Counts = NDArray[np.float32]
Flags = NDArray[np.bool_]
Tags = frozenset[str]
NO_TAGS: Tags = frozenset()
_FARTHEST = 16  # hops; a Clos of n tiers needs 2 (n - 1)
_AT_ONCE = 128  # columns


@dataclass(frozen=True, slots=True)
class Edge:
    """A session in the direction that routes take: ``source`` tells ``target``."""

    source: int
    target: int
    out_of: Policy
    into: Policy
    source_session: Session
    target_session: Session


@dataclass(frozen=True, eq=False)
class Announced:
    """The prefixes of a fabric by column; ``column_of`` every prefix, ``origin`` whether a router announces a column.

    ``is_host`` is True for columns with a prefix that is shorter than a single address.
    """

    prefixes: tuple[Prefix, ...]
    column_of: Mapping[Prefix, int]
    origin: Flags
    is_host: Flags


@dataclass(frozen=True, eq=False)
class Routes:
    """The outcome: hops of the best path (-1 without a route) and how many there are; over how many ``sessions``, for
    all columns or, of a whole fabric, at most.
    """

    hops: NDArray[np.int8]
    paths: Counts
    sessions: Counts
    tags: Mapping[Tags, Flags]


@lru_cache(maxsize=16)
def edges_of(fabric: RoutedFabric) -> tuple[Edge, ...]:
    """Every direction of every session that can come up between cabled ports."""
    sessions = [{session.peer: session for session in router.sessions} for router in fabric.routers]
    edges = []
    for link in fabric.links:
        if link.a_port.address is None or link.b_port.address is None:
            continue
        at_a, at_b = sessions[link.a].get(link.b_port.address), sessions[link.b].get(link.a_port.address)
        if at_a is None or at_b is None:
            continue
        a, b = fabric.routers[link.a], fabric.routers[link.b]
        if (at_a.remote_as, at_b.remote_as) == (b.asn, a.asn):
            edges.append(Edge(link.a, link.b, a.policy(at_a.out_of), b.policy(at_b.into), at_a, at_b))
            edges.append(Edge(link.b, link.a, b.policy(at_b.out_of), a.policy(at_a.into), at_b, at_a))
    return tuple(edges)


def is_exact(rules: PrefixRules) -> bool:
    """True for a list of single prefixes, such as those that a switch announces itself."""
    return all(rule.permit and rule.low == rule.high == rule.within[1] for rule in rules)


@lru_cache(maxsize=16)
def announced(fabric: RoutedFabric) -> Announced:
    """All prefixes that routers of a fabric announce, those together that no policy tells apart."""
    origins: dict[Prefix, list[int]] = {}
    named: dict[Prefix, list[tuple[int, str]]] = {}
    ranges: dict[PrefixRules, None] = {}
    for at, router in enumerate(fabric.routers):
        for prefix, _ in router.networks:
            origins.setdefault(prefix, []).append(at)
        for name, rules in _lists(router).items():
            if is_exact(rules):
                for rule in rules:
                    named.setdefault(rule.within, []).append((at, name))
            else:
                ranges[rules] = None
    columns: dict[object, int] = {}
    column_of: dict[Prefix, int] = {}
    for prefix, routers in origins.items():
        matched = tuple(list_permits(rules, prefix) for rules in ranges)
        column_of[prefix] = columns.setdefault((*routers, matched, *named.get(prefix, ())), len(columns))
    prefixes: list[Prefix] = [(b"", 0)] * len(columns)
    is_host = np.zeros(len(columns), bool)
    origin = np.zeros((len(fabric.routers), len(columns)), bool)
    for prefix, column in column_of.items():
        prefixes[column] = prefix
        is_host[column] |= prefix[1] < 8 * len(prefix[0])
        origin[origins[prefix], column] = True
    return Announced(tuple(prefixes), column_of, origin, is_host)


def _lists(router: Router) -> dict[str, PrefixRules]:
    return {
        term.list_name: term.prefixes
        for policy in router.policies.values()
        for term in policy
        if term.prefixes is not None
    }


def spread(fabric: RoutedFabric, edges: tuple[Edge, ...], *, counts_sessions: bool = True) -> Routes:
    """Let the announced prefixes spread over some edges until no switch learns more.

    The ``sessions`` of the outcome are counted only on request: they are a third of the work. Prefixes do not touch
    each other, so some columns are done at a time: few enough to stay in a processor's cache.
    """
    known = announced(fabric)
    shape = known.origin.shape
    masks = _masks(fabric)
    groups = _groups(fabric, edges)
    is_foreign = _foreign(fabric, known)
    whole = Routes(np.full(shape, -1, np.int8), np.zeros(shape, np.float32), np.zeros(shape[0], np.float32), {})
    tags: dict[Tags, Flags] = {}
    for start in range(0, shape[1], _AT_ONCE):
        block = slice(start, start + _AT_ONCE)
        part = _spread(groups, masks, known.origin[:, block], is_foreign[:, block], block, counts_sessions)
        whole.hops[:, block], whole.paths[:, block] = part.hops, part.paths
        if counts_sessions:
            np.maximum(whole.sessions, part.sessions.max(axis=1), out=whole.sessions)
        for tag, flags in part.tags.items():
            tags.setdefault(tag, np.zeros(shape, bool))[:, block] = flags
    return replace(whole, tags=tags)


def _spread(
    groups: _Groups, masks: _Masks, origin: Flags, is_foreign: Flags, block: slice, counts_sessions: bool
) -> Routes:
    """``spread`` for a block of columns, of which ``origin`` and ``is_foreign`` are given."""
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
    return Routes(hops, paths, width, tags)


def _arrivals(
    groups: _Groups, masks: _Masks, front: dict[Tags, Counts], block: slice, counts_sessions: bool
) -> dict[Tags, tuple[Counts, Counts]]:
    """What one more hop makes of the routes at the front: paths and sessions by communities."""
    shape = front[next(iter(front))].shape
    arrived: dict[Tags, tuple[Counts, Counts]] = {}
    for (out_of, into, keeps), (targets, sources, sessions) in groups.items():
        for tag, every in front.items():
            counts = every[sources]
            if not counts.any():
                continue
            for sent, leaves in masks.outcomes(out_of, tag):
                offered = counts * _cells(leaves, sources, block)
                most = offered.max(initial=0)
                if not most:
                    continue
                carried = sessions @ offered
                over = carried if most == 1 or not counts_sessions else sessions @ (offered > 0).astype(np.float32)
                for got, enters in masks.outcomes(into, sent if keeps else NO_TAGS):
                    if got not in arrived:
                        arrived[got] = np.zeros(shape, np.float32), np.zeros(shape, np.float32)
                    allowed = _cells(enters, targets, block)
                    arrived[got][0][targets] += carried * allowed
                    if counts_sessions:
                        arrived[got][1][targets] += over * allowed
    return arrived


def _cells(flags: Flags, rows: Integers, block: slice) -> Flags:
    """Some rows of a mask in a block of its columns; it may have one row or one column for all."""
    return _rows(flags if flags.shape[1] == 1 else flags[:, block], rows)


def _rows(flags: Flags, rows: Integers) -> Flags:
    """Some rows of a mask, which may have one row for all."""
    return flags if len(flags) == 1 else flags[rows]


def _foreign(fabric: RoutedFabric, known: Announced) -> Flags:
    """Whether a router (row) may take a prefix (column): not where its own AS number originates it."""
    _, number = np.unique(np.array([router.asn for router in fabric.routers]), return_inverse=True)
    is_own = np.zeros((number.max() + 1, known.origin.shape[1]), bool)
    routers, columns = np.nonzero(known.origin)
    is_own[number[routers], columns] = True
    return np.asarray(~is_own[number])


def told(fabric: RoutedFabric, edges: tuple[Edge, ...], routes: Routes) -> list[int]:
    """For each edge, how many of its routes the source announces over it, whatever the target then does with them."""
    known = announced(fabric)
    masks = _masks(fabric)
    weight = np.bincount(list(known.column_of.values()), minlength=len(known.prefixes)).astype(np.float32)
    shapes = {id(edge.out_of): _shape(edge.out_of) for edge in edges}
    sources: dict[_Shape, set[int]] = {}
    for edge in edges:
        sources.setdefault(shapes[id(edge.out_of)], set()).add(edge.source)
    count: dict[tuple[int, _Shape], int] = {}
    for shape, members in sources.items():
        rows = np.array(sorted(members))
        total = np.zeros(len(rows), np.float32)
        for tag, flags in routes.tags.items():
            for _, leaves in masks.outcomes(shape, tag):
                total += (flags[rows] & _rows(leaves, rows)).astype(np.float32) @ weight
        count |= {(int(at), shape): int(number) for at, number in zip(rows, total, strict=True)}
    return [count[edge.source, shapes[id(edge.out_of)]] for edge in edges]


_Shape = tuple[tuple[bool, object, Tags | None, str, Tags], ...]


@lru_cache(maxsize=65536)
def _shape(policy: Policy) -> _Shape:
    """A policy without what differs from switch to switch: lists of single prefixes stand for themselves by name."""
    return tuple((t.permit, _reference(t), t.communities, t.change, t.values) for t in policy)


def _reference(term: Term) -> object:
    if term.prefixes is None:
        return None
    return term.list_name if is_exact(term.prefixes) else term.prefixes


_Group = tuple[_Shape, _Shape, bool]
_Groups = dict[_Group, tuple[Integers, Integers, csr_array]]


def _groups(fabric: RoutedFabric, edges: tuple[Edge, ...]) -> _Groups:
    """Sessions by what their policies do: targets (rows), sources (columns), and how many lead from one to another."""
    members: dict[_Group, tuple[list[int], list[int]]] = {}
    shapes: dict[int, _Shape] = {}
    for edge in edges:
        for policy in (edge.out_of, edge.into):
            if id(policy) not in shapes:
                shapes[id(policy)] = _shape(policy)
        keeps = fabric.routers[edge.source].keeps_communities
        key = (shapes[id(edge.out_of)], shapes[id(edge.into)], keeps)
        if key not in members:
            members[key] = [], []
        members[key][0].append(edge.target)
        members[key][1].append(edge.source)
    found = {}
    for key, (into, out_of) in members.items():
        targets, rows = np.unique(np.array(into), return_inverse=True)
        sources, columns = np.unique(np.array(out_of), return_inverse=True)
        ones = np.ones(len(rows), np.float32)
        found[key] = targets, sources, csr_array((ones, (rows, columns)), shape=(len(targets), len(sources)))
    return found


@lru_cache(maxsize=1)
def _masks(fabric: RoutedFabric) -> _Masks:
    return _Masks(fabric, announced(fabric))


class _Masks:
    """For each policy and each set of communities: which routes pass, and with which communities."""

    def __init__(self, fabric: RoutedFabric, known: Announced) -> None:
        self._known = known
        self._exact: dict[str, Flags] = {}
        for at, router in enumerate(fabric.routers):
            for name, rules in _lists(router).items():
                if is_exact(rules):
                    flags = self._exact.setdefault(name, np.zeros(known.origin.shape, bool))
                    flags[at, [known.column_of[r.within] for r in rules if r.within in known.column_of]] = True
        self._ranges: dict[PrefixRules, Flags] = {}
        self._outcomes: dict[tuple[_Shape, Tags], tuple[tuple[Tags, Flags], ...]] = {}

    def outcomes(self, shape: _Shape, tags: Tags) -> tuple[tuple[Tags, Flags], ...]:
        """The communities that routes with ``tags`` can have after a policy, and which routes those are."""
        if (shape, tags) not in self._outcomes:
            self._outcomes[shape, tags] = tuple(self._decide(shape, tags))
        return self._outcomes[shape, tags]

    def _decide(self, shape: _Shape, tags: Tags) -> Iterator[tuple[Tags, Flags]]:
        left: Flags = np.ones((1, 1), bool)
        for permit, reference, communities, change, values in shape:
            if communities is not None and not communities & tags:
                continue
            matched = left & self._matches(reference)
            left = left & ~matched
            if permit and matched.any():
                yield changed(Term(True, "", None, None, change, values, ()), tags), matched

    def _matches(self, reference: object) -> Flags:
        if reference is None:
            return np.ones((1, 1), bool)
        if isinstance(reference, str):
            return self._exact[reference]
        rules: PrefixRules = reference  # type: ignore[assignment]  # the third kind of what _reference gives
        if rules not in self._ranges:
            self._ranges[rules] = np.array([list_permits(rules, each) for each in self._known.prefixes], bool)[None, :]
        return self._ranges[rules]
