"""Placing a job: nested boxes of its grid onto nested domains, and what a scheduler would have done instead."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from clusterwright.finding import ClusterwrightError
from clusterwright.place.boxes import Chain, chains, sequence
from clusterwright.place.crossing import cost, crossing
from clusterwright.place.fill import fill
from clusterwright.place.grid import Edges, Ints, edges
from clusterwright.place.refine import refined
from clusterwright.place.room import Room
from clusterwright.place.volumes import Stream, streams
from clusterwright.simulate.scramble import scrambled
from clusterwright.spec.workload import Job

_ORDER = 5  # what the seed is used for here


@dataclass(frozen=True, slots=True)
class Placement:
    """A job's ranks on nodes. ``node_of`` is each rank's node as an index of the room's, ``gpu_of`` its local GPU;
    ``bytes_by_axis`` the bytes of a step along each axis by the layer that they climb to."""

    node_of: Ints
    gpu_of: Ints
    bytes_by_axis: Mapping[str, tuple[float, ...]]

    def bytes_by_layer(self) -> tuple[float, ...]:
        """The bytes of a step, by layer."""
        return tuple(sum(layer) for layer in zip(*self.bytes_by_axis.values(), strict=True))


def place(room: Room, job: Job) -> Placement:
    """The placement with the fewest bytes across the outermost layer, then across the next one, down to the node.

    Raises ClusterwrightError when the job is not whole nodes, or more than there are in service.
    """
    count = _nodes_needed(room, job)
    sent = streams(job)
    talk = edges(job, sent)
    best: Ints | None = None
    best_cost: tuple[float, ...] = ()
    for chain in chains(job, sent, _capacities(room, job), room.gpus_per_node):
        node_of = _laid_out(room, job, sent, chain, count)
        if node_of is None:
            continue
        here = cost(crossing(room, talk, node_of)) if talk else ()
        if best is None or here < best_cost:
            best, best_cost = node_of, here
    if best is None:
        raise ClusterwrightError(f"Job {job.name} finds no room.")
    return _placement(room, talk, refined(room, talk, best))


def linear(room: Room, job: Job) -> Placement:
    """Ranks in the framework's order on the first nodes in the plan's order."""
    count = _nodes_needed(room, job)
    return _placement(room, edges(job, streams(job)), np.arange(count).repeat(room.gpus_per_node))


def shuffled(room: Room, job: Job, seed: int) -> Placement:
    """Ranks in the framework's order on nodes drawn by ``seed``."""
    count = _nodes_needed(room, job)
    drawn = np.argsort(scrambled(seed, _ORDER, len(room.nodes)))[:count]
    return _placement(room, edges(job, streams(job)), drawn.repeat(room.gpus_per_node))


def _placement(room: Room, talk: tuple[Edges, ...], node_of: Ints) -> Placement:
    by_node = np.argsort(node_of, kind="stable")
    gpu_of = np.empty(len(node_of), np.int64)
    gpu_of[by_node] = np.arange(len(node_of)) % room.gpus_per_node
    return Placement(node_of, gpu_of, crossing(room, talk, node_of))


def _nodes_needed(room: Room, job: Job) -> int:
    count, rest = divmod(job.ranks, room.gpus_per_node)
    if rest:
        raise ClusterwrightError(
            f"Job {job.name}: {job.ranks:,} ranks are not whole nodes of {room.gpus_per_node} GPUs; change an axis."
        )
    if count > len(room.nodes):
        raise ClusterwrightError(
            f"Job {job.name}: {job.ranks:,} ranks need {count:,} nodes, and {len(room.nodes):,} of {job.nodes} are in "
            "service; shorten an axis, or return nodes to service."
        )
    return count


def _capacities(room: Room, job: Job) -> tuple[int, ...]:
    """The most ranks that a domain of each layer takes, outermost first."""
    return tuple(min(int(np.bincount(labels).max()) * room.gpus_per_node, job.ranks) for labels in room.domains[::-1])


def _laid_out(room: Room, job: Job, sent: tuple[Stream, ...], chain: Chain, count: int) -> Ints | None:
    blocks = tuple(int(np.prod(box)) // room.gpus_per_node for box in chain[:-1])
    nodes = fill(room, count, blocks)
    if nodes is None:
        return None
    node_of = np.empty(job.ranks, np.int64)
    node_of[sequence(job, chain, sent)] = nodes.repeat(room.gpus_per_node)
    return node_of
