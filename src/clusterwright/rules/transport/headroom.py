"""CW432: headroom that a chip's memory does not hold, or whose size nobody knows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from clusterwright.finding import Severity
from clusterwright.intent.headroom import divide_pool, headroom_cells, reserved_cells, smallest_share_cells
from clusterwright.intent.traffic_classes import lossless_numbers
from clusterwright.plan.skeleton import FabricSkeleton
from clusterwright.rules.rule import Problem, Subject, rule
from clusterwright.spec.fabric import Fabric
from clusterwright.spec.hardware.systems import system_of


@rule("CW432", Severity.ERROR)
def headroom_fits(subject: Subject) -> Iterator[Problem]:
    """Tiers of a lossless fabric whose busiest switch promises more than its pool holds, or whose pool nobody knows."""
    for skeleton in subject.skeleton.fabrics:
        fabric = skeleton.fabric
        if fabric.technology == "infiniband" or not lossless_numbers(fabric):
            continue
        for depth, tier in enumerate(fabric.tiers):
            system = system_of(tier.model)
            if system is None or not system.sizes_headroom:
                continue
            buffer = tier.model.buffer
            if buffer is None:
                yield Problem(
                    (*tier.path, "model"),
                    f"The catalogue does not say how large the packet buffer of {tier.model.name} is, so nothing can be"
                    f" promised to the lossless class of {fabric.name} on {tier.role}.",
                    "Add `buffer:` with its source to the model.",
                )
                continue
            ports, wanted = promised(fabric, skeleton, depth, subject.longest_cables)
            lossless = len(lossless_numbers(fabric))
            reserved = reserved_cells(lossless, len(fabric.classes) - lossless, ports)
            shared = divide_pool(buffer, wanted).shared_cells - reserved
            if shared < smallest_share_cells(buffer, ports, fabric.mtu):
                ratio = wanted / buffer.pool_cells
                yield Problem(
                    (*tier.path, "model"),
                    f"{tier.role} promises {wanted:,} cells of headroom on {ports} ports, {ratio:.2f} of the"
                    f" {buffer.pool_cells:,} that a pool of {tier.model.name} has: too little is left to share.",
                    "Use fewer or slower ports, shorter cables or fewer lossless classes, or another model.",
                )


def promised(
    fabric: Fabric, skeleton: FabricSkeleton, depth: int, longest: Mapping[tuple[str, int, str], float]
) -> tuple[int, int]:
    """Ports of the tier's busiest switch, and the cells that they are promised: on each side by its neediest cable.

    ``longest`` is that of each fabric, tier and side.
    """
    tier = fabric.tiers[depth]
    links = skeleton.links_down
    down = max((links[at] for at, seat in enumerate(skeleton.seats) if seat.tier == depth), key=len, default=[])
    cells = len(down) * headroom_cells(max(down, default=0), longest.get((fabric.name, depth, "down"), 0), fabric.mtu)
    up = tier.up
    uplinks = 0 if up is None else up.links
    if up is not None:
        cells += up.links * headroom_cells(up.speed_gbps, longest.get((fabric.name, depth, "up"), 0), fabric.mtu)
    return len(down) + uplinks, cells * len(lossless_numbers(fabric))
