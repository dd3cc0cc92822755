"""The cables of a switch as the switch sees them, and which of them it keeps up.

A drained switch carries nothing and stays ready: its links to other switches and their BGP sessions stay up, and its
policies withdraw every route (RFC 8326 has the same aim by another attribute), so that no packet is lost on the way out
or back. Ports are shut only where a port or a device is out of service, or a node is drained.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from clusterwright.intent.per_plan import per_plan
from clusterwright.plan.service import service_of

if TYPE_CHECKING:
    from clusterwright.plan.model import Cable, Device, Interface, Plan
    from clusterwright.plan.service import Service
    from clusterwright.spec.fabric import Tier


@dataclass(frozen=True, slots=True)
class Link:
    """A cable seen from one switch: its own ``port``, the ``peer`` port at the far end and the device that has it.

    ``is_up`` says whether the switch keeps its port up, ``lower_tier`` whose uplinks the cable belongs to.
    """

    port: Interface
    peer: Interface
    peer_device: Device
    cable: Cable
    is_up: bool
    lower_tier: Tier | None

    @property
    def description(self) -> str:
        """Where the cable goes, as people read it on the port."""
        return f"to {self.far_end}" + ("" if self.is_up else " (out of service)")

    @property
    def far_end(self) -> str:
        """The far end as people read it: device and port."""
        return f"{self.peer.device} {self.peer.port}"

    @property
    def is_to_switch(self) -> bool:
        """True for a link to a switch of the same fabric; False for a host's NIC or a management port."""
        return self.peer.side in {"down", "up"} and self.peer_device.asn is not None

    @property
    def is_routed(self) -> bool:
        """True when the link has addresses of its own; False for a port in a shared host subnet."""
        return self.port.address is not None


def links_of(plan: Plan, device: Device) -> tuple[Link, ...]:
    """Every cable at ``device``, in the plan's order."""
    links = []
    for cable in plan.cables_of[device.name]:
        port, peer = (cable.a, cable.b) if cable.a.device == device.name else (cable.b, cable.a)
        links.append(Link(port, peer, plan.by_name[peer.device], cable, _is_up(plan, cable), plan.lower_tier(cable)))
    return tuple(links)


@per_plan
def _service(plan: Plan) -> Service:
    return service_of(plan.spec, plan.devices)


def _is_up(plan: Plan, cable: Cable) -> bool:
    if cable.in_service:
        return True
    service = _service(plan)
    return all(
        (end.device, end.port) not in service.ports
        and end.device not in service.gone
        and (end.device not in service.idle or plan.by_name[end.device].kind == "switch")
        for end in (cable.a, cable.b)
    )
