"""Remaining bandwidth of racks once a change is in force.

The same law as ``bandwidth``, with each pair of switches weighted by its former Gb/s. The share of a pair is its
remaining Gb/s over its former Gb/s, times the share of its upper switch.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from clusterwright.plan.allocation.standing import Standing
from clusterwright.plan.model import Plan

Pair = tuple[str, str]  # lower and upper device


def kept_after(before: Plan, after: Plan) -> Mapping[str, float]:
    """Racks of nodes with less bandwidth than before, with their least share over the fabrics, 0 to 1."""
    former_capacity, new_capacity = _capacity(before), _under_former_names(after, _capacity(after))
    if all(_keeps_all(pairs, new_capacity.get(fabric, {})) for fabric, pairs in former_capacity.items()):
        return {}
    least: dict[str, float] = {}
    for fabric, pairs in former_capacity.items():
        share = _shares(before, pairs, new_capacity.get(fabric, {}))
        former_gbps: dict[str, float] = defaultdict(float)
        remaining_gbps: dict[str, float] = defaultdict(float)
        for cable in before.cables:
            low = before.by_name[cable.a.device]
            if cable.fabric == fabric and cable.in_service and low.kind == "node" and low.rack:
                former_gbps[low.rack] += cable.speed_gbps
                remaining_gbps[low.rack] += cable.speed_gbps * share.get(cable.b.device, 1.0)
        for rack, gbps in former_gbps.items():
            if remaining_gbps[rack] < gbps * (1 - 1e-9):
                least[rack] = min(least.get(rack, 1.0), remaining_gbps[rack] / gbps)
    return least


def _keeps_all(former: Mapping[Pair, int], new: Mapping[Pair, int]) -> bool:
    return all(new.get(pair, 0) >= gbps for pair, gbps in former.items())


def _under_former_names(plan: Plan, capacity: Mapping[str, Mapping[Pair, int]]) -> Mapping[str, Mapping[Pair, int]]:
    """The capacity by the names before renaming: a new name takes nothing away."""
    if not plan.spec.renamed:
        return capacity
    standing = Standing(plan.spec, plan.spec.allocated)
    former_name = standing.former
    former_fabrics: dict[str, str] = {}
    for item in plan.spec.renamed:
        if item.fabric and not item.tier:
            former_fabrics[standing.fabric(item.was)] = item.was
    renamed: dict[str, dict[Pair, int]] = {}
    for fabric, pairs in capacity.items():
        gbps_by_pair = renamed[former_fabrics.get(fabric, fabric)] = {}
        for (low, high), gbps in pairs.items():
            gbps_by_pair[former_name.get(low, low), former_name.get(high, high)] = gbps
    return renamed


def _capacity(plan: Plan) -> Mapping[str, Mapping[Pair, int]]:
    """Gb/s in service between each pair of switches, by fabric."""
    capacity_by_fabric: dict[str, dict[Pair, int]] = defaultdict(lambda: defaultdict(int))
    for cable in plan.cables:
        if cable.in_service and plan.by_name[cable.a.device].kind == "switch":
            capacity_by_fabric[cable.fabric][cable.a.device, cable.b.device] += cable.speed_gbps
    return capacity_by_fabric


def _shares(plan: Plan, former: Mapping[Pair, int], new: Mapping[Pair, int]) -> Mapping[str, float]:
    """Remaining share of the uplinks of each switch; switches without uplinks keep all."""
    pairs_by_lower: dict[str, list[Pair]] = defaultdict(list)
    for pair in former:
        pairs_by_lower[pair[0]].append(pair)
    share: dict[str, float] = {}
    for low in sorted(pairs_by_lower, key=lambda name: -plan.by_name[name].tier):
        former_gbps = 0
        remaining_gbps = 0.0
        for pair in pairs_by_lower[low]:
            former_gbps += former[pair]
            remaining_gbps += min(former[pair], new.get(pair, 0)) * share.get(pair[1], 1.0)
        share[low] = remaining_gbps / former_gbps
    return share
