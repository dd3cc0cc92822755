"""Remaining bandwidth of racks while some devices are down.

A bottom switch reaches the top with ``min(1, sum of its parents' shares weighted by Gb/s / what it had)`` when every
switch spreads over its remaining uplinks. ECMP does that; a routing engine that knows of the loss does no worse. A rack
keeps the mean of the switches that its devices' NICs are cabled to, weighted by their Gb/s.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from clusterwright.plan.model import Cable, Plan

Integers = NDArray[np.int64]
Reals = NDArray[np.float64]


@dataclass(frozen=True, eq=False, slots=True)
class SharedLinks:
    """Links of some ends below, each with the index of its far end above and its Gb/s.

    ``whole`` is the Gb/s of each end's links together, 0 for ends without any; ``heads`` are the far ends, each once.
    """

    end: Integers
    above: Integers
    gbps: Reals
    whole: Reals
    heads: Integers

    @classmethod
    def of(cls, end: Sequence[int], above: Sequence[int], gbps: Sequence[float], ends: int) -> SharedLinks:
        """The links between pairs of ``end`` (0 to ``ends`` - 1) and ``above``."""
        low, high, weights = np.array(end, int), np.array(above, int), np.array(gbps, float)
        return cls(low, high, weights, np.bincount(low, weights, ends).astype(np.float64), np.unique(high))

    def kept(self, share: Reals, otherwise: Reals) -> Reals:
        """The share that each end keeps when the ends above keep ``share``; ``otherwise`` where it has no links."""
        if (share[self.heads] == 1).all():  # most changes take nothing away above some tier
            return np.where(self.whole > 0, 1.0, otherwise)
        left = np.bincount(self.end, self.gbps * share[self.above], len(self.whole))
        return np.divide(left, self.whole, out=otherwise.copy(), where=self.whole > 0)


@dataclass(frozen=True, eq=False, slots=True)
class FabricWays:
    """The ways of one fabric over its switches by index: ``tiers`` from switch to switch, by the tier of their upper
    end and top first, and ``hosts`` from each rack to the switches that its devices' NICs hang on."""

    name: str
    switches: Mapping[str, int]
    tiers: tuple[SharedLinks, ...]
    hosts: SharedLinks

    def shares(self, down: Collection[str]) -> Reals:
        """The share of its uplinks that each rack keeps, 0 to 1, when ``down`` are; 1 for racks not attached."""
        is_up = np.ones(len(self.switches))
        is_up[[self.switches[name] for name in down if name in self.switches]] = 0
        share = is_up
        for links in self.tiers:
            share = is_up * links.kept(share, share)
        return self.hosts.kept(share, np.ones(len(self.hosts.whole)))


@dataclass(frozen=True, eq=False, slots=True)
class RackWays:
    """All fabrics' ways, over the same racks: their names, each with its index."""

    racks: Mapping[str, int]
    fabrics: tuple[FabricWays, ...]

    def worst(self, down: Collection[str], aside: Collection[str] = ()) -> tuple[float, str, str]:
        """The least share that a rack keeps when ``down`` are, that rack and the fabric; racks ``aside`` don't count.

        (1.0, "", "") when nothing is lost.
        """
        worst = (1.0, "", "")
        skipped = [self.racks[rack] for rack in aside if rack in self.racks]
        for fabric in self.fabrics:
            if fabric.switches.keys().isdisjoint(down):
                continue
            shares = fabric.shares(down)
            shares[skipped] = 1.0
            at = int(shares.argmin()) if len(shares) else -1
            if at >= 0 and shares[at] < worst[0]:
                worst = (float(shares[at]), [*self.racks][at], fabric.name)
        return worst

    def losers(self, down: Collection[str]) -> Mapping[str, float]:
        """The racks that keep less than everything when ``down`` are, with the least share over the fabrics."""
        least = np.ones(len(self.racks))
        for fabric in self.fabrics:
            if not fabric.switches.keys().isdisjoint(down):
                least = np.minimum(least, fabric.shares(down))
        return {rack: share for rack, share in zip(self.racks, least.tolist(), strict=True) if share < 1 - 1e-9}


def ways_of(plan: Plan) -> RackWays:
    """The ways from every rack with nodes to the top of every fabric, over the cables that are in service."""
    names = dict.fromkeys(device.rack for device in plan.devices if device.kind == "node" and device.rack)
    racks = {rack: index for index, rack in enumerate(names)}
    cables: dict[str, list[Cable]] = defaultdict(list)
    for cable in plan.cables:
        if cable.in_service:
            cables[cable.fabric].append(cable)
    return RackWays(
        racks, tuple(_fabric_ways(plan, name, fabric_cables, racks) for name, fabric_cables in cables.items())
    )


def _fabric_ways(plan: Plan, fabric: str, cables: list[Cable], racks: Mapping[str, int]) -> FabricWays:
    between = [cable for cable in cables if plan.by_name[cable.a.device].kind == "switch"]
    nodes = [cable for cable in cables if plan.by_name[cable.a.device].kind == "node"]
    attached = [cable for cable in nodes if plan.by_name[cable.a.device].rack in racks]
    names: dict[str, None] = {}  # in order, each once
    for cable in between:
        names.update(dict.fromkeys((cable.a.device, cable.b.device)))
    names.update(dict.fromkeys(cable.b.device for cable in attached))
    switches = {name: index for index, name in enumerate(names)}
    by_tier: dict[int, list[Cable]] = defaultdict(list)
    for cable in between:
        by_tier[cable.tier].append(cable)

    def links(of: list[Cable], ends: list[int], count: int) -> SharedLinks:
        return SharedLinks.of(
            ends, [switches[cable.b.device] for cable in of], [cable.speed_gbps for cable in of], count
        )

    return FabricWays(
        name=fabric,
        switches=switches,
        tiers=tuple(
            links(of, [switches[cable.a.device] for cable in of], len(switches))
            for _, of in sorted(by_tier.items(), reverse=True)
        ),
        hosts=links(attached, [racks[plan.by_name[cable.a.device].rack] for cable in attached], len(racks)),
    )
