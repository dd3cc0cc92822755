"""Placement of a job: nested boxes of its grid onto nested domains, and placements without topology to compare with.

A sequence of node-sized blocks goes into few domains, whole blocks into one where they fit. Small jobs are improved by
exchanging pairs of ranks. Each byte counts at the highest layer on its path.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from clusterwright.extras.place.boxes import Chain, chains, divisors, sequence
from clusterwright.extras.place.grid import Edges, Floats, Ints, edges
from clusterwright.extras.place.room import Room
from clusterwright.extras.place.volumes import Stream, streams
from clusterwright.extras.simulate.scramble import scrambled
from clusterwright.finding import ClusterwrightError
from clusterwright.spec.workload import Job

TENSOR = "tensor"
_OUTWEIGHS = 1e6
_ORDER = 5  # the stream of random numbers for this use of the seed


@dataclass(frozen=True, slots=True)
class Placement:
    """A job's ranks on nodes.

    ``node_of`` is each rank's node as an index of the room's, ``gpu_of`` its local GPU; ``bytes_by_axis`` are the bytes
    of a step along each axis by the highest layer on their path.
    """

    node_of: Ints
    gpu_of: Ints
    bytes_by_axis: Mapping[str, tuple[float, ...]]

    def bytes_by_layer(self) -> tuple[float, ...]:
        """The bytes of a step, by layer."""
        return tuple(sum(layer) for layer in zip(*self.bytes_by_axis.values(), strict=True))


def place(room: Room, job: Job) -> Placement:
    """The placement with the fewest bytes across the outermost layer, then across the next one, down to the node.

    With NVLink between nodes, tensor groups stay inside a domain wherever one has room: a ring is as slow as its
    slowest hop, even for few bytes. Raises ClusterwrightError for a job of partial nodes, and for too few nodes in
    service.
    """
    count = _nodes_needed(room, job)
    sent = tuple(_weighed(room, stream) for stream in streams(job))
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
    return _placement(room, edges(job, streams(job)), refined(room, talk, best))


def _weighed(room: Room, stream: Stream) -> Stream:
    """A stream with its weight: with NVLink between nodes, tensor groups outweigh all other streams."""
    if not room.joins_nodes_by_nvlink or stream.axis != TENSOR:
        return stream
    return replace(stream, sent_bytes=stream.sent_bytes * _OUTWEIGHS)


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
    """The most ranks in a domain of each layer, outermost first."""
    return tuple(min(int(np.bincount(labels).max()) * room.gpus_per_node, job.ranks) for labels in room.domains[::-1])


def _laid_out(room: Room, job: Job, sent: tuple[Stream, ...], chain: Chain, count: int) -> Ints | None:
    blocks = tuple(int(np.prod(box)) // room.gpus_per_node for box in chain[:-1])
    nodes = fill(room, count, blocks)
    if nodes is None:
        return None
    node_of = np.empty(job.ranks, np.int64)
    node_of[sequence(job, chain, sent)] = nodes.repeat(room.gpus_per_node)
    return node_of


def crossing(room: Room, edges: tuple[Edges, ...], node_of: Ints) -> Mapping[str, tuple[float, ...]]:
    """For each axis the bytes of a step by the highest layer on their path: inside a node first, the cluster last.

    ``node_of`` is each rank's node, as an index of the room's.
    """
    bytes_by_axis = {}
    for edge in edges:
        climbed = room.layer_of(node_of[edge.source], node_of[edge.target])
        counts = np.bincount(climbed, minlength=len(room.layers))
        bytes_by_axis[edge.axis] = tuple(float(count) * edge.sent_bytes for count in counts)
    return bytes_by_axis


def cost(bytes_by_axis: Mapping[str, tuple[float, ...]]) -> tuple[float, ...]:
    """The cost of a placement: bytes across the cluster, then those across it and the layer below, and so on."""
    layers = zip(*bytes_by_axis.values(), strict=True)
    totals = [sum(layer) for layer in layers]
    return tuple(sum(totals[layer:]) for layer in range(len(totals) - 1, 0, -1))


def fill(room: Room, count: int, blocks: tuple[int, ...]) -> Ints | None:
    """Nodes, by index, for a sequence of ``count`` nodes' worth of ranks.

    ``blocks`` are the sizes in nodes of the blocks to keep together, outermost layer first. In domains too small for a
    whole block, its largest fitting part is used instead. None for a room with fewer nodes.
    """
    if count > len(room.nodes):
        return None
    return _take(room, np.arange(len(room.nodes)), count, blocks, len(blocks) - 1)


def _take(room: Room, nodes: Ints, count: int, blocks: tuple[int, ...], layer: int) -> Ints:
    """``count`` of ``nodes`` in sequence, filling the domains of ``layer`` (a row of the room's domains)."""
    if layer < 0:
        return nodes[:count]
    labels = room.domains[layer][nodes]
    members = [nodes[labels == label] for label in np.unique(labels)]
    block = blocks[len(blocks) - 1 - layer]
    parts = [part for part in divisors(block)[::-1] if count % part == 0] or [1]
    free = [len(member) for member in members]
    shares: list[tuple[int, int]] = []
    for part in parts:
        shares = _deal(free, count, part)
        if shares:
            break
    chosen = [_take(room, members[domain], share, blocks, layer - 1) for domain, share in shares]
    return np.concatenate(chosen)


def _deal(free: list[int], count: int, block: int) -> list[tuple[int, int]]:
    """Domains with their number of nodes, in whole blocks: the roomiest first, the tightest fit last.

    Empty if blocks of this size do not fit.
    """
    capacity = [space // block * block for space in free]
    if sum(capacity) < count:
        return []
    dealt: list[tuple[int, int]] = []
    open_domains = sorted(range(len(free)), key=lambda domain: (-capacity[domain], domain))
    remaining = count
    while remaining:
        roomiest = open_domains[0]
        if capacity[roomiest] >= remaining:
            fitting = [domain for domain in open_domains if capacity[domain] >= remaining]
            dealt.append((min(fitting, key=lambda domain: (free[domain], domain)), remaining))
            break
        open_domains.pop(0)
        dealt.append((roomiest, capacity[roomiest]))
        remaining -= capacity[roomiest]
    return dealt


MOST_RANKS = 256
_NOISE = 1e-9  # of the whole traffic: less is rounding


def refined(room: Room, edges: tuple[Edges, ...], node_of: Ints) -> Ints:
    """The placement after the best exchanges of two ranks, one after the other, until none helps.

    An exchange helps if it reduces the bytes on the outermost layer with a change (Kernighan and Lin 1970, for pairs,
    layer by layer). Jobs of more than MOST_RANKS ranks are not changed.
    """
    ranks = len(node_of)
    if ranks > MOST_RANKS:
        return node_of
    weights = np.zeros((ranks, ranks))
    for edge in edges:
        np.add.at(weights, (edge.source, edge.target), edge.sent_bytes)
    weights += weights.T
    np.fill_diagonal(weights, 0)
    noise = _NOISE * float(weights.sum())
    node_of = node_of.copy()
    for _ in range(ranks * ranks):
        pair = _best_exchange(room, weights, node_of, noise)
        if pair is None:
            break
        first, second = pair
        node_of[first], node_of[second] = node_of[second], node_of[first]
    return node_of


def _best_exchange(room: Room, weights: Floats, node_of: Ints, noise: float) -> tuple[int, int] | None:
    layers = [*(labels[node_of] for labels in room.domains[::-1]), node_of]
    standing = np.ones(weights.shape, np.bool_)
    for labels in layers:
        gain = np.where(standing, _gains(weights, labels), -np.inf)
        best = float(gain.max())
        if best > noise:
            first, second = np.unravel_index(int(gain.argmax()), gain.shape)
            return int(first), int(second)
        standing &= gain > -noise
    return None


def _gains(weights: Floats, labels: Ints) -> Floats:
    """The saved bytes between domains if two ranks exchange places, for every pair."""
    _, dense = np.unique(labels, return_inverse=True)
    membership = np.zeros((len(labels), int(dense.max()) + 1))
    membership[np.arange(len(labels)), dense] = 1
    towards = weights @ membership  # bytes between a rank and each domain
    here = towards[np.arange(len(labels)), dense]
    there = towards[:, dense]
    apart = dense[:, None] != dense[None, :]
    return np.where(apart, there + there.T - here[:, None] - here[None, :] - 2 * weights, 0.0)
