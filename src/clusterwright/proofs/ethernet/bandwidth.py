"""Bandwidth: each tier is oversubscribed as the spec promises."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from clusterwright.proofs.check import Cases, Counterexample, Fact, ProofCheck, Verdict, example
from clusterwright.proofs.ethernet.network import KINDS, RoutedFabric, has_network, network_of_tree
from clusterwright.proofs.tree import RenderedTree

Gbps = NDArray[np.float64]


def _run(tree: RenderedTree) -> Verdict:
    facts: list[Fact] = []
    found: list[Counterexample] = []
    tried = 0
    for fabric in network_of_tree(tree).fabrics:
        down, up = sides(fabric)
        for name, routers in fabric.tiers:
            if not up[routers].any():
                facts.append(Fact(f"{fabric.name}: {name} down, Gb/s in all", float(down[routers].sum())))
                continue
            ratio = down[routers] / np.maximum(up[routers], 1e-9)
            low, high = round(float(ratio.min()), 3), round(float(ratio.max()), 3)
            facts.append(Fact(f"{fabric.name}: {name} up, Gb/s in all", float(up[routers].sum())))
            facts.append(
                Fact(f"{fabric.name}: {name} oversubscription", f"{low}" if low == high else f"{low} to {high}")
            )
            tried += _promise(tree, name) is not None
            found += _above_promise(tree, fabric, name, routers)
    return Verdict(tuple(facts), tuple(found), Cases("tiers with a promise", tried))


@lru_cache(maxsize=16)
def sides(fabric: RoutedFabric) -> tuple[Gbps, Gbps]:
    """For each switch, Gb/s of its ports towards hosts and lower tiers, and towards higher ones."""
    down, up = np.zeros(len(fabric.routers)), np.zeros(len(fabric.routers))
    above: set[tuple[int, str]] = set()
    for link in fabric.links:
        for at, port, other in ((link.a, link.a_port, link.b), (link.b, link.b_port, link.a)):
            if fabric.rank[other] > fabric.rank[at]:
                above.add((at, port.name))
    for at, router in enumerate(fabric.routers):
        for port in router.ports:
            side = up if (at, port.name) in above else down
            if port.peer:
                side[at] += port.speed_gbps
    unknown = np.array([any(p.peer and not p.speed_gbps for p in router.ports) for router in fabric.routers], bool)
    down[unknown] = np.maximum(down[unknown], up[unknown])  # an unsaid speed: the ports are taken to fill the uplinks
    return down, up


def _promise(tree: RenderedTree, tier: str) -> tuple[float, float] | None:
    """The oversubscription that the spec promises of a tier, with its tolerance."""
    promises = tree.declaration.ratios if tree.declaration is not None else {}
    return next((value for name, value in promises.items() if name.rpartition(".")[2] == tier), None)


def _from_hosts(fabric: RoutedFabric) -> Gbps:
    """For each switch, Gb/s of its ports towards hosts: what comes from below, without what lower tiers send."""
    found = sides(fabric)[0].copy()
    for link in fabric.links:
        high, port = (link.a, link.a_port) if fabric.rank[link.a] > fabric.rank[link.b] else (link.b, link.b_port)
        found[high] -= port.speed_gbps
    return np.maximum(found, 0)


def _above_promise(
    tree: RenderedTree, fabric: RoutedFabric, tier: str, routers: NDArray[np.int64]
) -> Iterator[Counterexample]:
    """A tier whose uplinks carry less of the hosts' bandwidth than the spec promises, at its narrowest switch."""
    promised = _promise(tree, tier)
    if promised is None:
        return
    value, tolerance = promised
    # Where a port leaves its speed open, ports from below are taken to fill the uplinks: 1 to 1, which is no narrowing.
    if any(port.peer and not port.speed_gbps for at in range(len(fabric.routers)) for port in fabric.routers[at].ports):
        value = max(value, 1.0)
    _, up = sides(fabric)
    at_or_below = fabric.rank <= fabric.rank[routers[0]]
    ratio = float(_from_hosts(fabric)[at_or_below].sum()) / float(up[routers].sum())
    if ratio > value * (1 + tolerance) + 1e-9:
        router = fabric.routers[int(routers[int(up[routers].argmin())])]
        message = f"{tier} is oversubscribed {ratio:.4f} to 1, the spec promises {value:g} to 1; this switch has least"
        yield example(tree, router.device, router.ports_file, (), message)


ETHERNET_BISECTION = ProofCheck(
    "ethernet-bisection",
    "No tier is oversubscribed beyond what the spec promises.",
    KINDS,
    has_network,
    _run,
)
