"""Remaining bandwidth of racks once a change is in force: cables and switches that carry less than before.

The same law as ``bandwidth``, with each pair of switches weighted by the Gb/s that it had. The share of a pair is its
remaining Gb/s over its former Gb/s, times the share of its upper switch.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from clusterwright.plan.allocation.standing import Standing
from clusterwright.plan.model import Plan

Pair = tuple[str, str]  # lower and upper device


def kept_after(before: Plan, after: Plan) -> Mapping[str, float]:
    """The racks with nodes that keep less than they had, with the least share over the fabrics, 0 to 1."""
    was, now = _capacity(before), _under_former_names(after, _capacity(after))
    if all(_keeps_all(pairs, now.get(fabric, {})) for fabric, pairs in was.items()):
        return {}
    least: dict[str, float] = {}
    for fabric, pairs in was.items():
        share = _shares(before, pairs, now.get(fabric, {}))
        whole: dict[str, float] = defaultdict(float)
        left: dict[str, float] = defaultdict(float)
        for cable in before.cables:
            low = before.by_name[cable.a.device]
            if cable.fabric == fabric and cable.in_service and low.kind == "node" and low.rack:
                whole[low.rack] += cable.speed_gbps
                left[low.rack] += cable.speed_gbps * share.get(cable.b.device, 1.0)
        for rack, gbps in whole.items():
            if left[rack] < gbps * (1 - 1e-9):
                least[rack] = min(least.get(rack, 1.0), left[rack] / gbps)
    return least


def _keeps_all(was: Mapping[Pair, int], now: Mapping[Pair, int]) -> bool:
    return all(now.get(pair, 0) >= gbps for pair, gbps in was.items())


def _under_former_names(plan: Plan, capacity: Mapping[str, Mapping[Pair, int]]) -> Mapping[str, Mapping[Pair, int]]:
    """The same as it was called before anything was renamed: a new name takes nothing away."""
    if not plan.spec.renamed:
        return capacity
    standing = Standing(plan.spec, plan.spec.allocated)
    former = standing.former
    fabrics = {standing.fabric(item.was): item.was for item in plan.spec.renamed if item.fabric and not item.tier}
    return {
        fabrics.get(fabric, fabric): {
            (former.get(low, low), former.get(high, high)): gbps for (low, high), gbps in pairs.items()
        }
        for fabric, pairs in capacity.items()
    }


def _capacity(plan: Plan) -> Mapping[str, Mapping[Pair, int]]:
    """Gb/s in service between each pair of switches, by fabric."""
    capacity_by_fabric: dict[str, dict[Pair, int]] = defaultdict(lambda: defaultdict(int))
    for cable in plan.cables:
        if cable.in_service and plan.by_name[cable.a.device].kind == "switch":
            capacity_by_fabric[cable.fabric][cable.a.device, cable.b.device] += cable.speed_gbps
    return capacity_by_fabric


def _shares(plan: Plan, was: Mapping[Pair, int], now: Mapping[Pair, int]) -> Mapping[str, float]:
    """The share that each switch with uplinks keeps of them; those at the top keep all."""
    above: dict[str, list[tuple[str, int, int]]] = defaultdict(list)
    for (low, high), gbps in was.items():
        above[low].append((high, gbps, min(gbps, now.get((low, high), 0))))
    share: dict[str, float] = {}
    for low in sorted(above, key=lambda name: -plan.by_name[name].tier):
        whole = sum(gbps for _, gbps, _ in above[low])
        share[low] = sum(left * share.get(high, 1.0) for high, _, left in above[low]) / whole
    return share
