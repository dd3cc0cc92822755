"""Putting a sequence of node-sized blocks into domains: whole blocks into one domain where they fit, few domains."""

from __future__ import annotations

import numpy as np

from clusterwright.place.boxes import divisors
from clusterwright.place.grid import Ints
from clusterwright.place.room import Room


def fill(room: Room, count: int, blocks: tuple[int, ...]) -> Ints | None:
    """Nodes, by index, for a sequence of ``count`` nodes' worth of ranks.

    ``blocks`` are the sizes in nodes of the blocks that belong together, outermost layer first. Where domains have no
    room for whole blocks, the largest part of a block that there is room for takes its place. None when the room is too
    small.
    """
    if count > len(room.nodes):
        return None
    return _take(room, np.arange(len(room.nodes)), count, blocks, len(blocks) - 1)


def _take(room: Room, nodes: Ints, count: int, blocks: tuple[int, ...], layer: int) -> Ints:
    """``count`` of ``nodes`` in sequence; ``layer`` is the row of domains to deal them to."""
    if layer < 0:
        return nodes[:count]
    labels = room.domains[layer][nodes]
    members = [nodes[labels == label] for label in np.unique(labels)]
    block = blocks[len(blocks) - 1 - layer]
    parts = [part for part in divisors(block)[::-1] if count % part == 0] or [1]
    shares = next(shares for part in parts if (shares := _deal([len(each) for each in members], count, part)))
    taken = [_take(room, members[domain], share, blocks, layer - 1) for domain, share in shares]
    return np.concatenate(taken)


def _deal(free: list[int], count: int, block: int) -> list[tuple[int, int]]:
    """Domains and how many nodes each gives, in whole blocks: the roomiest first, the tightest fit last.

    Empty when blocks of this size do not fit.
    """
    capacity = [space // block * block for space in free]
    if sum(capacity) < count:
        return []
    found: list[tuple[int, int]] = []
    open_domains = sorted(range(len(free)), key=lambda domain: (-capacity[domain], domain))
    left = count
    while left:
        roomiest = open_domains[0]
        if capacity[roomiest] >= left:
            fitting = [domain for domain in open_domains if capacity[domain] >= left]
            found.append((min(fitting, key=lambda domain: (free[domain], domain)), left))
            break
        open_domains.pop(0)
        found.append((roomiest, capacity[roomiest]))
        left -= capacity[roomiest]
    return found
