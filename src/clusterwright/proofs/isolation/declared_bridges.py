"""Container bridges as the spec declares them."""

from __future__ import annotations

from dataclasses import dataclass

from clusterwright.packets.ranges import EMPTY, Ranges, ranges
from clusterwright.plan.model import Plan
from clusterwright.spec.image import Bridge


@dataclass(frozen=True, slots=True)
class DeclaredBridge:
    """A container bridge of a node, with the container addresses by IP version."""

    interface: str
    addresses: tuple[tuple[int, Ranges], ...]


def declared_bridges(plan: Plan) -> dict[str, tuple[DeclaredBridge, ...]]:
    """Container bridges by node."""
    bridges: dict[str, tuple[DeclaredBridge, ...]] = {}
    for device in plan.devices:
        image = plan.spec.image(device.image or "")
        if device.kind == "node" and image is not None and image.bridges:
            bridges[device.name] = tuple(_bridge(bridge) for bridge in image.bridges)
    return bridges


def _bridge(bridge: Bridge) -> DeclaredBridge:
    addresses: dict[int, Ranges] = {}
    for prefix in bridge.prefixes:
        of_prefix = ranges([(int(prefix.network_address), int(prefix.broadcast_address))])
        addresses[prefix.version] = addresses.get(prefix.version, EMPTY) | of_prefix
    return DeclaredBridge(bridge.name, tuple(addresses.items()))
