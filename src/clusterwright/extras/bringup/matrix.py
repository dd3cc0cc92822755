"""Pairs of NICs to test, in rounds: tests of a round share no NIC and no cable."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, zip_longest

from clusterwright.extras.bringup.steps import Round, tournament
from clusterwright.extras.bringup.unit import BringupUnit
from clusterwright.extras.bringup.ways import CabledPaths, Way
from clusterwright.intent.node_nics import HostNic


@dataclass(frozen=True, slots=True)
class Test:
    """Two NICs of one rail: ``server`` and ``client`` are nodes. ``way`` leads from switch to switch between them."""

    server: str
    near: HostNic
    client: str
    far: HostNic
    way: Way


def together(unit: BringupUnit) -> tuple[Round, ...]:
    """Rounds of nodes that have the same switch on every rail: each with each other one, all rails at once."""
    schedules = [tournament(names) for names in _classes(unit)]
    return tuple(tuple(chain(*rounds)) for rounds in zip_longest(*schedules, fillvalue=()))


def across(unit: BringupUnit, ways: CabledPaths) -> tuple[tuple[Test, ...], ...]:
    """Rounds of tests between nodes with different switches: a node of every rack with one of every other rack.

    The nodes of a rack take turns. Two tests run at once only where no path of one has a cable of a path of the other.
    """
    classes = {names[0]: names for names in _classes(unit)}
    waves: list[tuple[Test, ...]] = []
    for turn, pairs in enumerate(tournament(list(classes))):
        waiting = []
        for one, other in pairs:
            server, client = (classes[name][turn % len(classes[name])] for name in (one, other))
            waiting += list(tests_of(unit, ways, server, client))
        while waiting:
            taken: set[tuple[str, str]] = set()
            now, later = [], []
            for test in waiting:
                if taken & test.way.hops:
                    later.append(test)
                else:
                    taken |= test.way.hops
                    now.append(test)
            waves.append(tuple(now))
            waiting = later
    return tuple(waves)


def tests_of(unit: BringupUnit, ways: CabledPaths, server: str, client: str) -> Iterator[Test]:
    """The tests of two nodes: one for each rail on which both have a NIC in service."""
    far = {nic.interface: nic for nic in unit.nics[client]}
    for nic in unit.nics[server]:
        other = far.get(nic.interface)
        if other is not None:
            yield Test(server=server, near=nic, client=client, far=other, way=ways.way(nic.switch, other.switch))


def _classes(unit: BringupUnit) -> list[list[str]]:
    """Nodes by the switches of their rails."""
    classes: dict[tuple[tuple[str, str], ...], list[str]] = {}
    for node in unit.nodes:
        classes.setdefault(tuple((nic.interface, nic.switch) for nic in unit.nics[node.name]), []).append(node.name)
    return list(classes.values())
