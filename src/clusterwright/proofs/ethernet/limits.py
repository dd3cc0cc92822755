"""Limits on routes: every session has one, and the neighbour's policy announces fewer routes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from clusterwright.facts.router import Mark
from clusterwright.proofs.check import Counterexample, example
from clusterwright.proofs.ethernet.edges import Shape, edge_table, edges_of
from clusterwright.proofs.ethernet.network import RoutedFabric
from clusterwright.proofs.ethernet.routes import Counts
from clusterwright.proofs.tree import RenderedTree


def limit_faults(
    tree: RenderedTree, fabric: RoutedFabric, announced: Mapping[Shape, Counts]
) -> Iterator[Counterexample]:
    """Sessions ended by their limit in normal service, and sessions without a limit unlike others.

    ``announced`` has the number of routes announced by each router, by shape of policy.
    """
    edges, table = edges_of(fabric), edge_table(fabric)
    most = np.array([edge.target_session.most_routes for edge in edges], np.int64)
    if not most.any():
        return
    counts = np.zeros(len(edges), np.int64)
    for way, edge_numbers in table.by_way():
        if way.out_of in announced:  # a fabric without announcements has no counts
            counts[edge_numbers] = announced[way.out_of][table.source[edge_numbers]]
    reported_groups: set[tuple[int, Mark]] = set()
    for index in np.flatnonzero((most == 0) | (counts > most)).tolist():
        edge, count = edges[index], int(counts[index])
        session = edge.target_session
        group = edge.target, session.group_mark
        if group in reported_groups:
            continue
        reported_groups.add(group)
        router, neighbour = fabric.routers[edge.target], fabric.routers[edge.source].device
        if session.most_routes:
            message = f"ends the session with {neighbour} at {session.most_routes} routes, it announces {count}"
        else:
            message = f"nothing limits how many routes {neighbour} may announce"
        yield example(tree, router.device, router.bgp_file, session.group_mark, message)
