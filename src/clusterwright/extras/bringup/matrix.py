"""Pairs of NICs to test, in rounds: tests of a round share no NIC and no cable."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, zip_longest

from clusterwright.extras.bringup.paths import CabledPaths, SwitchPath
from clusterwright.extras.bringup.steps import Round, tournament
from clusterwright.extras.bringup.unit import BringupUnit
from clusterwright.intent.node_nics import HostNic


@dataclass(frozen=True, slots=True)
class Test:
    """Two NICs of one rail: ``server`` and ``client`` are nodes. ``path`` leads from switch to switch between them."""

    server: str
    near: HostNic
    client: str
    far: HostNic
    path: SwitchPath


def together(unit: BringupUnit) -> tuple[Round, ...]:
    """Rounds of pairs of nodes with the same switch on every rail: every pair once, all rails at once."""
    schedules = [tournament(names) for names in _classes(unit)]
    return tuple(tuple(chain(*rounds)) for rounds in zip_longest(*schedules, fillvalue=()))


def across(unit: BringupUnit, paths: CabledPaths) -> tuple[tuple[Test, ...], ...]:
    """Rounds of tests between nodes with different switches: a node of every rack with one of every other rack.

    The nodes of a rack take turns. Two tests of a round have no possible cable in common.
    """
    classes = {names[0]: names for names in _classes(unit)}
    waves: list[tuple[Test, ...]] = []
    for turn, pairs in enumerate(tournament(list(classes))):
        waiting = []
        for first, second in pairs:
            server, client = (classes[name][turn % len(classes[name])] for name in (first, second))
            waiting += list(tests_of(unit, paths, server, client))
        while waiting:
            used_hops: set[tuple[str, str]] = set()
            wave: list[Test] = []
            colliding: list[Test] = []
            for test in waiting:
                if used_hops & test.path.hops:
                    colliding.append(test)
                else:
                    used_hops |= test.path.hops
                    wave.append(test)
            waves.append(tuple(wave))
            waiting = colliding
    return tuple(waves)


def tests_of(unit: BringupUnit, paths: CabledPaths, server: str, client: str) -> Iterator[Test]:
    """The tests of two nodes: one for each rail with NICs in service on both."""
    client_nics = {nic.interface: nic for nic in unit.nics[client]}
    for nic in unit.nics[server]:
        client_nic = client_nics.get(nic.interface)
        if client_nic is not None:
            path = paths.path(nic.switch, client_nic.switch)
            yield Test(server=server, near=nic, client=client, far=client_nic, path=path)


def _classes(unit: BringupUnit) -> list[list[str]]:
    """Nodes by the switches of their rails."""
    classes: dict[tuple[tuple[str, str], ...], list[str]] = {}
    for node in unit.nodes:
        classes.setdefault(tuple((nic.interface, nic.switch) for nic in unit.nics[node.name]), []).append(node.name)
    return list(classes.values())
