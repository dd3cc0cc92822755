"""Bandwidth of a tier, counted cable by cable: one oversubscription for lint, reports and promises.

Domains: the groups of nodes between which a fabric's bandwidth may change, from the smallest to the cluster.

A rack with a switch of its own is one, a pod with a tier of switches another; a row of racks without a tier is none. On
a rail-optimised fabric the domain is the group of nodes with a common leaf on each rail.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import inf

from clusterwright.plan.model import Cable, Plan
from clusterwright.plan.skeleton import FabricSkeleton, joins
from clusterwright.spec.fabric import Fabric
from clusterwright.spec.model import ClusterSpec

_OVERSUBSCRIPTION = "oversubscription."


@dataclass(frozen=True, slots=True)
class SwitchLoad:
    """A switch with uplinks, and the NICs below it, with all their traffic upwards."""

    switch: str
    nics_gbps: float
    """Of the NICs below, the part that comes here: each switch spreads evenly over its uplinks, as ECMP does."""
    uplinks_gbps: float

    @property
    def ratio(self) -> float:
        """Oversubscription from the NICs to above this switch, that of lower tiers included."""
        return _ratio(self.nics_gbps, self.uplinks_gbps)


@dataclass(frozen=True, slots=True)
class Uplink:
    """A link between switches."""

    lower: str
    upper: str
    gbps: float


def _ratio(nics_gbps: float, uplinks_gbps: float) -> float:
    """Oversubscription; infinite for NICs without any uplink."""
    if uplinks_gbps:
        return nics_gbps / uplinks_gbps
    return inf if nics_gbps else 0.0


def promised_at_each_switch(spec: ClusterSpec) -> Mapping[tuple[str, str], float]:
    """By fabric and role, the largest oversubscription promised for every switch; at least 1.

    `narrowest.FABRIC.ROLE` states it. Without that, the whole tier's promise holds for each of its switches.
    """
    promised: dict[tuple[str, str], float] = {}
    for kind in ("oversubscription", "narrowest"):
        for item in spec.expectations:
            name, *rest = item.figure.split(".")
            if name == kind and len(rest) == 2 and item.highest is not None:
                promised[rest[0], rest[1]] = max(1.0, item.highest)
    return promised


def promised_ratios(spec: ClusterSpec) -> Mapping[str, tuple[float, float]]:
    """The promised oversubscription by ``fabric.tier``, with its tolerance."""
    ratios = {}
    for expectation in spec.expectations:
        if expectation.figure.startswith(_OVERSUBSCRIPTION) and expectation.highest is not None:
            name = expectation.figure.removeprefix(_OVERSUBSCRIPTION)
            is_bound = expectation.value is None or expectation.at_most is not None
            ratio = expectation.highest if is_bound else expectation.value or 0.0
            ratios[name] = (ratio, 0.0 if is_bound else expectation.tolerance)
    return ratios


def narrowest_planned(skeleton: FabricSkeleton) -> Mapping[str, SwitchLoad]:
    """By role with uplinks, the switch with the most NIC bandwidth for its uplinks, as the fabric is planned."""
    seats, tiers = skeleton.seats, skeleton.fabric.tiers
    nics = Counter[str]()
    for (number, gbps), count in skeleton.attached_at.items():
        nics[seats[number].name] += count * gbps
    uplinks: list[Uplink] = []
    for bundle in skeleton.bundles:
        for lower, upper in joins(skeleton, bundle):
            up = tiers[seats[lower].tier].up
            if up is not None:
                uplinks.append(Uplink(seats[lower].name, seats[upper].name, up.speed_gbps))
    loose = {seats[number].name for number in skeleton.loose}
    switches = {seat.name: seat.tier for seat in seats if seat.name not in loose}
    return _narrowest(skeleton.fabric, switches, nics, uplinks)


def narrowest_of_cables(plan: Plan, cables: Iterable[Cable]) -> Mapping[tuple[str, str], SwitchLoad]:
    """By fabric and role, the switch with the most NIC bandwidth for its uplinks, counted over ``cables``."""
    nics: dict[str, Counter[str]] = defaultdict(Counter)
    uplinks: dict[str, list[Uplink]] = defaultdict(list)
    for cable in cables:
        if cable.a.side == "up":
            uplinks[cable.fabric].append(Uplink(cable.a.device, cable.b.device, cable.speed_gbps))
        else:
            nics[cable.fabric][cable.b.device] += cable.speed_gbps
    loads: dict[tuple[str, str], SwitchLoad] = {}
    for fabric in plan.spec.fabrics:
        switches: dict[str, int] = {}
        for device in plan.devices:
            if device.kind == "switch" and device.fabric == fabric.name:
                switches[device.name] = device.tier
        for role, load in _narrowest(fabric, switches, nics[fabric.name], uplinks[fabric.name]).items():
            loads[fabric.name, role] = load
    return loads


def _narrowest(
    fabric: Fabric, switches: Mapping[str, int], nics: Mapping[str, float], uplinks: list[Uplink]
) -> Mapping[str, SwitchLoad]:
    """The narrowest switch by role with uplinks; ``switches`` gives the tier of each one."""
    width: dict[str, float] = defaultdict(float)
    for link in uplinks:
        width[link.lower] += link.gbps
    load = defaultdict(float, nics)
    for link in sorted(uplinks, key=lambda link: switches.get(link.lower, 0)):
        load[link.upper] += load[link.lower] * link.gbps / width[link.lower]
    narrowest: dict[str, SwitchLoad] = {}
    for switch, depth in switches.items():
        tier = fabric.tiers[depth]
        if tier.up is None:
            continue
        switch_load = SwitchLoad(switch, load[switch], width[switch])
        if tier.role not in narrowest or switch_load.ratio > narrowest[tier.role].ratio:
            narrowest[tier.role] = switch_load
    return narrowest


def oversubscription(plan: Plan, cables: Iterable[Cable]) -> Mapping[tuple[str, str], float]:
    """The bandwidth of all NICs at or below a tier over that of the tier's uplinks, by fabric and role.

    Counted over ``cables``: all of the plan's for the design, those in service for the present state. Infinite for NICs
    without any uplink; the uppermost tiers have no entry.
    """
    nics: Counter[tuple[str, int]] = Counter()
    up: Counter[tuple[str, str]] = Counter()
    for cable in cables:
        if cable.a.side == "up":
            up[cable.fabric, plan.by_name[cable.a.device].role] += cable.speed_gbps
        else:
            nics[cable.fabric, cable.tier] += cable.speed_gbps
    ratios: dict[tuple[str, str], float] = {}
    for fabric in plan.spec.fabrics:
        order = plan.tier_orders[fabric.name]
        for depth, tier in enumerate(fabric.tiers):
            below = sum(nics[fabric.name, lower] for lower in order.at_or_below(depth))
            if tier.up is None:
                continue
            gbps = up[fabric.name, tier.role]
            ratios[fabric.name, tier.role] = _ratio(below, gbps)
    return ratios


def data_fabric(plan: Plan, node_group: str) -> Fabric | None:
    """The fabric of jobs on a node group: its NCCL profile's, else its first one with RDMA."""
    attached = [fabric for fabric in plan.spec.fabrics if _is_attached(node_group, fabric)]
    nccl = plan.spec.nccl(node_group)
    for fabric in attached:
        if nccl is not None and fabric.name == nccl.fabric:
            return fabric
    return next((fabric for fabric in attached if fabric.technology != "ethernet"), None)


def _is_attached(node_group: str, fabric: Fabric) -> bool:
    return any(attach.nodes == node_group for attach in fabric.attach)


def domain_levels(plan: Plan, node_group: str) -> tuple[str, ...]:
    """The levels of a node group with a tier of its data fabric, the smallest first; never the cluster."""
    group = plan.spec.node_group(node_group)
    fabric = data_fabric(plan, node_group)
    if group is None or fabric is None:
        return ()
    tiers = {tier.per for tier in fabric.tiers}
    return tuple(level.name for level in group.levels if level.name in tiers)


def placement_levels(plan: Plan, node_group: str) -> tuple[str, ...]:
    """The levels with a change of a job's bandwidth, the smallest first: the fabric's, and NVLink domains."""
    group = plan.spec.node_group(node_group)
    levels = set(domain_levels(plan, node_group))
    if group is None:
        return ()
    if group.nvlink_domain is not None:
        levels.add(group.nvlink_domain)
    return tuple(level.name for level in group.levels if level.name in levels)
