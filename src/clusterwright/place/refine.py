"""Exchanging ranks while that helps: for jobs so small that every pair can be tried."""

from __future__ import annotations

import numpy as np

from clusterwright.place.grid import Edges, Floats, Ints
from clusterwright.place.room import Room

MOST_RANKS = 256
_NOISE = 1e-9  # of the whole traffic: less is rounding


def refined(room: Room, edges: tuple[Edges, ...], node_of: Ints) -> Ints:
    """The placement after the best exchanges of two ranks, one after the other, until none helps.

    An exchange helps when it takes bytes from the outermost layer that it changes (Kernighan and Lin 1970, for pairs,
    layer by layer). Jobs of more than MOST_RANKS ranks come back as they are.
    """
    ranks = len(node_of)
    if ranks > MOST_RANKS:
        return node_of
    weights = np.zeros((ranks, ranks))
    for each in edges:
        np.add.at(weights, (each.source, each.target), each.sent_bytes)
    weights += weights.T
    np.fill_diagonal(weights, 0)
    noise = _NOISE * float(weights.sum())
    node_of = node_of.copy()
    for _ in range(ranks * ranks):
        pair = _best_exchange(room, weights, node_of, noise)
        if pair is None:
            break
        one, other = pair
        node_of[one], node_of[other] = node_of[other], node_of[one]
    return node_of


def _best_exchange(room: Room, weights: Floats, node_of: Ints, noise: float) -> tuple[int, int] | None:
    layers = [*(labels[node_of] for labels in room.domains[::-1]), node_of]
    standing = np.ones(weights.shape, np.bool_)
    for labels in layers:
        gain = np.where(standing, _gains(weights, labels), -np.inf)
        best = float(gain.max())
        if best > noise:
            one, other = np.unravel_index(int(gain.argmax()), gain.shape)
            return int(one), int(other)
        standing &= gain > -noise
    return None


def _gains(weights: Floats, labels: Ints) -> Floats:
    """Bytes that no longer cross between domains when two ranks exchange places, for every pair."""
    _, dense = np.unique(labels, return_inverse=True)
    own = np.zeros((len(labels), int(dense.max()) + 1))
    own[np.arange(len(labels)), dense] = 1
    towards = weights @ own  # bytes between a rank and each domain
    here = towards[np.arange(len(labels)), dense]
    there = towards[:, dense]
    apart = dense[:, None] != dense[None, :]
    return np.where(apart, there + there.T - here[:, None] - here[None, :] - 2 * weights, 0.0)
