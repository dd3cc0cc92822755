"""Loads of links by flows: hop by hop with the switches' choices, or spread evenly as an ideal."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from clusterwright.extras.simulate.hashing import Chooser, Hashes
from clusterwright.extras.simulate.network import HOST, FabricGraph, Floats, Ints
from clusterwright.extras.simulate.routing import EqualCostGroups
from clusterwright.finding import ClusterwrightError


@dataclass(frozen=True, slots=True)
class Flows:
    """Flows between NICs, and their keys for the switches' choices (``keys[layer, flow]``)."""

    source: Ints
    target: Ints
    keys: Hashes


def flows_on_links(network: FabricGraph, routes: EqualCostGroups, chooser: Chooser, flows: Flows) -> Ints:
    """The number of flows on each link. Raises ClusterwrightError for a flow without a path."""
    links = len(network.head)
    counts = np.zeros(links, np.int64)
    for _, link in _hops(network, routes, chooser, flows):
        counts += np.bincount(link, minlength=links)
    return counts


def slowest_on_path(
    network: FabricGraph, routes: EqualCostGroups, chooser: Chooser, flows: Flows, busy: Floats
) -> Floats:
    """The largest of ``busy`` (a figure for each link) on each flow's path."""
    slowest = np.zeros(len(flows.source))
    for flow, link in _hops(network, routes, chooser, flows):
        slowest[flow] = np.maximum(slowest[flow], busy[link])
    return slowest


def _hops(network: FabricGraph, routes: EqualCostGroups, chooser: Chooser, flows: Flows) -> Iterator[tuple[Ints, Ints]]:
    """Every hop: the flows still in transit, and the link of each."""
    nics = network.nics
    flow = np.arange(len(flows.source))
    yield flow, nics.up[flows.source]
    yield flow, nics.down[flows.target]
    current, goal = nics.switch[flows.source], nics.switch[flows.target]
    while True:
        on_the_way = np.flatnonzero(current != goal)
        if not len(on_the_way):
            return
        current, goal, flow = current[on_the_way], goal[on_the_way], flow[on_the_way]
        group = routes.group[current, routes.column[goal]]
        size = routes.size[group]
        if not size.all():
            raise no_path(network, int(current[np.argmin(size)]), int(goal[np.argmin(size)]))
        link = routes.members[routes.start[group] + chooser.choice(flows.keys, current, flow) % size]
        yield flow, link
        current = network.head[link]


def spread_evenly(network: FabricGraph, routes: EqualCostGroups, source: Ints, target: Ints, amount: float) -> Floats:
    """The load of each link with even spreading by every switch over its groups: the limit of the fabric.

    Raises ClusterwrightError for a flow without a path.
    """
    nics = network.nics
    links = len(network.head)
    ends = np.bincount(nics.up[source], minlength=links) + np.bincount(nics.down[target], minlength=links)
    load: Floats = ends.astype(np.float64)
    current, goal = nics.switch[source], nics.switch[target]
    columns = routes.group.shape[1]
    pairs = np.bincount(current * columns + routes.column[goal], minlength=len(network.switches) * columns)
    demand: Floats = pairs.astype(np.float64).reshape(-1, columns)
    demand[routes.column >= 0, routes.column[routes.column >= 0]] = 0  # has arrived
    by_tier = np.argsort(network.tier, kind="stable")
    for switches, downwards in ((by_tier, False), (by_tier[::-1], True)):
        for switch in switches:
            _pass_on(network, routes, demand, load, int(switch), downwards=downwards)
    load *= amount
    return load


def _pass_on(
    network: FabricGraph, routes: EqualCostGroups, demand: Floats, load: Floats, switch: int, *, downwards: bool
) -> None:
    """Move one switch's demand over its upward or its downward groups; in place."""
    destinations = np.flatnonzero(demand[switch])
    groups = routes.group[switch, destinations]
    for group in np.unique(groups):
        members = routes.members[routes.start[group] : routes.start[group] + routes.size[group]]
        columns = destinations[groups == group]
        if not len(members):
            goal = int(np.flatnonzero(routes.column == columns[0])[0])
            raise no_path(network, switch, goal)
        if bool(members[0] % 2) != downwards:
            continue
        share = demand[switch, columns] / len(members)
        load[members] += share.sum()
        for far in network.head[members]:
            if far != HOST:
                arrived = routes.column[far]
                demand[far, columns] += np.where(columns == arrived, 0.0, share)
        demand[switch, columns] = 0


def no_path(network: FabricGraph, switch: int, goal: int) -> ClusterwrightError:
    """The error for a switch without a path to another one."""
    return ClusterwrightError(
        f"From {network.switches[switch].name} no cable in service leads on to {network.switches[goal].name}, which "
        "the job needs: put a path back in service, or place the job elsewhere."
    )
