"""Who enforces the matrix of each zone: hosts that run an image, by a filter of their own, and all hosts' edges."""

from __future__ import annotations

from dataclasses import dataclass

from clusterwright.plan.model import Plan


@dataclass(frozen=True, slots=True)
class ZoneEnforcement:
    """The hosts of a zone by name: those that filter besides the ports they hang on, and those that do not."""

    zone: str
    filtering: tuple[str, ...]
    trusting: tuple[str, ...]


def zone_enforcement(plan: Plan) -> tuple[ZoneEnforcement, ...]:
    """Every zone in the spec's order, hosts sorted; a zone outside of the cluster has none.

    A node is in the zones of its group. Only an image carries a packet filter.
    """
    found: dict[tuple[str, bool], list[str]] = {}
    for device in sorted((each for each in plan.devices if each.kind == "node"), key=lambda each: each.name):
        for zone in device.zones:
            found.setdefault((zone, device.image is not None), []).append(device.name)
    return tuple(
        ZoneEnforcement(zone.name, tuple(found.get((zone.name, True), ())), tuple(found.get((zone.name, False), ())))
        for zone in plan.spec.zones
    )
