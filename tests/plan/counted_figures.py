"""The figures of a plan, counted in what it holds rather than computed from its spec."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cache

from clusterwright.plan.model import Cable, Plan


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
    result = {**dict.fromkeys(_tier_figures(plan), 0.0), **found, **_link_figures(plan)}
    if petabytes:
        result["storage_pb"] = petabytes
    return result | _power(plan) | _peaks(plan)


def _power(plan: Plan) -> dict[str, float]:
    """Kilowatts of all devices, and of the rack that draws most; only where each has a figure, and stands in a rack."""
    watts: Counter[str] = Counter()
    for device in plan.devices:
        model = plan.spec.catalogue[device.model]
        if not model.power_w and device.kind != "device":
            return {}
        watts[device.rack] += model.power_w
    kilowatts = {"power_kw": watts.total() / 1000}
    if watts.keys() <= {group.name for group in plan.groups if group.level == "rack"}:
        kilowatts["rack_power_kw"] = max(watts.values()) / 1000
    return kilowatts


def _link_figures(plan: Plan) -> dict[str, float]:
    """Links and ports in use by role, and the oversubscription of each tier."""
    found: Counter[str] = Counter()
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
    result: dict[str, float] = dict(found)
    for fabric in plan.spec.fabrics:
        nics_gbps = 0
        for depth, tier in enumerate(fabric.tiers):
            nics_gbps += below[fabric.name, depth]
            if above[fabric.name, depth]:
                result[f"oversubscription.{fabric.name}.{tier.role}"] = nics_gbps / above[fabric.name, depth]
    for name, ratio in _narrowest(plan):
        if name.replace("narrowest", "oversubscription") in result:
            result[name] = max(ratio, result.get(name, 0.0))
    return result


def _narrowest(plan: Plan) -> Iterator[tuple[str, float]]:
    """What comes to each Ethernet switch from NICs, asked from above, over its uplinks."""
    uplinks: dict[str, list[Cable]] = {}
    for cable in plan.cables:
        if cable.a.side == "up":
            uplinks.setdefault(cable.a.device, []).append(cable)

    @cache
    def load(switch: str) -> float:
        gbps = 0.0
        for cable in plan.cables_of.get(switch, ()):
            if cable.b.device != switch:
                continue
            if cable.a.side == "up":
                width = sum(uplink.speed_gbps for uplink in uplinks[cable.a.device])
                gbps += load(cable.a.device) * cable.speed_gbps / width
            else:
                gbps += cable.speed_gbps
        return gbps

    technologies = {fabric.name: fabric.technology for fabric in plan.spec.fabrics}
    for switch, cables in uplinks.items():
        device = plan.by_name[switch]
        if technologies[device.fabric] != "infiniband":
            ratio = load(switch) / sum(cable.speed_gbps for cable in cables)
            yield f"narrowest.{device.fabric}.{device.role}", ratio


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
