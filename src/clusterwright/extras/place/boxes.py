"""Boxes: blocks of ranks in the grid with little traffic to the outside.

A block of s ranks is a box with a divisor of each axis as its side, and all blocks of one size are equal boxes side by
side. Boxes nest: a pod's holds whole racks', a rack's whole nodes'. The traffic out of a box is exact: a count of the
neighbours in different boxes along each stream's axes.
"""

from __future__ import annotations

from functools import cache
from itertools import product
from math import prod

import numpy as np

from clusterwright.extras.place.grid import Ints, coordinates, neighbour
from clusterwright.extras.place.volumes import Stream
from clusterwright.spec.workload import AXES, Job

Box = tuple[int, ...]
Chain = tuple[Box, ...]

SIZES_TRIED = 4  # block sizes of a layer, the largest first
BOXES_KEPT = 3  # best boxes of one size


def divisors(number: int) -> tuple[int, ...]:
    """All divisors, ascending."""
    small = [divisor for divisor in range(1, int(number**0.5) + 1) if number % divisor == 0]
    return tuple(sorted({*small, *(number // divisor for divisor in small)}))


def chains(job: Job, streams: tuple[Stream, ...], capacities: tuple[int, ...], per_node: int) -> tuple[Chain, ...]:
    """Nested boxes, from the outermost layer to the node, for every promising combination of block sizes.

    ``capacities`` are the most ranks in a domain of each layer, outermost first, without node and cluster.
    """
    leaving = _Leaving(job, streams)
    whole: Box = tuple(job.sizes[axis] for axis in AXES)
    outer_chains: list[Chain] = [()]
    for capacity in capacities:
        longer_chains: list[Chain] = []
        for chain in outer_chains:
            outer_box = chain[-1] if chain else whole
            longer_chains += [(*chain, box) for box in _blocks(leaving, outer_box, capacity, per_node)]
        outer_chains = longer_chains
    whole_chains: list[Chain] = []
    for chain in outer_chains:
        outer_box = chain[-1] if chain else whole
        whole_chains += [(*chain, box) for box in _best(leaving, outer_box, per_node)[:BOXES_KEPT]]
    return tuple(whole_chains)


def sequence(job: Job, chain: Chain, streams: tuple[Stream, ...]) -> Ints:
    """The ranks ordered so that every box of the chain is contiguous; axes with more traffic vary faster."""
    places = coordinates(job)
    volume = dict.fromkeys(AXES, 0.0)
    for stream in streams:
        volume[stream.axes[-1]] += stream.sent_bytes
    slow_first = sorted(range(len(AXES)), key=lambda column: (volume[AXES[column]], column))
    keys: list[Ints] = []
    whole: Box = tuple(job.sizes[axis] for axis in AXES)
    for outer, inner in zip((whole, *chain), (*chain, (1,) * len(AXES)), strict=True):
        keys += [places[:, column] % outer[column] // inner[column] for column in slow_first]
    return np.lexsort(keys[::-1])


def _blocks(leaving: _Leaving, outer: Box, capacity: int, per_node: int) -> list[Box]:
    """Boxes in ``outer`` for the largest block sizes within ``capacity``; ``outer`` itself if it fits."""
    sizes = [size for size in divisors(prod(outer)) if size % per_node == 0 and size <= capacity]
    blocks: list[Box] = []
    for size in sizes[::-1][:SIZES_TRIED]:
        blocks += _best(leaving, outer, size)[: BOXES_KEPT if not blocks else 1]
    return blocks


def _best(leaving: _Leaving, outer: Box, size: int) -> list[Box]:
    """Boxes of ``size`` ranks with sides that divide those of ``outer``, least outgoing traffic first."""
    return sorted(_boxes(outer, size), key=lambda box: (leaving(box), box))


@cache
def _boxes(outer: Box, size: int) -> tuple[Box, ...]:
    *sides, last = (divisors(side) for side in outer)
    boxes = []
    for box in product(*sides):
        rest, remainder = divmod(size, prod(box))
        if not remainder and rest in last:
            boxes.append((*box, rest))
    return tuple(boxes)


class _Leaving:
    """Average bytes from a rank to other boxes in a step, cached by box."""

    def __init__(self, job: Job, streams: tuple[Stream, ...]) -> None:
        self._job = job
        self._streams = streams
        self._bytes_by_box: dict[Box, float] = {}

    def __call__(self, box: Box) -> float:
        if box not in self._bytes_by_box:
            self._bytes_by_box[box] = sum(self._of(stream, box) for stream in self._streams)
        return self._bytes_by_box[box]

    def _of(self, stream: Stream, box: Box) -> float:
        """The bytes of one stream, counted in one of its groups: all groups are alike."""
        columns = [AXES.index(axis) for axis in stream.axes]
        sizes = [self._job.sizes[axis] for axis in stream.axes]
        members = np.zeros((prod(sizes), len(AXES)), np.int64)
        rest = np.arange(prod(sizes))
        for column, size in zip(columns, sizes, strict=True):
            members[:, column] = rest % size
            rest //= size
        following, is_wrapped = neighbour(self._job, members, stream)
        leaves = np.any(members // np.array(box) != following // np.array(box), axis=1)
        if not stream.ring:
            leaves &= ~is_wrapped
        return float(leaves.mean()) * stream.sent_bytes * (2 if stream.both_ways else 1)
