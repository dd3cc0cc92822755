"""Bytes by the highest layer that they cross, for ranks on nodes."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from clusterwright.place.grid import Edges, Ints
from clusterwright.place.room import Room


def crossing(room: Room, edges: tuple[Edges, ...], node_of: Ints) -> Mapping[str, tuple[float, ...]]:
    """For each axis the bytes of a step by the layer that they climb to: inside a node first, across the cluster last.

    ``node_of`` is each rank's node, as an index of the room's.
    """
    found = {}
    for each in edges:
        climbed = room.layer_of(node_of[each.source], node_of[each.target])
        counts = np.bincount(climbed, minlength=len(room.layers))
        found[each.axis] = tuple(float(count) * each.sent_bytes for count in counts)
    return found


def cost(bytes_by_axis: Mapping[str, tuple[float, ...]]) -> tuple[float, ...]:
    """What a placement is judged by: bytes across the cluster, then those across it and the layer below, and so on."""
    layers = zip(*bytes_by_axis.values(), strict=True)
    totals = [sum(layer) for layer in layers]
    return tuple(sum(totals[layer:]) for layer in range(len(totals) - 1, 0, -1))
