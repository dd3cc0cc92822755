"""A job's ranks as a grid of axes, and the pairs of communicating ranks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from clusterwright.extras.place.volumes import Stream
from clusterwright.spec.workload import AXES, Job

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Edges:
    """Messages of a step along one axis: from rank ``source`` to rank ``target``, ``sent_bytes`` each."""

    axis: str
    source: Ints
    target: Ints
    sent_bytes: float


def coordinates(job: Job) -> Ints:
    """Each rank's place along each of AXES, as [rank, axis]; ranks are numbered in the job's order."""
    places = np.empty((job.ranks, len(AXES)), np.int64)
    rest = np.arange(job.ranks)
    for axis in job.order:
        places[:, AXES.index(axis)] = rest % job.sizes[axis]
        rest //= job.sizes[axis]
    return places


def rank_at(job: Job, place: Ints) -> Ints:
    """The inverse of ``coordinates``: the ranks at these places."""
    ranks = np.zeros(len(place), np.int64)
    step = 1
    for axis in job.order:
        ranks += place[:, AXES.index(axis)] * step
        step *= job.sizes[axis]
    return ranks


def edges(job: Job, streams: tuple[Stream, ...]) -> tuple[Edges, ...]:
    """Sources and targets of each stream."""
    places = coordinates(job)
    ranks = np.arange(job.ranks)
    edges = []
    for stream in streams:
        nearby, is_wrapped = neighbour(job, places, stream)
        target = rank_at(job, nearby)
        kept = np.ones(job.ranks, np.bool_) if stream.ring else ~is_wrapped
        source, target = ranks[kept], target[kept]
        if stream.both_ways:
            source, target = np.concatenate([source, target]), np.concatenate([target, source])
        edges.append(Edges(axis=stream.axis, source=source, target=target, sent_bytes=stream.sent_bytes))
    return tuple(edges)


def neighbour(job: Job, places: Ints, stream: Stream) -> tuple[Ints, npt.NDArray[np.bool_]]:
    """The next place along a stream's axes for each place, and whether it wraps to the first one."""
    moved = places.copy()
    carry = np.ones(len(places), np.int64)
    for axis in stream.axes:
        column = AXES.index(axis)
        moved[:, column] += carry
        carry = (moved[:, column] == job.sizes[axis]).astype(np.int64)
        moved[:, column] %= job.sizes[axis]
    return moved, carry.astype(np.bool_)
