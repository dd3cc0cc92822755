"""Limits on routes: every session has one, and what a neighbour announces by its policy stays below it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from clusterwright.platforms.router import Mark
from clusterwright.proofs.check import Counterexample, example
from clusterwright.proofs.ethernet.network import RoutedFabric
from clusterwright.proofs.ethernet.routes import Counts, Shape, edges_of, shapes_of
from clusterwright.proofs.tree import RenderedTree


def limit_faults(tree: RenderedTree, fabric: RoutedFabric, told: Mapping[Shape, Counts]) -> Iterator[Counterexample]:
    """Sessions that a limit would end in normal service, and sessions without one where others have one.

    ``told`` is how many routes each router announces by policies of a shape.
    """
    edges = edges_of(fabric)
    limited = sum(1 for edge in edges if edge.target_session.most_routes)
    if not limited:
        return
    seen: set[tuple[int, Mark]] = set()
    shapes = shapes_of(edges)
    for edge in edges:
        session = edge.target_session
        count = int(told[shapes[id(edge.out_of)]][edge.source])
        place = edge.target, session.group_mark
        if (session.most_routes and count <= session.most_routes) or place in seen:
            continue
        seen.add(place)
        router, neighbour = fabric.routers[edge.target], fabric.routers[edge.source].device
        if session.most_routes:
            message = f"ends the session with {neighbour} at {session.most_routes} routes, it announces {count}"
        else:
            message = f"nothing limits how many routes {neighbour} may announce"
        yield example(tree, router.device, router.bgp_file, session.group_mark, message)
