"""Small topologies and jobs, and the best placement of a job by trying every one."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

import numpy as np
from hypothesis import strategies as st

from clusterwright.extras.place.grid import Ints, edges
from clusterwright.extras.place.placement import cost, crossing
from clusterwright.extras.place.room import Room
from clusterwright.extras.place.volumes import streams
from clusterwright.spec.workload import AXES, Job

LARGEST = 8  # ranks: 8! placements at most


def room(shape: tuple[int, ...], gpus: int) -> Room:
    """``shape`` children in each domain, outermost first, nodes last; all equal."""
    count = prod(shape)
    rows = [np.arange(count) // prod(shape[layer:]) for layer in range(len(shape) - 1, 0, -1)]
    names = tuple(f"layer{number}" for number in range(1, len(shape)))
    nodes = tuple(f"n{number}" for number in range(count))
    return Room(nodes, gpus, ("node", *names, "cluster"), np.array(rows, np.int64).reshape(len(rows), count), ())


def uneven(sizes: tuple[int, ...], gpus: int) -> Room:
    """One layer of domains with these numbers of nodes."""
    labels = np.repeat(np.arange(len(sizes)), sizes)
    nodes = tuple(f"n{number}" for number in range(len(labels)))
    return Room(nodes, gpus, ("node", "pod", "cluster"), labels[None, :].astype(np.int64), ())


def job(sizes: dict[str, int], sent: dict[str, float], virtual_stages: int = 1) -> Job:
    """A job with bytes given by axis."""
    every = {axis: sizes.get(axis, 1) for axis in AXES}
    return Job("small", "compute", every, AXES, "fsdp", False, virtual_stages, None, sent, ())


@st.composite
def cases(draw: st.DrawFn) -> tuple[Room, Job]:
    """A job that fills a room of at most LARGEST GPUs."""
    shape, gpus = draw(
        st.sampled_from(
            [((2, 2), 2), ((2, 2, 2), 1), ((2, 4), 1), ((4, 2), 1), ((2, 2), 1), ((2, 3), 1), ((3, 2), 1), ((2, 1), 4)]
        )
    )
    ranks = prod(shape) * gpus
    choices = [sizes for sizes in _factorings(ranks) if sum(size > 1 for size in sizes) <= 3]
    sizes = dict(zip(("tensor", "pipeline", "data"), draw(st.sampled_from(choices)), strict=True))
    sent = {axis: float(draw(st.integers(1, 100))) for axis in sizes}
    return room(shape, gpus), job(sizes, sent, draw(st.sampled_from([1, 2])))


def _factorings(number: int) -> list[tuple[int, int, int]]:
    return [
        (one, two, number // one // two)
        for one in range(1, number + 1)
        if number % one == 0
        for two in range(1, number // one + 1)
        if (number // one) % two == 0
    ]


def best_cost(space: Room, work: Job) -> tuple[float, ...]:
    """The least cost of any placement, by trying all."""
    talk = edges(work, streams(work))
    if not talk:
        return ()
    return min(cost(crossing(space, talk, node_of)) for node_of in _placements(len(space.nodes), space.gpus_per_node))


def _placements(nodes: int, gpus: int) -> Iterator[Ints]:
    """Every way to put ranks on nodes, with rank 0 on the first node: nodes are alike."""
    ranks = nodes * gpus
    node_of = np.full(ranks, -1, np.int64)
    room_left = [gpus] * nodes

    def put(rank: int) -> Iterator[Ints]:
        if rank == ranks:
            yield node_of
            return
        for node in range(1 if rank == 0 else nodes):
            if room_left[node]:
                room_left[node] -= 1
                node_of[rank] = node
                yield from put(rank + 1)
                room_left[node] += 1

    return put(0)
