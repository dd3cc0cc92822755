"""The figures of a plan, counted in what it holds rather than computed from its spec."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from clusterwright.plan.model import Plan


def counted(plan: Plan) -> dict[str, float]:
    """The figures of a plan, counted device by device and cable by cable."""
    catalogue = plan.spec.catalogue
    found: Counter[str] = Counter()
    found["nodes"] = found["gpus"] = 0
    petabytes = 0.0
    for device in plan.devices:
        model = catalogue[device.model]
        if model.gpus:
            found["nodes"] += 1
            found["gpus"] += model.gpus.count
        if device.kind == "switch":
            found[f"switches.{device.role}"] += 1
        petabytes += model.capacity_tb / 1000
    found["racks"] = 0
    for group in plan.groups:
        if group.node_group:
            found[f"groups.{group.level}.{group.node_group}"] += 1
            found["racks"] += group.level == "rack"
    below: Counter[tuple[str, int]] = Counter()
    above: Counter[tuple[str, int]] = Counter()
    for cable in plan.cables:
        upper = plan.by_name[cable.b.device]
        found[f"links.{cable.fabric}.{upper.role}"] += 1
        found[f"ports_used.{upper.role}"] += 1
        if cable.a.side == "up":
            lower = plan.by_name[cable.a.device]
            found[f"ports_used.{lower.role}"] += 1
            above[cable.fabric, lower.tier] += cable.speed_gbps
        else:
            below[cable.fabric, cable.tier] += cable.speed_gbps
    result = {**dict.fromkeys(_tier_figures(plan), 0.0), **found}
    for fabric in plan.spec.fabrics:
        nics_gbps = 0
        for depth, tier in enumerate(fabric.tiers):
            nics_gbps += below[fabric.name, depth]
            if above[fabric.name, depth]:
                result[f"oversubscription.{fabric.name}.{tier.role}"] = nics_gbps / above[fabric.name, depth]
    if petabytes:
        result["storage_pb"] = petabytes
    return result | _peaks(plan)


def _peaks(plan: Plan) -> dict[str, float]:
    """What all GPUs compute at most, in formats that each of them has."""
    gpus = [model.gpus for device in plan.devices if (model := plan.spec.catalogue[device.model]).gpus is not None]
    peaks = [
        {f"peak_petaflops.{name}": tflops * each.count / 1000 for name, tflops in each.peak_tflops} for each in gpus
    ]
    return (
        {name: sum(peak[name] for peak in peaks) for name in peaks[0] if all(name in peak for peak in peaks)}
        if peaks
        else {}
    )


def _tier_figures(plan: Plan) -> Iterator[str]:
    """Figures that every tier has, were they 0."""
    for fabric in plan.spec.fabrics:
        for tier in fabric.tiers:
            yield from (f"switches.{tier.role}", f"links.{fabric.name}.{tier.role}", f"ports_used.{tier.role}")
