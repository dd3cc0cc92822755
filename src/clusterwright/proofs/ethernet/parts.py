"""Parts of a fabric below a tier: switches connected by cables of lower tiers, such as pods or single racks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from clusterwright.proofs.ethernet.network import RoutedFabric, RoutedLink

ABOVE = -1  # in no part: the tiers connecting them


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of a fabric's routers; parts and places are counted in the fabric's order."""

    part: list[int]
    """The part of each router, ABOVE for none."""
    place: list[int]
    """The index of each router in its part."""

    @property
    def count(self) -> int:
        """The number of parts."""
        return max(self.part, default=ABOVE) + 1

    @property
    def ends(self) -> list[tuple[int, int]]:
        """Each router's number for comparing parts: its place in its part, or its own number above them."""
        ends = []
        for router, number in enumerate(self.part):
            ends.append((router, 0) if number == ABOVE else (self.place[router], 1))
        return ends


def parts_below(fabric: RoutedFabric, level: int) -> Parts:
    """The parts connected by the tier ``level`` and the tiers above it."""
    size = len(fabric.routers)
    below = fabric.rank < level
    ends = fabric.ends[below[fabric.ends].all(axis=1)]
    graph = coo_array((np.ones(len(ends)), (ends[:, 0], ends[:, 1])), shape=(size, size))
    _, member = connected_components(graph, directed=False)
    numbers = np.full(size, ABOVE)
    numbers[below] = np.unique(member[below], return_inverse=True)[1].reshape(-1)
    part: list[int] = numbers.tolist()
    place, counts = [0] * size, [0] * (max(part, default=ABOVE) + 1)
    for router, number in enumerate(part):
        if number != ABOVE:
            place[router] = counts[number]
            counts[number] += 1
    return Parts(part, place)


def cut(fabric: RoutedFabric, rows: list[int]) -> RoutedFabric:
    """The fabric reduced to some of its routers, in their order and without NICs."""
    place = np.full(len(fabric.routers), ABOVE)
    place[rows] = np.arange(len(rows))
    ends = place[fabric.ends]
    inside = np.flatnonzero((ends != ABOVE).all(axis=1))
    links = []
    for index, (a, b) in zip(inside.tolist(), ends[inside].tolist(), strict=True):
        link = fabric.links[index]
        links.append(RoutedLink(a=a, a_port=link.a_port, b=b, b_port=link.b_port))
    return RoutedFabric(
        routers=tuple(fabric.routers[row] for row in rows),
        links=tuple(links),
        nics=(),
        rank=fabric.rank[rows],
        idle=fabric.idle,
    )
