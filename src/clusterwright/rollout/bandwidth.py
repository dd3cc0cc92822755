"""Remaining bandwidth of racks with some devices down.

A bottom switch reaches the top with ``min(1, sum of its parents' shares weighted by Gb/s / its former Gb/s)`` if every
switch spreads over its remaining uplinks. ECMP does that; a routing engine aware of the loss does no worse. A rack
keeps the mean of the switches at its devices' NICs, weighted by their Gb/s.
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
    """Links of lower ends, each with the index of its upper end and its Gb/s.

    ``whole`` is the Gb/s of each end's links together, 0 for ends without any; ``heads`` are the far ends, each once.
    """

    end: Integers
    above: Integers
    gbps: Reals
    whole: Reals
    heads: Integers

    @classmethod
    def of(cls, end: Sequence[int], above: Sequence[int], gbps: Sequence[float], ends: int) -> SharedLinks:
        """Links between pairs of ``end`` (0 to ``ends`` - 1) and ``above``."""
        low, high, weights = np.array(end, int), np.array(above, int), np.array(gbps, float)
        return cls(low, high, weights, np.bincount(low, weights, ends).astype(np.float64), np.unique(high))

    def kept(self, share: Reals, otherwise: Reals) -> Reals:
        """Remaining share of each lower end by the ``share`` of upper ends; ``otherwise`` for ends without links."""
        if (share[self.heads] == 1).all():  # most changes take nothing away above some tier
            return np.where(self.whole > 0, 1.0, otherwise)
        remaining_gbps = np.bincount(self.end, self.gbps * share[self.above], len(self.whole))
        return np.divide(remaining_gbps, self.whole, out=otherwise.copy(), where=self.whole > 0)


@dataclass(frozen=True, eq=False, slots=True)
class FabricWays:
    """Paths of one fabric over its switches by index: ``tiers`` from switch to switch, by the tier of their upper
    end and top first, and ``hosts`` from each rack to the switches at its devices' NICs."""

    name: str
    switches: Mapping[str, int]
    tiers: tuple[SharedLinks, ...]
    hosts: SharedLinks

    def shares(self, down: Collection[str]) -> Reals:
        """Remaining share of each rack's uplinks, 0 to 1, with ``down`` devices; 1 for racks not attached."""
        is_up = np.ones(len(self.switches))
        is_up[[self.switches[name] for name in down if name in self.switches]] = 0
        share = is_up
        for links in self.tiers:
            share = is_up * links.kept(share, share)
        return self.hosts.kept(share, np.ones(len(self.hosts.whole)))


@dataclass(frozen=True, eq=False, slots=True)
class RackWays:
    """Paths of all fabrics over the same ``racks``, each with its index."""

    racks: Mapping[str, int]
    fabrics: tuple[FabricWays, ...]

    def worst(self, down: Collection[str], aside: Collection[str] = ()) -> tuple[float, str, str]:
        """Least remaining share of a rack with ``down`` devices, the rack and the fabric, except of racks ``aside``.

        (1.0, "", "") if nothing is lost.
        """
        worst = (1.0, "", "")
        skipped = [self.racks[rack] for rack in aside if rack in self.racks]
        for fabric in self.fabrics:
            if fabric.switches.keys().isdisjoint(down):
                continue
            shares = fabric.shares(down)
            shares[skipped] = 1.0
            if not len(shares):
                continue
            index = int(shares.argmin())
            if shares[index] < worst[0]:
                worst = (float(shares[index]), [*self.racks][index], fabric.name)
        return worst

    def losers(self, down: Collection[str]) -> Mapping[str, float]:
        """Racks with less than full bandwidth with ``down`` devices, each with its least share over the fabrics."""
        least = np.ones(len(self.racks))
        for fabric in self.fabrics:
            if not fabric.switches.keys().isdisjoint(down):
                least = np.minimum(least, fabric.shares(down))
        return {rack: share for rack, share in zip(self.racks, least.tolist(), strict=True) if share < 1 - 1e-9}


def ways_of(plan: Plan) -> RackWays:
    """Paths from every rack with nodes to the top of every fabric, over the cables in service."""
    names = dict.fromkeys(device.rack for device in plan.devices if device.kind == "node" and device.rack)
    racks = {rack: index for index, rack in enumerate(names)}
    cables: dict[str, list[Cable]] = defaultdict(list)
    for cable in plan.cables:
        if cable.in_service:
            cables[cable.fabric].append(cable)
    fabrics = [_fabric_ways(plan, name, fabric_cables, racks) for name, fabric_cables in cables.items()]
    return RackWays(racks, tuple(fabrics))


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

    def links(linked_cables: list[Cable], lower_ends: list[int], count: int) -> SharedLinks:
        upper_ends = [switches[cable.b.device] for cable in linked_cables]
        gbps = [cable.speed_gbps for cable in linked_cables]
        return SharedLinks.of(lower_ends, upper_ends, gbps, count)

    tiers = []
    for _, tier_cables in sorted(by_tier.items(), reverse=True):
        lower_switches = [switches[cable.a.device] for cable in tier_cables]
        tiers.append(links(tier_cables, lower_switches, len(switches)))
    attached_racks = [racks[plan.by_name[cable.a.device].rack] for cable in attached]
    return FabricWays(
        name=fabric,
        switches=switches,
        tiers=tuple(tiers),
        hosts=links(attached, attached_racks, len(racks)),
    )
