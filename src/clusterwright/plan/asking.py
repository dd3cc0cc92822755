"""Source address of requests by switches without a management port: they cross the switch's own fabric."""

from __future__ import annotations

from collections.abc import Mapping

from clusterwright.plan.boot import relay_sources
from clusterwright.plan.model import Device, Plan
from clusterwright.spec.hardware.systems import system_of


def fabric_sources(plan: Plan) -> Mapping[str, int]:
    """Source address by switch without a management port: its hosts' gateway, else its loopback.

    A system with routed sources for relayed requests asks servers from that address too.
    """
    relayed = relay_sources(plan)
    sources: dict[str, int] = {}
    for device in plan.devices:
        if device.kind == "switch":
            source = _source(plan, device, relayed.get(device.name))
            if source is not None:
                sources[device.name] = source
    return sources


def inband_sources(plan: Plan) -> Mapping[str, int]:
    """The same for switches without a management port alone."""
    apart = {cable.a.device for cable in plan.cables if cable.a.side == "management"}
    return {switch: source for switch, source in fabric_sources(plan).items() if switch not in apart}


def loopback_sources(plan: Plan, fabric: str) -> tuple[int, ...]:
    """The loopbacks of a fabric's switches without a management port, used as source addresses."""
    loopbacks: list[int] = []
    for switch, source in inband_sources(plan).items():
        device = plan.by_name[switch]
        if device.fabric == fabric and device.loopback == source:
            loopbacks.append(source)
    return tuple(loopbacks)


def _source(plan: Plan, device: Device, relayed: int | None) -> int | None:
    subnet = plan.host_subnet_of.get((device.fabric, device.name))
    if subnet is None or subnet.gateway is None:
        return device.loopback
    system = system_of(plan.spec.catalogue[device.model])
    by_route = system is not None and system.relays_from_loopback(subnet.version)
    return device.loopback if by_route and relayed == device.loopback else subnet.gateway
