"""Edges: sessions able to come up, one edge for each direction of routes, grouped by the effect of their policies.

A fabric has a hundred thousand edges in a few groups, so counting and propagation use arrays; the edges themselves
serve messages about a session.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import chain
from typing import NamedTuple

import numpy as np

from clusterwright.facts.router import Policy, PrefixRules, Router, Session, Term
from clusterwright.proofs.ethernet.network import Integers, RoutedFabric

Tags = frozenset[str]
NO_TAGS: Tags = frozenset()


class Edge(NamedTuple):
    """A session in the direction of routes: ``source`` announces them to ``target``."""

    source: int
    target: int
    out_of: Policy
    into: Policy
    source_session: Session
    target_session: Session


_edge = partial(tuple.__new__, Edge)  # the constructor takes twice as long, for a hundred thousand edges


def _session_by_peer(router: Router) -> Mapping[bytes, Session]:
    return {session.peer: session for session in router.sessions}


@lru_cache(maxsize=16)
def edges_of(fabric: RoutedFabric) -> tuple[Edge, ...]:
    """Both directions of every session able to come up between cabled ports."""
    sessions = [_session_by_peer(router) for router in fabric.routers]
    edges = []
    for a, a_port, b, b_port in fabric.links:
        if a_port.address is None or b_port.address is None:
            continue
        at_a, at_b = sessions[a].get(b_port.address), sessions[b].get(a_port.address)
        if at_a is None or at_b is None:
            continue
        router_a, router_b = fabric.routers[a], fabric.routers[b]
        if at_a.remote_as == router_b.asn and at_b.remote_as == router_a.asn:
            edges.append(_edge((a, b, router_a.policy(at_a.out_of), router_b.policy(at_b.into), at_a, at_b)))
            edges.append(_edge((b, a, router_b.policy(at_b.out_of), router_a.policy(at_a.into), at_b, at_a)))
    return tuple(edges)


Shape = tuple[tuple[bool, object, Tags | None, str, Tags], ...]


@lru_cache(maxsize=65536)
def shape_of(policy: Policy) -> Shape:
    """A policy without its differences between switches: lists of single prefixes are replaced by their name."""
    return tuple((t.permit, _reference(t), t.communities, t.change, t.values) for t in policy)


def _reference(term: Term) -> object:
    if term.prefixes is None:
        return None
    if is_exact(term.prefixes):
        return term.list_name
    return term.prefixes


def is_exact(rules: PrefixRules) -> bool:
    """True for a list of single prefixes, such as a switch's own announcements."""
    return all(rule.permit and rule.low == rule.high == rule.within[1] for rule in rules)


class EdgeWay(NamedTuple):
    """The policies at both ends of an edge, and whether its source ``keeps`` the communities of a route."""

    out_of: Shape
    into: Shape
    keeps: bool


@dataclass(frozen=True, eq=False, slots=True)
class EdgeTable:
    """Edges by number: routers ``source`` and ``target``, and the index ``way`` of their policies in ``ways``."""

    source: Integers
    target: Integers
    way: Integers
    ways: tuple[EdgeWay, ...]

    def by_way(self) -> Iterator[tuple[EdgeWay, Integers]]:
        """Each of ``ways`` in use, with the numbers of its edges."""
        order = np.argsort(self.way, kind="stable")
        present, first = np.unique(self.way[order], return_index=True)
        if len(order):
            for number, edges in zip(present.tolist(), np.split(order, first[1:]), strict=True):
                yield self.ways[number], edges

    def among(self, rows: Integers, size: int) -> EdgeTable:
        """The edges between ``rows`` of a fabric's ``size`` routers, numbered by their place in ``rows``."""
        place = np.full(size, -1)
        place[rows] = np.arange(len(rows))
        inside = (place[self.source] >= 0) & (place[self.target] >= 0)
        return EdgeTable(
            source=place[self.source[inside]], target=place[self.target[inside]], way=self.way[inside], ways=self.ways
        )


@lru_cache(maxsize=16)
def edge_table(fabric: RoutedFabric) -> EdgeTable:
    """The edges of a fabric in the order of ``edges_of``."""
    if not (edges := edges_of(fabric)):
        none = np.zeros(0, np.int64)
        return EdgeTable(source=none, target=none, way=none, ways=())
    source, target, out_of, into, _, _ = zip(*edges, strict=True)
    keys = [list(map(id, policies)) for policies in (out_of, into)]  # a hundred thousand edges share few policies
    shapes = {key: shape_of(policy) for key, policy in dict(zip(chain(*keys), (*out_of, *into), strict=True)).items()}
    numbers = {shape: number for number, shape in enumerate(dict.fromkeys(shapes.values()))}
    number_of = {key: numbers[shape] for key, shape in shapes.items()}
    keeps = [router.keeps_communities for router in fabric.routers]
    every = [*zip(*(map(number_of.__getitem__, key) for key in keys), map(keeps.__getitem__, source), strict=True)]
    number_of_way = {way: number for number, way in enumerate(dict.fromkeys(every))}
    named = tuple(numbers)
    return EdgeTable(
        source=np.array(source, np.int64),
        target=np.array(target, np.int64),
        way=np.array([*map(number_of_way.__getitem__, every)], np.int64),
        ways=tuple(EdgeWay(named[out_of], named[into], kept) for out_of, into, kept in number_of_way),
    )
