"""CW223: both ends of a cable must spread its bandwidth over as many lanes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from clusterwright.finding import Severity
from clusterwright.plan.ports import modes_at
from clusterwright.plan.skeleton import FabricSkeleton, joins
from clusterwright.rules.rule import Problem, Subject, rule
from clusterwright.spec.fabric import Side, Tier
from clusterwright.spec.hardware.cages import PortBlock, PortMode


@dataclass(frozen=True, slots=True)
class _Lanes:
    """The modes of a fabric's ports, by tier, side and speed, as far as they were asked for."""

    known: dict[tuple[str, str, int], Mapping[str, tuple[PortBlock, PortMode]]]

    def at(self, tier: Tier, side: Side, direction: str, port: str, speed_gbps: int) -> tuple[int, str]:
        """How many lanes a port of ``tier`` has, and the name of its mode."""
        key = (tier.role, direction, speed_gbps)
        if key not in self.known:
            self.known[key] = modes_at(tier.model, side, speed_gbps)
        block, mode = self.known[key][port]
        return block.lanes(mode), mode.name


@rule("CW223", Severity.ERROR)
def unequal_lanes(subject: Subject) -> Iterator[Problem]:
    """Uplinks whose port has another number of lanes than the one above it, once for each tier."""
    for fabric, ports in subject.allocations:
        if fabric.fabric.technology == "infiniband" or not fabric.bundles or not _may_differ(fabric):
            continue
        down, up = [iter(each.down) for each in ports], [iter(each.up) for each in ports]
        for item in fabric.attachments:
            next(down[item.seat])
        told: set[int] = set()
        lanes = _Lanes({})
        for bundle in fabric.bundles:
            for lower, upper in joins(fabric, bundle):
                below, above = (fabric.fabric.tiers[fabric.seats[at].tier] for at in (lower, upper))
                low_port, high_port = next(up[lower]), next(down[upper])
                if below.up is None or fabric.seats[lower].tier in told:
                    continue
                speed = below.up.speed_gbps
                low = lanes.at(below, below.up.side, "up", low_port, speed)
                high = lanes.at(above, above.down, "down", high_port, speed)
                if low[0] != high[0]:
                    told.add(fabric.seats[lower].tier)
                    yield Problem(
                        (*below.up.path, "speed_gbps"),
                        f"At {speed}G {fabric.seats[lower].name} {low_port} has {low[0]} lanes (mode {low[1]} of"
                        f" {below.model.name}), {fabric.seats[upper].name} {high_port} {high[0]} (mode {high[1]} of"
                        f" {above.model.name}).",
                        _hint(below, above, speed),
                    )


def _choices(tier: Tier, side: Side, speed_gbps: int) -> Mapping[int, str]:
    """A mode by each number of lanes that the side's blocks offer at a speed."""
    found: dict[int, str] = {}
    for block in tier.model.blocks:
        if side.blocks and block.name not in side.blocks:
            continue
        for mode in block.modes:
            if mode.speed_gbps == speed_gbps:
                found.setdefault(block.lanes(mode), mode.name)
    return found


def _may_differ(fabric: FabricSkeleton) -> bool:
    """Whether any two tiers that meet offer several numbers of lanes at the speed of their links."""
    for depth, tier in enumerate(fabric.fabric.tiers):
        if tier.up is None:
            continue
        lanes = {*_choices(tier, tier.up.side, tier.up.speed_gbps)}
        for above in fabric.fabric.tiers[depth + 1 :]:
            lanes |= {*_choices(above, above.down, tier.up.speed_gbps)}
        if len(lanes) > 1:
            return True
    return False


def _hint(below: Tier, above: Tier, speed_gbps: int) -> str:
    if below.up is None:
        return "Choose another speed."
    low, high = _choices(below, below.up.side, speed_gbps), _choices(above, above.down, speed_gbps)
    shared = sorted(low.keys() & high.keys(), reverse=True)
    if not shared:
        return f"No mode of both has as many lanes at {speed_gbps}G: choose another speed or model."
    up, down = low[shared[0]], high[shared[0]]
    return f"Write `up: {{mode: {up}}}` for {below.role} and `down: {{mode: {down}}}` for {above.role}."
