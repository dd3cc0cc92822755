"""Bandwidth: each tier is oversubscribed as the spec promises."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from clusterwright.platforms.router import Router
from clusterwright.proofs.check import Cases, Counterexample, Fact, ProofCheck, Verdict, example
from clusterwright.proofs.ethernet.declared import declared
from clusterwright.proofs.ethernet.network import KINDS, RoutedFabric, has_network, network_of_tree
from clusterwright.proofs.tree import RenderedTree
from clusterwright.spec.fabric import Fabric

Gbps = NDArray[np.float64]


def _run(tree: RenderedTree) -> Verdict:
    facts: list[Fact] = []
    fabrics = network_of_tree(tree).fabrics
    for fabric in fabrics:
        down, up = sides(fabric)
        for name, routers in fabric.tiers:
            if not up[routers].any():
                facts.append(Fact(f"{fabric.name}: {name} down, Gb/s in all", float(down[routers].sum())))
                continue
            carrying = routers[up[routers] > 0]
            ratio = down[carrying] / up[carrying]
            low, high = round(float(ratio.min()), 3), round(float(ratio.max()), 3)
            facts.append(Fact(f"{fabric.name}: {name} up, Gb/s in all", float(up[routers].sum())))
            facts.append(
                Fact(f"{fabric.name}: {name} oversubscription", f"{low}" if low == high else f"{low} to {high}")
            )
    parts: dict[str, tuple[Fabric, list[RoutedFabric]]] = {}
    for fabric in fabrics:
        planned = declared(tree, fabric)
        if planned is not None:
            parts.setdefault(planned.name, (planned, []))[1].append(fabric)
    found: list[Counterexample] = []
    tried = 0
    for name, promise in (tree.declaration.ratios if tree.declaration is not None else {}).items():
        fabric_name, _, role = name.partition(".")
        if fabric_name in parts:
            planned, own = parts[fabric_name]
            roles = [tier.role for tier in planned.tiers]
            found += _broken(tree, own, roles[: roles.index(role) + 1], *promise)
            tried += 1
    return Verdict(tuple(facts), tuple(found), Cases("tiers with a promise", tried))


@lru_cache(maxsize=16)
def sides(fabric: RoutedFabric) -> tuple[Gbps, Gbps]:
    """For each switch, Gb/s of its ports towards hosts and lower tiers, and towards higher ones.

    Cables of a switch that announces nothing, as one that is drained, carry nothing.
    """
    silent, rank = fabric.silent.tolist(), fabric.rank.tolist()
    dead: list[set[str]] = [set() for _ in fabric.routers]
    above: list[set[str]] = [set() for _ in fabric.routers]
    for a, a_port, b, b_port in fabric.links:
        if rank[a] < rank[b]:
            above[a].add(a_port.name)
        elif rank[b] < rank[a]:
            above[b].add(b_port.name)
        if silent[a] or silent[b]:
            dead[a].add(a_port.name)
            dead[b].add(b_port.name)
    down, up = np.zeros(len(fabric.routers)), np.zeros(len(fabric.routers))
    for at, router in enumerate(fabric.routers):
        carrying = [port for port in router.ports if port.peer and port.name not in dead[at]] if not silent[at] else ()
        up[at] = sum(port.speed_gbps for port in carrying if port.name in above[at])
        down[at] = sum(port.speed_gbps for port in carrying if port.name not in above[at])
    unknown = np.array([any(p.peer and not p.speed_gbps for p in router.ports) for router in fabric.routers], bool)
    down[unknown] = np.maximum(down[unknown], up[unknown])  # an unsaid speed: the ports are taken to fill the uplinks
    return down, up


def _from_hosts(fabric: RoutedFabric) -> Gbps:
    """For each switch, Gb/s of its ports towards hosts: what comes from below, without what lower tiers send."""
    found = sides(fabric)[0].copy()
    silent, rank = fabric.silent.tolist(), fabric.rank.tolist()
    for a, a_port, b, b_port in fabric.links:
        if not silent[a] and not silent[b]:
            high, port = (a, a_port) if rank[a] > rank[b] else (b, b_port)
            found[high] -= port.speed_gbps
    return np.maximum(found, 0)


def _broken(
    tree: RenderedTree, parts: list[RoutedFabric], roles: list[str], value: float, tolerance: float
) -> Iterator[Counterexample]:
    """A tier whose uplinks carry less of the hosts' bandwidth than the spec promises, at its narrowest switch.

    ``parts`` are all of the spec's fabric, such as its planes: a figure of ``expect:`` is one for all of them.
    ``roles`` are those of its tiers, from the lowest to the one that is asked for.
    """
    role = roles[-1]
    below, members = 0.0, list[tuple[float, Router]]()
    for fabric in parts:
        # Where a port leaves its speed open, ports from below are taken to fill the uplinks: 1 to 1, no narrowing.
        if any(port.peer and not port.speed_gbps for router in fabric.routers for port in router.ports):
            value = max(value, 1.0)
        at_or_below = np.array([router.stem in roles for router in fabric.routers], bool)
        below += float(_from_hosts(fabric)[at_or_below].sum())
        members += [
            (gbps, router)
            for gbps, router in zip(sides(fabric)[1].tolist(), fabric.routers, strict=True)
            if router.stem == role
        ]
    wide = sum(gbps for gbps, _ in members)
    if members and below > wide * (value * (1 + tolerance) + 1e-9):
        router = min(members, key=lambda member: (not member[0], member[0]))[1]
        is_now = f"is oversubscribed {below / wide:.4f} to 1" if wide else "has no uplinks"
        message = f"{role} {is_now}, the spec promises {value:g} to 1; this switch has least"
        yield example(tree, router.device, router.ports_file, (), message)


ETHERNET_BISECTION = ProofCheck(
    "ethernet-bisection",
    "No tier is oversubscribed beyond what the spec promises.",
    KINDS,
    has_network,
    _run,
    spec_only="which oversubscription is promised",
)
