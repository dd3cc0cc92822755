"""Bandwidth: oversubscription of each tier and each switch within the bounds of the spec.

A tier's figure is a mean over its switches. So that few NICs at one switch do not hide many at another, the load of
each switch (the NICs' Gb/s, with all switches below spreading evenly over their uplinks) is compared with its uplinks.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from clusterwright.facts.router import Router
from clusterwright.proofs.check import Cases, Counterexample, Fact, ProofCheck, Verdict, example
from clusterwright.proofs.declaration import Declaration
from clusterwright.proofs.ethernet.declared import declared, has_uplinks
from clusterwright.proofs.ethernet.network import (
    KINDS,
    NETWORK_INTENT,
    RoutedFabric,
    has_network,
    network_of_tree,
    without_cables,
)
from clusterwright.proofs.tree import RenderedTree

Gbps = NDArray[np.float64]
_ROUNDING = 1e-9


def _run(tree: RenderedTree) -> Verdict:
    fabrics = network_of_tree(tree).fabrics
    facts = list(chain.from_iterable(map(_facts, fabrics)))
    parts: dict[str, list[RoutedFabric]] = {}
    for fabric in fabrics:
        planned = declared(tree, fabric)
        if planned is not None:
            parts.setdefault(planned.name, []).append(fabric)
    counterexamples: list[Counterexample] = []
    tried = 0
    declaration = tree.declaration
    if declaration is not None:
        for name in declaration.switch_ratios:
            fabric_name, _, role = name.partition(".")
            if fabric_name in parts:
                counterexamples += _broken(tree, declaration, parts[fabric_name], fabric_name, role)
                tried += 1
    return Verdict(tuple(facts), tuple(counterexamples), Cases("tiers with a promise", tried))


def _facts(fabric: RoutedFabric) -> Iterator[Fact]:
    down, up = sides(fabric)
    for name, routers in fabric.tiers:
        if not up[routers].any():
            yield Fact(f"{fabric.name}: {name} down, Gb/s in all", float(down[routers].sum()))
            continue
        with_uplinks = routers[up[routers] > 0]
        ratio = down[with_uplinks] / up[with_uplinks]
        low, high = round(float(ratio.min()), 3), round(float(ratio.max()), 3)
        yield Fact(f"{fabric.name}: {name} up, Gb/s in all", float(up[routers].sum()))
        yield Fact(f"{fabric.name}: {name} oversubscription", f"{low}" if low == high else f"{low} to {high}")
        worst = round(float(cumulative(fabric)[routers].max()), 3)
        yield Fact(f"{fabric.name}: {name}, from the NICs to above its narrowest switch", worst)


@lru_cache(maxsize=16)
def sides(fabric: RoutedFabric) -> tuple[Gbps, Gbps]:
    """For each switch, Gb/s of its ports towards hosts and lower tiers, and towards higher ones.

    Cables of a switch without announcements (a drained one) count nothing, nor do those of drained nodes.
    """
    silent, rank = fabric.silent.tolist(), fabric.rank.tolist()
    idle_ports: list[set[str]] = [set() for _ in fabric.routers]
    uplink_ports: list[set[str]] = [set() for _ in fabric.routers]
    for a, a_port, b, b_port in fabric.links:
        if rank[a] < rank[b]:
            uplink_ports[a].add(a_port.name)
        elif rank[b] < rank[a]:
            uplink_ports[b].add(b_port.name)
        if silent[a] or silent[b]:
            idle_ports[a].add(a_port.name)
            idle_ports[b].add(b_port.name)
    down, up = np.zeros(len(fabric.routers)), np.zeros(len(fabric.routers))
    for index, router in enumerate(fabric.routers):
        if silent[index]:
            continue
        for port in router.ports:
            has_drained_peer = port.peer.partition(" ")[0] in fabric.idle
            if not port.peer or has_drained_peer or port.name in idle_ports[index]:
                continue
            side = up if port.name in uplink_ports[index] else down
            side[index] += port.speed_gbps
    has_unknown_speed = np.array(list(map(_has_unknown_speed, fabric.routers)), bool)
    # With an unknown speed, ports are assumed to fill the uplinks.
    down[has_unknown_speed] = np.maximum(down[has_unknown_speed], up[has_unknown_speed])
    return down, up


def _has_unknown_speed(router: Router) -> bool:
    return any(port.peer and not port.speed_gbps for port in router.ports)


def _from_hosts(fabric: RoutedFabric) -> Gbps:
    """For each switch, Gb/s of its ports towards hosts, without those towards lower tiers."""
    gbps = sides(fabric)[0].copy()
    silent, rank = fabric.silent.tolist(), fabric.rank.tolist()
    for a, a_port, b, b_port in fabric.links:
        if not silent[a] and not silent[b]:
            high, port = (a, a_port) if rank[a] > rank[b] else (b, b_port)
            gbps[high] -= port.speed_gbps
    return np.maximum(gbps, 0)


@lru_cache(maxsize=16)
def cumulative(fabric: RoutedFabric) -> Gbps:
    """For each switch, the NICs' Gb/s arriving from below over the Gb/s of its uplinks; infinite without uplinks.

    Every switch below spreads evenly over its uplinks. Switches at the top of the fabric have 0.
    """
    load, up = _from_hosts(fabric).copy(), sides(fabric)[1]
    silent, rank = fabric.silent, fabric.rank
    ends = fabric.ends
    ascending = rank[ends[:, 0]] < rank[ends[:, 1]]
    low, high = np.where(ascending, ends[:, 0], ends[:, 1]), np.where(ascending, ends[:, 1], ends[:, 0])
    gbps = np.array([link.a_port.speed_gbps for link in fabric.links], np.float64)
    carries = (rank[low] != rank[high]) & ~silent[low] & ~silent[high]
    for level in range(int(rank.max(initial=0))):
        here = carries & (rank[low] == level) & (up[low] > 0)
        np.add.at(load, high[here], load[low[here]] * gbps[here] / up[low[here]])
    is_top = rank == rank.max(initial=0)
    ratio = np.divide(load, up, out=np.where(load > 0, np.inf, 0.0), where=up > 0)
    return np.where(is_top & (up == 0), 0.0, ratio)


def _broken(
    tree: RenderedTree, declaration: Declaration, parts: list[RoutedFabric], fabric_name: str, role: str
) -> Iterator[Counterexample]:
    """A tier or a switch with more oversubscription than the spec promises.

    ``parts`` are all of the spec's fabric, such as its planes: a figure of ``expect:`` is one for all of them.
    """
    name = f"{fabric_name}.{role}"
    roles = declaration.tiers.at_or_below[fabric_name, role]
    of_tier = declaration.ratios.get(name)  # None if the spec has only a figure for each switch
    most_at_a_switch = declaration.switch_ratios[name]
    value, tolerance = of_tier or (np.inf, 0.0)
    below = 0.0
    members = list[_Member]()
    for fabric in parts:
        # With a port of unknown speed, ports from below are assumed to fill the uplinks: 1 to 1, no narrowing.
        if any(map(_has_unknown_speed, fabric.routers)):
            value = max(value, 1.0)
        at_or_below = np.array([router.stem in roles for router in fabric.routers], bool)
        below += float(_from_hosts(fabric)[at_or_below].sum())
        up, ratios = sides(fabric)[1].tolist(), cumulative(fabric).tolist()
        for router, uplinks, ratio in zip(fabric.routers, up, ratios, strict=True):
            if router.stem == role:
                members.append(_Member(router, uplinks, ratio))
    if not members:
        return
    wide = sum(member.uplinks_gbps for member in members)
    least = min(members, key=lambda member: (not member.uplinks_gbps, member.uplinks_gbps)).router
    narrowest = max(members, key=lambda member: member.ratio)
    if of_tier is not None and below > wide * (value * (1 + tolerance) + _ROUNDING):
        is_now = f"is oversubscribed {below / wide:.4f} to 1" if wide else "has no uplinks"
        message = f"{role} {is_now}, the spec promises {value:g} to 1; this switch has least"
        yield example(tree, least.device, least.ports_file, (), message)
    elif narrowest.ratio > most_at_a_switch + _ROUNDING:
        router = narrowest.router
        is_now = "has no uplinks"
        if narrowest.uplinks_gbps:
            is_now = f"is oversubscribed {narrowest.ratio:.4f} to 1 from the NICs below it"
        message = f"{is_now}, the spec promises {most_at_a_switch:g} to 1 of each {role}"
        yield example(tree, router.device, router.ports_file, (), message)


@dataclass(frozen=True, slots=True)
class _Member:
    """A switch of a tier, with the Gb/s of its uplinks and its oversubscription ``ratio`` from the NICs."""

    router: Router
    uplinks_gbps: float
    ratio: float


ETHERNET_BISECTION = ProofCheck(
    name="ethernet-bisection",
    claim="No tier is oversubscribed beyond what the spec promises.",
    kinds=KINDS,
    intent=NETWORK_INTENT | {"ratios", "switch_ratios"},
    applies=has_network,
    check=_run,
    spec_only="the permitted oversubscription",
    concerns=has_uplinks,
    uncheckable=without_cables,
)
