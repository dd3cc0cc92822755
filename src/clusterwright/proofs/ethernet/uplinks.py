"""Uplinks of a fabric: the cables from a tier to a higher one, and failures on them."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from clusterwright.proofs.ethernet.bandwidth import sides
from clusterwright.proofs.ethernet.network import Integers, RoutedFabric

SEED = 24576
DOUBLES = 500


class Failure(NamedTuple):
    """Switches and cables that fail together, by their indexes in the fabric."""

    switches: tuple[int, ...] = ()
    links: tuple[int, ...] = ()


@dataclass(frozen=True, eq=False, slots=True)
class UnitSizes:
    """The size of each router's unit at one level; a unit is the switches connected by cables up to a tier."""

    racks: Integers
    """Racks with hosts in the router's unit."""
    nodes: Integers
    """Nodes in these racks."""


@dataclass(frozen=True, eq=False, slots=True)
class FabricUplinks:
    """The uplinks of a fabric, by cable."""

    fabric: RoutedFabric
    low: Integers
    """The lower switch of each cable."""
    high: Integers
    """The upper switch of each cable."""
    gbps: NDArray[np.float64]
    """By cable; 0 at a switch without announcements, such as a drained one."""
    down: NDArray[np.float64]
    """Gb/s from below, by switch."""
    leaves: Integers
    """Bottom switches with uplinks."""
    tops: NDArray[np.bool_]
    """By switch, whether it has no uplinks."""
    units: tuple[UnitSizes, ...]
    """Sizes of units by level, from 0."""


def uplinks_of(fabric: RoutedFabric) -> FabricUplinks:
    """The uplinks of a fabric with cables between switches."""
    ends = fabric.ends
    is_low = fabric.rank[ends[:, 0]] < fabric.rank[ends[:, 1]]
    low, high = np.where(is_low, ends[:, 0], ends[:, 1]), np.where(is_low, ends[:, 1], ends[:, 0])
    gbps = np.array([min(link.a_port.speed_gbps, link.b_port.speed_gbps) for link in fabric.links])
    silent = fabric.silent
    gbps[silent[ends].any(axis=1)] = 0
    tops = np.ones(len(fabric.routers), bool)
    tops[low] = False
    leaves = np.flatnonzero((fabric.rank == 0) & ~tops)
    units = _units(fabric, low, high, tops)
    return FabricUplinks(
        fabric=fabric,
        low=low,
        high=high,
        gbps=gbps,
        down=np.maximum(sides(fabric)[0], 1e-9),
        leaves=leaves,
        tops=tops,
        units=units,
    )


def _units(fabric: RoutedFabric, low: Integers, high: Integers, tops: NDArray[np.bool_]) -> tuple[UnitSizes, ...]:
    """The sizes of units by level; at the lowest, each switch is a unit with the nodes cabled to it."""
    size = len(fabric.routers)
    numbers: dict[str, int] = {}
    cabled = [(router, numbers.setdefault(nic.device, len(numbers))) for nic, router in fabric.nics]
    hosts = np.unique(np.array(cabled, np.int64).reshape(-1, 2), axis=0)
    units = [UnitSizes(np.ones(size, np.int64), np.bincount(hosts[:, 0], minlength=size))]
    is_rack = (fabric.rank == 0) & ~tops & (units[0].nodes > 0)
    hosts = hosts[is_rack[hosts[:, 0]]]
    for level in range(1, int(fabric.rank.max()) + 1):
        inside = fabric.rank[high] <= level
        graph = coo_array((np.ones(int(inside.sum())), (low[inside], high[inside])), shape=(size, size))
        count, member = connected_components(graph, directed=False)
        nodes = np.unique(member[hosts[:, 0]].astype(np.int64) * len(numbers) + hosts[:, 1]) // max(len(numbers), 1)
        racks = np.bincount(member[is_rack], minlength=count)
        units.append(UnitSizes(racks[member], np.bincount(nodes, minlength=count)[member]))
    return tuple(units)


def single_cables(uplinks: FabricUplinks) -> list[Failure]:
    """One failure for each pair of cabled switches, as parallel cables are equivalent."""
    pairs = uplinks.low * len(uplinks.fabric.routers) + uplinks.high
    first_links = np.unique(pairs, return_index=True)[1].tolist()
    return [Failure(links=(link,)) for link in first_links]


def single_switches(uplinks: FabricUplinks) -> list[Failure]:
    """One failure for each switch."""
    return [Failure(switches=(switch,)) for switch in range(len(uplinks.fabric.routers))]


def sampled_doubles(uplinks: FabricUplinks) -> list[Failure]:
    """DOUBLES failures of two things: in equal parts two switches, a switch and a cable, and two cables.

    Half of the choices are above the bottom tier, as failures there cost most. The sample is always the same.
    """
    chosen = random.Random(SEED)  # noqa: S311 - a sample of failures that is the same every time, not a secret
    switches, links = len(uplinks.fabric.routers), len(uplinks.fabric.links)
    rank = uplinks.fabric.rank
    upper = np.flatnonzero(rank > 0).tolist()
    upper_links = np.flatnonzero(rank[uplinks.low] > 0).tolist() or list(range(links))

    def switch() -> int:
        if chosen.random() < 1 / 2 and upper:
            return int(chosen.choice(upper))
        return chosen.randrange(switches)

    def cable() -> int:
        if chosen.random() < 1 / 2:
            return int(chosen.choice(upper_links))
        return chosen.randrange(links)

    if switches < 2:
        return []
    doubles = []
    for number in range(DOUBLES):
        drawn = [Failure((switch(), switch())), Failure((switch(),), (cable(),)), Failure((), (cable(), cable()))]
        doubles.append(drawn[number % len(drawn)])
    return doubles


def name_of(fabric: RoutedFabric, failure: Failure) -> str:
    """A failure in words."""
    names = [fabric.routers[switch].device for switch in dict.fromkeys(failure.switches)]
    for index in dict.fromkeys(failure.links):
        link = fabric.links[index]
        ends = f"{fabric.routers[link.a].device} {link.a_port.name} to {fabric.routers[link.b].device}"
        names.append(f"the cable from {ends}")
    return " and ".join(names)
