"""Limits on routes: every session has one, and what a neighbour announces by its policy stays below it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from clusterwright.facts.router import Mark
from clusterwright.proofs.check import Counterexample, example
from clusterwright.proofs.ethernet.edges import Shape, edge_table, edges_of
from clusterwright.proofs.ethernet.network import RoutedFabric
from clusterwright.proofs.ethernet.routes import Counts
from clusterwright.proofs.tree import RenderedTree


def limit_faults(tree: RenderedTree, fabric: RoutedFabric, told: Mapping[Shape, Counts]) -> Iterator[Counterexample]:
    """Sessions that a limit would end in normal service, and sessions without one where others have one.

    ``told`` is how many routes each router announces by policies of a shape.
    """
    edges, table = edges_of(fabric), edge_table(fabric)
    most = np.array([edge.target_session.most_routes for edge in edges], np.int64)
    if not most.any():
        return
    counts = np.zeros(len(edges), np.int64)
    for way, own in table.by_way():
        if way.out_of in told:  # of a fabric in which nobody announces anything nothing is told
            counts[own] = told[way.out_of][table.source[own]]
    seen: set[tuple[int, Mark]] = set()
    for at in np.flatnonzero((most == 0) | (counts > most)).tolist():
        edge, count = edges[at], int(counts[at])
        session = edge.target_session
        place = edge.target, session.group_mark
        if place in seen:
            continue
        seen.add(place)
        router, neighbour = fabric.routers[edge.target], fabric.routers[edge.source].device
        if session.most_routes:
            message = f"ends the session with {neighbour} at {session.most_routes} routes, it announces {count}"
        else:
            message = f"nothing limits how many routes {neighbour} may announce"
        yield example(tree, router.device, router.bgp_file, session.group_mark, message)
