"""Equal-cost groups of links to each destination: shortest valley-free paths, the same as BGP's best paths.

A switch with a downward path uses it; otherwise it forwards upwards, towards the nearest switch with one. With switches
or cables out of service, groups shrink to the links still leading to the destination. Aggregated prefixes, which would
hide a failure from the far side, are not modelled.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from clusterwright.extras.simulate.network import HOST, FabricGraph, Ints

_NO_PATH = 100  # hops; more than in any fabric, and small enough for int8 sums


@dataclass(frozen=True, slots=True)
class EqualCostGroups:
    """Equal-cost groups by switch and destination.

    ``column`` maps a switch to its column as a destination (-1: none); ``group[switch, column]`` is a group with links
    ``members[start : start + size]`` in port order; group 0 is empty.
    """

    column: Ints
    group: npt.NDArray[np.int32]
    start: Ints
    size: Ints
    members: Ints


def build_routes(network: FabricGraph, destinations: Ints) -> EqualCostGroups:
    """Groups of all switches to the bottom switches ``destinations`` (indexes, each once)."""
    count = len(network.switches)
    column = np.full(count, -1, np.int64)
    column[destinations] = np.arange(len(destinations))
    down, best = _distances(network, destinations)
    outgoing = _outgoing(network)
    group = np.zeros((count, len(destinations)), np.int32)
    starts, sizes, members = [0], [0], [np.empty(0, np.int64)]
    filled = 0
    # A switch without a downward path is above no part of the job: no flow of the job passes it.
    for switch in np.flatnonzero((down < _NO_PATH).any(axis=1)):
        links = outgoing[switch]
        if not len(links):
            continue
        far = network.head[links]
        goes_down = (links % 2 == 1)[:, None]
        has_downward_path = down[switch] < _NO_PATH
        usable = np.where(
            goes_down,
            has_downward_path & (down[far] + 1 == down[switch]),
            ~has_downward_path & (best[switch] < _NO_PATH) & (best[far] + 1 == best[switch]),
        )
        packed = np.ascontiguousarray(np.packbits(usable, axis=0).T)
        patterns = packed.view(f"V{packed.shape[1]}").ravel().tolist()
        number = {pattern: len(starts) + index for index, pattern in enumerate(dict.fromkeys(patterns))}
        group[switch] = [number[pattern] for pattern in patterns]
        for pattern in number:
            group_links = links[np.unpackbits(np.frombuffer(pattern, np.uint8), count=len(links)).astype(bool)]
            starts.append(filled)
            sizes.append(len(group_links))
            members.append(group_links)
            filled += len(group_links)
    return EqualCostGroups(
        column=column, group=group, start=np.array(starts), size=np.array(sizes), members=np.concatenate(members)
    )


def _distances(network: FabricGraph, destinations: Ints) -> tuple[npt.NDArray[np.int16], npt.NDArray[np.int16]]:
    """Hops from every switch to every destination: downwards only, and over the best valley-free path."""
    down = np.full((len(network.switches), len(destinations)), _NO_PATH, np.int16)
    down[destinations, np.arange(len(destinations))] = 0
    between = np.flatnonzero(network.tail[::2] != HOST) * 2
    lower, upper = network.tail[between], network.head[between]
    tiers = range(int(network.tier.max(initial=0)) + 1)
    for tier in tiers:
        _shorten(down, upper, lower, network.tier[upper] == tier)
    best = down.copy()
    for tier in reversed(tiers):
        through = best.copy()
        _shorten(through, lower, upper, network.tier[lower] == tier)
        best = np.where(down < _NO_PATH, down, through).astype(np.int16)
    return down, best


def _shorten(distance: npt.NDArray[np.int16], switch: Ints, neighbour: Ints, which: npt.NDArray[np.bool_]) -> None:
    """Lower the rows ``switch`` to their neighbours' distance plus one if that is less; in place."""
    order = np.flatnonzero(which)
    if not len(order):
        return
    order = order[np.argsort(switch[order], kind="stable")]
    rows, first = np.unique(switch[order], return_index=True)
    offered = np.minimum.reduceat(distance[neighbour[order]], first, axis=0) + 1
    distance[rows] = np.minimum(distance[rows], np.minimum(offered, _NO_PATH))


def _outgoing(network: FabricGraph) -> list[Ints]:
    """The links from each switch to other switches, in cabling order."""
    between = np.flatnonzero((network.tail != HOST) & (network.head != HOST))
    order = between[np.argsort(network.tail[between], kind="stable")]
    ends = np.searchsorted(network.tail[order], np.arange(len(network.switches) + 1))
    return [order[ends[switch] : ends[switch + 1]] for switch in range(len(network.switches))]
