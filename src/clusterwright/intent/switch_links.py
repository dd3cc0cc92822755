"""A switch's cables from its own end: states, bonds, management port, error correction.

A drained switch carries nothing and stays ready: its links to other switches and their BGP sessions stay up, and its
policies withdraw every route (RFC 8326 has the same aim by another attribute), so that no packet is lost on the way out
or back. Ports are shut only where a port or a device is out of service, or a node is drained.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import TYPE_CHECKING, NamedTuple

from clusterwright.intent.per_plan import per_plan
from clusterwright.plan.model import format_address
from clusterwright.plan.service import service_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from clusterwright.plan.model import Cable, Device, Interface, Plan
    from clusterwright.plan.service import Service
    from clusterwright.spec.fabric import Bond, Tier
    from clusterwright.spec.hardware.models import HardwareModel

_OF_FABRIC = frozenset({"down", "up"})


class Link(NamedTuple):
    """A cable from one switch's end: its own ``port``, the far ``peer`` port and the device there.

    ``is_up``: the switch keeps its port up; ``lower_tier`` is the tier with the cable among its uplinks. It is a link
    ``is_to_switch`` if the far end is a switch of the same fabric, and neither end a NIC or a management port.
    ``address`` is the port's own as text, None for a port in a shared host subnet.
    """

    port: Interface
    peer: Interface
    peer_device: Device
    cable: Cable
    is_up: bool
    lower_tier: Tier | None
    is_to_switch: bool
    address: str | None

    @property
    def description(self) -> str:
        """Far end of the cable, in words for the port."""
        if self.is_up:
            return f"to {self.far_end}"
        return f"to {self.far_end} (out of service)"

    @property
    def far_end(self) -> str:
        """The far end as people read it: device and port."""
        return f"{self.peer.device} {self.peer.port}"

    @property
    def is_routed(self) -> bool:
        """True when the link has addresses of its own; False for a port in a shared host subnet."""
        return self.port.address is not None


def links_of(plan: Plan, device: Device) -> tuple[Link, ...]:
    """Every cable at ``device``, in the plan's order."""
    links = []
    for cable in plan.cables_of[device.name]:
        if cable.a.device == device.name:
            links.append(link_over(plan, cable, port=cable.a, peer=cable.b))
        else:
            links.append(link_over(plan, cable, port=cable.b, peer=cable.a))
    return tuple(links)


def link_over(plan: Plan, cable: Cable, port: Interface, peer: Interface) -> Link:
    """A cable from the end with this ``port``."""
    is_up = cable.in_service or _is_up(plan, cable)
    peer_device = plan.by_name[peer.device]
    is_to_switch = port.side in _OF_FABRIC and peer.side in _OF_FABRIC and peer_device.asn is not None
    address = None if port.address is None else format_address(port.address, plan.address_version(cable.fabric))
    return Link(
        port=port,
        peer=peer,
        peer_device=peer_device,
        cable=cable,
        is_up=is_up,
        lower_tier=plan.lower_tier(cable),
        is_to_switch=is_to_switch,
        address=address,
    )


@per_plan
def _service(plan: Plan) -> Service:
    return service_of(plan.spec, plan.devices)


def _is_up(plan: Plan, cable: Cable) -> bool:
    """Whether the ports of a cable out of service stay up, because a drained end is still reached.

    Jobs of a drained node end over these ports; the scheduler starts no others there.
    """
    service = _service(plan)
    for end in (cable.a, cable.b):
        if end.device in service.gone or (end.device, end.port) in service.ports:
            return False
    return True


@dataclass(frozen=True, slots=True)
class SwitchBond:
    """A switch's ``links`` to one host's ``bond``, numbered by the first link's port.

    The ``number`` stays the same when bonds beside it come and go.
    """

    number: int
    bond: Bond
    links: tuple[Link, ...]

    @property
    def description(self) -> str:
        """Far end of the bond, in words for the switch."""
        return f"to {self.links[0].peer.device} {self.bond.interface}"

    @property
    def ports(self) -> tuple[str, ...]:
        """The names of its ports."""
        return tuple(link.port.port for link in self.links)


def bonds_of(model: HardwareModel, links: Iterable[Link]) -> tuple[SwitchBond, ...]:
    """The bonds of a switch's ``links``, in the order of their first ones."""
    members: dict[tuple[str, str], tuple[Bond, list[Link]]] = {}
    for link in links:
        bond = link.cable.bond
        if bond is not None:
            _, bond_links = members.setdefault((link.peer.device, bond.interface), (bond, []))
            bond_links.append(link)
    numbers = port_numbers(model) if members else {}
    bonds = []
    for bond, bond_links in members.values():
        number = numbers[bond_links[0].port.port]
        bonds.append(SwitchBond(number=number, bond=bond, links=tuple(bond_links)))
    return tuple(bonds)


@lru_cache(maxsize=64)
def port_numbers(model: HardwareModel) -> dict[str, int]:
    """Every port of a model in any mode, counted from 1: a bond has the number of its first port."""
    names: dict[str, None] = {}
    for block in model.blocks:
        for cage, mode in product(block.cages, block.modes):
            names |= dict.fromkeys(mode.ports(cage))
    return {port: number for number, port in enumerate(names, 1)}


# The longest 25G copper cable that runs with the short-latency code (25GBASE-CR-S).
FIRE_CODE_M = 3.0


def error_correction(speed_gbps: int, medium: str, length_m: float) -> str | None:
    """Forward error correction of a link, the same at both ends; None if the standard has none.

    IEEE 802.3: every lane of 50 Gb/s or more needs Reed-Solomon, 100G over four lanes as well (but for 100GBASE-LR4,
    which reaches further than any cable here); 25G over short copper takes the fire code, which is faster.
    """
    if speed_gbps >= 50:
        return "reed-solomon"
    if speed_gbps == 25:
        return "fire-code" if medium == "dac" and length_m <= FIRE_CODE_M else "reed-solomon"
    return None


@dataclass(frozen=True, slots=True)
class ManagementPort:
    """A management port's name, far end, IP version, address with length, and gateway."""

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
