"""Adaptive routing: each packet takes the least loaded of the equal-cost links at each switch.

A switch knows its own queues only. In the limit of many packets it fills the links of a group to equal load over speed;
groups of a switch with common links are filled until no other division improves one. Hashes, queue pairs and random
numbers have no effect.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clusterwright.extras.simulate.loads import no_path
from clusterwright.extras.simulate.network import HOST, FabricGraph, Floats, Ints
from clusterwright.extras.simulate.routing import EqualCostGroups

ASSUMPTIONS = (
    "each switch sends each packet over the least loaded of its equal-cost links",
    "a switch knows its own queues alone, and keeps their loads over their speeds equal",
    "packets are small beside messages, and adapters take them in any order at no cost",
)
_ROUNDS = 200
_CLOSE = 1e-9  # of the load of a switch


@dataclass(frozen=True, slots=True)
class Spreading:
    """The division of packets over the links of each group, for one phase of a collective.

    ``shares`` stand beside ``routes.members``; the links of a group have 1 together.
    """

    network: FabricGraph
    routes: EqualCostGroups
    shares: Floats

    def loads(self, source: Ints, target: Ints) -> Floats:
        """The messages on each link, between these adapters."""
        return _carry(self.network, self.routes, source, target, self.shares, is_choosing=False)

    def slowest_on_paths(self, source: Ints, target: Ints, busy: Floats) -> Floats:
        """The largest of ``busy`` (a figure for each link) on any path of each connection's packets."""
        nics = self.network.nics
        slowest = np.maximum(busy[nics.up[source]], busy[nics.down[target]])
        between: dict[tuple[int, int], float] = {}
        for index, (switch, goal) in enumerate(zip(nics.switch[source], nics.switch[target], strict=True)):
            worst = self._slowest_between(int(switch), int(goal), busy, between)
            slowest[index] = max(slowest[index], worst)
        return slowest

    def _slowest_between(self, switch: int, goal: int, busy: Floats, cache: dict[tuple[int, int], float]) -> float:
        if switch == goal:
            return 0.0
        if (switch, goal) in cache:
            return cache[switch, goal]
        group = self.routes.group[switch, self.routes.column[goal]]
        start, size = int(self.routes.start[group]), int(self.routes.size[group])
        worst = 0.0
        for member in range(start, start + size):
            if self.shares[member] <= 0:
                continue
            link = int(self.routes.members[member])
            beyond = self._slowest_between(int(self.network.head[link]), goal, busy, cache)
            worst = max(worst, float(busy[link]), beyond)
        cache[switch, goal] = worst
        return worst


def least_loaded(network: FabricGraph, routes: EqualCostGroups, source: Ints, target: Ints) -> Spreading:
    """The division by all switches of equal messages between these adapters.

    Raises ClusterwrightError for a message without a path.
    """
    shares = np.zeros(len(routes.members))
    _carry(network, routes, source, target, shares, is_choosing=True)
    return Spreading(network=network, routes=routes, shares=shares)


def _carry(
    network: FabricGraph, routes: EqualCostGroups, source: Ints, target: Ints, shares: Floats, *, is_choosing: bool
) -> Floats:
    """Messages on each link; ``is_choosing`` computes ``shares``, otherwise they are applied."""
    nics = network.nics
    links = len(network.head)
    ends = np.bincount(nics.up[source], minlength=links) + np.bincount(nics.down[target], minlength=links)
    columns = routes.group.shape[1]
    current, goal = nics.switch[source], nics.switch[target]
    pairs = np.bincount(current * columns + routes.column[goal], minlength=len(network.switches) * columns)
    demand: Floats = pairs.astype(np.float64).reshape(-1, columns)
    destinations = np.flatnonzero(routes.column >= 0)
    demand[destinations, routes.column[destinations]] = 0  # has arrived
    carriage = _Carriage(network=network, routes=routes, shares=shares, demand=demand, load=ends.astype(np.float64))
    by_tier = np.argsort(network.tier, kind="stable")
    for switches, downwards in ((by_tier, False), (by_tier[::-1], True)):
        for switch in switches:
            groups = carriage.groups_of(int(switch), downwards=downwards)
            if is_choosing:
                carriage.divide(int(switch), groups)
            for group, columns_of_group in groups.items():
                carriage.send(int(switch), group, columns_of_group)
    return carriage.load


@dataclass(frozen=True, slots=True)
class _Carriage:
    """Messages in transit: ``demand[switch, column]`` waits at a switch, ``load`` has crossed each link."""

    network: FabricGraph
    routes: EqualCostGroups
    shares: Floats
    demand: Floats
    load: Floats

    def groups_of(self, switch: int, *, downwards: bool) -> dict[int, Ints]:
        """The groups of a switch in one direction, each with the destinations in demand."""
        destinations = np.flatnonzero(self.demand[switch])
        numbers = self.routes.group[switch, destinations]
        groups: dict[int, Ints] = {}
        for group in np.unique(numbers):
            columns = destinations[numbers == group]
            if not self.routes.size[group]:
                goal = int(np.flatnonzero(self.routes.column == columns[0])[0])
                raise no_path(self.network, switch, goal)
            if bool(self.routes.members[self.routes.start[group]] % 2) == downwards:
                groups[int(group)] = columns
        return groups

    def divide(self, switch: int, groups: dict[int, Ints]) -> None:
        """Divide the demand of a switch over the links of its groups, into ``shares``."""
        amounts = {group: float(self.demand[switch, columns].sum()) for group, columns in groups.items()}
        parts = {group: np.zeros(int(self.routes.size[group])) for group in groups}
        queues = np.zeros(len(self.network.head))
        close = _CLOSE * sum(amounts.values())
        for _ in range(_ROUNDS):
            change = 0.0
            for group, amount in amounts.items():
                links = self.members(group)
                others = queues[links] - parts[group]
                part = fill_to_a_level(others, self.network.gbps[links], amount)
                change = max(change, float(np.abs(part - parts[group]).max()))
                parts[group] = part
                queues[links] = others + part
            if change <= close:
                break
        for group, amount in amounts.items():
            start = int(self.routes.start[group])
            self.shares[start : start + len(parts[group])] = parts[group] / amount

    def send(self, switch: int, group: int, columns: Ints) -> None:
        """Move the demand of a switch for some destinations over a group."""
        sent = self.demand[switch, columns].copy()
        start = int(self.routes.start[group])
        for offset, link in enumerate(self.members(group)):
            part = sent * self.shares[start + offset]
            self.load[link] += part.sum()
            far = self.network.head[link]
            if far != HOST:
                self.demand[far, columns] += np.where(columns == self.routes.column[far], 0.0, part)
        self.demand[switch, columns] = 0

    def members(self, group: int) -> Ints:
        """The links of a group."""
        start = self.routes.start[group]
        return self.routes.members[start : start + self.routes.size[group]]


def fill_to_a_level(queues: Floats, speeds: Floats, amount: float) -> Floats:
    """Shares of ``amount`` added to the queues of links: used links end at one load over speed, the lowest possible."""
    levels = queues / speeds
    order = np.argsort(levels, kind="stable")
    level = 0.0
    for count in range(1, len(order) + 1):
        filled = order[:count]
        level = float((queues[filled].sum() + amount) / speeds[filled].sum())
        if count == len(order) or level <= levels[order[count]]:
            break
    return np.maximum(level * speeds - queues, 0.0)
