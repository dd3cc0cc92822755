"""A switch's out-of-band port: its address and the gateway behind it, whatever operating system it runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from clusterwright.plan.model import format_address

if TYPE_CHECKING:
    from clusterwright.intent.switch_links import Link
    from clusterwright.plan.model import Plan


@dataclass(frozen=True, slots=True)
class ManagementPort:
    """The port's name, where its cable goes, its IP version, its address with length, and its gateway, all as text."""

    port: str
    description: str
    version: int
    address: str | None
    gateway: str | None


def management_port(plan: Plan, link: Link) -> ManagementPort:
    """The out-of-band port at this end of ``link``; the gateway is the management switch's address on it."""
    version = plan.address_version(link.port.fabric)
    subnet = plan.host_subnet_of.get((link.port.fabric, link.peer.device))
    gateway = subnet.gateway if subnet is not None and subnet.gateway is not None else link.peer.address
    address = link.port.address
    return ManagementPort(
        port=link.port.port,
        description=f"to {link.far_end}",
        version=version,
        address=None if address is None else f"{format_address(address, version)}/{link.port.prefix_length}",
        gateway=None if gateway is None else format_address(gateway, version),
    )
