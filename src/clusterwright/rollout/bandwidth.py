"""What racks keep of their bandwidth while some devices are down.

A bottom switch reaches the top with ``min(1, sum of its parents' shares weighted by Gb/s / what it had)`` when every
switch spreads over the uplinks it has left: what ECMP gives, and a lower bound of what a routing engine that knows of
the loss would. A rack keeps the mean of the switches that its devices' NICs hang on, weighted by their Gb/s.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from clusterwright.plan.model import Cable, Plan

Integers = NDArray[np.int64]
Reals = NDArray[np.float64]


@dataclass(frozen=True, eq=False, slots=True)
class FabricWays:
    """The ways of one fabric. ``low``, ``high`` and ``gbps`` are its cables between switches by the switches' index.

    ``tiers`` are those cables' indexes by the tier of their upper end, top first. ``rack``, ``switch`` and ``weight``
    say what Gb/s of NICs of which rack hang on which switch.
    """

    name: str
    switches: Mapping[str, int]
    low: Integers
    high: Integers
    gbps: Reals
    tiers: tuple[Integers, ...]
    rack: Integers
    switch: Integers
    weight: Reals

    def shares(self, down: Collection[str], racks: int) -> Reals:
        """What each of ``racks`` racks keeps of its way up, 0 to 1, when ``down`` are; 1 for racks not attached."""
        is_up = np.ones(len(self.switches))
        is_up[[self.switches[name] for name in down if name in self.switches]] = 0
        share = is_up.copy()
        for cables in self.tiers:
            low, weight = self.low[cables], self.gbps[cables]
            whole = np.bincount(low, weight, len(share))
            left = np.bincount(low, weight * share[self.high[cables]], len(share))
            has = whole > 0
            share[has] = is_up[has] * left[has] / whole[has]
        whole = np.bincount(self.rack, self.weight, racks)
        left = np.bincount(self.rack, self.weight * share[self.switch], racks)
        return np.where(whole > 0, left / np.maximum(whole, 1e-9), 1.0)


@dataclass(frozen=True, eq=False, slots=True)
class RackWays:
    """All fabrics' ways, over the same racks."""

    racks: tuple[str, ...]
    fabrics: tuple[FabricWays, ...]

    def worst(self, down: Collection[str], aside: Collection[str] = ()) -> tuple[float, str, str]:
        """The least share that a rack keeps when ``down`` are, that rack and the fabric; racks ``aside`` don't count.

        (1.0, "", "") when nothing is lost.
        """
        worst = (1.0, "", "")
        skipped = [at for at, rack in enumerate(self.racks) if rack in aside]
        for fabric in self.fabrics:
            if fabric.switches.keys().isdisjoint(down):
                continue
            shares = fabric.shares(down, len(self.racks))
            shares[skipped] = 1.0
            at = int(shares.argmin()) if len(shares) else -1
            if at >= 0 and shares[at] < worst[0]:
                worst = (float(shares[at]), self.racks[at], fabric.name)
        return worst

    def losers(self, down: Collection[str]) -> Mapping[str, float]:
        """The racks that keep less than everything when ``down`` are, with the least share over the fabrics."""
        least = np.ones(len(self.racks))
        for fabric in self.fabrics:
            if not fabric.switches.keys().isdisjoint(down):
                least = np.minimum(least, fabric.shares(down, len(self.racks)))
        return {self.racks[at]: float(least[at]) for at in np.flatnonzero(least < 1 - 1e-9)}


def ways_of(plan: Plan) -> RackWays:
    """The ways from every rack with nodes to the top of every fabric, over the cables that are in service."""
    racks = tuple(dict.fromkeys(device.rack for device in plan.devices if device.kind == "node" and device.rack))
    cables: dict[str, list[Cable]] = defaultdict(list)
    for cable in plan.cables:
        if cable.in_service:
            cables[cable.fabric].append(cable)
    return RackWays(racks, tuple(_fabric_ways(plan, name, found, racks) for name, found in cables.items()))


def _fabric_ways(plan: Plan, fabric: str, cables: list[Cable], racks: tuple[str, ...]) -> FabricWays:
    place = {rack: at for at, rack in enumerate(racks)}
    between = [cable for cable in cables if plan.by_name[cable.a.device].kind == "switch"]
    nodes = [cable for cable in cables if plan.by_name[cable.a.device].kind == "node"]
    attached = [cable for cable in nodes if plan.by_name[cable.a.device].rack in place]
    names = dict.fromkeys(name for cable in between for name in (cable.a.device, cable.b.device))
    names |= dict.fromkeys(cable.b.device for cable in attached)
    switches = {name: at for at, name in enumerate(names)}
    tier = np.array([cable.tier for cable in between], int)
    return FabricWays(
        fabric,
        switches,
        np.array([switches[cable.a.device] for cable in between], int),
        np.array([switches[cable.b.device] for cable in between], int),
        np.array([cable.speed_gbps for cable in between], float),
        tuple(np.flatnonzero(tier == level) for level in sorted(set(tier.tolist()), reverse=True)),
        np.array([place[plan.by_name[cable.a.device].rack] for cable in attached], int),
        np.array([switches[cable.b.device] for cable in attached], int),
        np.array([cable.speed_gbps for cable in attached], float),
    )
