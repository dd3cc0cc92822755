"""What every switch's configuration is written from: its links, its BGP sessions, its own prefixes, its classes.

Shared by all switch operating systems, so that both ends of a session follow from the same derivation.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from clusterwright.plan.model import fabric_of, format_address

if TYPE_CHECKING:
    from collections.abc import Mapping

    from clusterwright.plan.model import Cable, Device, Interface, Plan, Subnet
    from clusterwright.spec.hardware import HardwareModel, PortMode
    from clusterwright.spec.model import Fabric, TrafficClass

# Unpublished for the reference clusters and chosen here: long beside a pause, short beside a job's timeout.
WATCHDOG_DETECTION_MS = 200
WATCHDOG_RECOVERY_MS = 1000

_ROUTER_ID_BASE = 10 << 24
_NUMBERS = re.compile(r"(\d+)")


@dataclass(frozen=True, slots=True)
class Link:
    """A cable seen from one switch: its own ``port``, the ``peer`` port at the far end and the device that has it."""

    port: Interface
    peer: Interface
    peer_device: Device
    cable: Cable

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


@dataclass(frozen=True, slots=True)
class Session:
    """An eBGP session over one link: addresses as text, the neighbour's AS number, and ``side`` up or down."""

    side: str
    local: str
    remote: str
    remote_as: int
    neighbour: str
    description: str


@dataclass(frozen=True, slots=True)
class Prefix:
    """A prefix as text. ``is_connected`` says that one interface carries exactly it; else it needs a discard route."""

    text: str
    is_connected: bool


@dataclass(frozen=True)
class SwitchView:
    """A switch and everything of the plan that concerns it. ``version`` is the IP version of its fabric (4 or 6).

    ``management`` is the out-of-band link, None where the spec has no management network. ``origins`` are the prefixes
    the switch announces itself, ``pools`` the prefixes and lengths that it may learn from neighbours.
    """

    device: Device
    model: HardwareModel
    fabric: Fabric
    version: int
    links: tuple[Link, ...]
    management: Link | None
    sessions: tuple[Session, ...]
    origins: tuple[Prefix, ...]
    pools: tuple[tuple[str, int], ...]
    host_subnet: Subnet | None

    @property
    def loopback(self) -> str | None:
        """The loopback address as text."""
        return None if self.device.loopback is None else format_address(self.device.loopback, self.version)

    @property
    def shares_subnet(self) -> bool:
        """True when the hosts of this switch are in one subnet whose gateway is the switch."""
        return self.host_subnet is not None and self.host_subnet.gateway is not None

    @property
    def bgp_sides(self) -> tuple[str, ...]:
        """``down`` and ``up``, as far as there are BGP speakers, in service or not."""
        if self.device.asn is None or self.device.loopback is None:
            return ()
        return tuple(sorted({link.port.side for link in self.links if link.is_to_switch}))

    @property
    def router_id(self) -> str | None:
        """An IPv4 loopback itself; for IPv6, 10/8 and the last 24 bits of the loopback, which differ per switch."""
        if self.device.loopback is None:
            return None
        if self.version == 4:
            return format_address(self.device.loopback, 4)
        return format_address(_ROUTER_ID_BASE | (self.device.loopback & 0xFFFFFF), 4)

    @property
    def ecmp_width(self) -> int:
        """How many equal-cost paths one prefix can have: all uplinks, or all links from one group below."""
        groups = {link.peer.device: link.peer_device.group for link in self.links}
        below = Counter(groups[session.neighbour] for session in self.sessions if session.side == "down")
        up = sum(1 for session in self.sessions if session.side == "up")
        return max(1, up, *below.values())


def view_switch(plan: Plan, device: Device) -> SwitchView:
    """Gather what concerns one switch of an Ethernet fabric. Raises KeyError for a fabric without addresses."""
    fabric = fabric_of(plan, device.fabric)
    version = plan.address_version(device.fabric)
    links = []
    management = None
    for cable in plan.cables_of[device.name]:
        port, peer = (cable.a, cable.b) if cable.a.device == device.name else (cable.b, cable.a)
        link = Link(port, peer, plan.by_name[peer.device], cable)
        if port.side == "management":
            management = link
        else:
            links.append(link)
    host_subnet = plan.host_subnet_of.get((device.fabric, device.name))
    return SwitchView(
        device=device,
        model=plan.spec.catalogue[device.model],
        fabric=fabric,
        version=version,
        links=tuple(links),
        management=management,
        sessions=tuple(_sessions(device, links, version)),
        origins=_origins(device, host_subnet, version),
        pools=_pools(fabric),
        host_subnet=host_subnet,
    )


@dataclass(frozen=True, slots=True)
class ClassView:
    """A class of service with its traffic class ``number`` and every DSCP that it takes."""

    number: int
    dscp: tuple[int, ...]
    entry: TrafficClass


def traffic_classes(fabric: Fabric) -> tuple[ClassView, ...]:
    """The classes of a fabric, by traffic class number; together they take all 64 DSCPs.

    A switch pauses by traffic class, so a lossless class takes its PFC priority as number; a lossy one takes its queue,
    or the lowest number still free. DSCPs that the spec gives to no class go to the lossy class with the lowest queue:
    left to a switch's default (the upper three bits), some would land in a lossless queue.
    """
    numbers: dict[int, TrafficClass] = {}
    for entry in fabric.classes:
        if entry.priority is not None:
            numbers[entry.priority] = entry
    lossy = [entry for entry in fabric.classes if entry.priority is None]
    for entry in lossy:
        free = (number for number in range(8) if number not in numbers)
        numbers[entry.queue if entry.queue not in numbers else next(free)] = entry
    named = {dscp for entry in fabric.classes for dscp in entry.dscp}
    rest = tuple(dscp for dscp in range(64) if dscp not in named)
    default = min(lossy, key=lambda entry: entry.queue, default=None)
    return tuple(
        ClassView(number, tuple(sorted(entry.dscp + (rest if entry is default else ()))), entry)
        for number, entry in sorted(numbers.items(), key=lambda item: item[0])
    )


def spare_ports(model: HardwareModel, used: Mapping[str, int]) -> tuple[str, ...]:
    """Ports that no cable uses, in the catalogue's order, without those that a neighbouring cage's mode disables.

    ``used`` maps port names to the speed in Gb/s they run at, which tells the mode of their cage; an empty cage is
    shown in its first mode.
    """
    modes: dict[tuple[str, int], PortMode] = {}
    disabled: set[tuple[str, int]] = set()
    for block in model.blocks:
        for index, cage in enumerate(block.cages):
            for mode in block.modes:
                if any(used.get(cage + suffix) == mode.speed_gbps for suffix in mode.subports):
                    modes[block.name, index] = mode
                    if mode.disables is not None:
                        disabled.add((mode.disables, index))
                    break
    return tuple(
        cage + suffix
        for block in model.blocks
        for index, cage in enumerate(block.cages)
        if (block.name, index) not in disabled
        for suffix in modes.get((block.name, index), block.modes[0]).subports
        if cage + suffix not in used
    )


def in_port_order(name: str) -> tuple[tuple[int, str], ...]:
    """A sorting key that puts Ethernet2/1 before Ethernet10/1."""
    return tuple((int(part), "") if part.isdigit() else (0, part) for part in _NUMBERS.split(name))


def _sessions(device: Device, links: list[Link], version: int) -> list[Session]:
    sessions = []
    for link in links:
        remote_as = link.peer_device.asn
        if device.asn is None or remote_as is None or not (link.is_to_switch and link.cable.in_service):
            continue
        if link.port.address is None or link.peer.address is None:
            continue
        sessions.append(
            Session(
                side=link.port.side,
                local=format_address(link.port.address, version),
                remote=format_address(link.peer.address, version),
                remote_as=remote_as,
                neighbour=link.peer.device,
                description=link.far_end,
            )
        )
    return sessions


def _origins(device: Device, host_subnet: Subnet | None, version: int) -> tuple[Prefix, ...]:
    found = []
    if device.loopback is not None:
        found.append(Prefix(f"{format_address(device.loopback, version)}/{32 if version == 4 else 128}", True))
    if host_subnet is not None:
        text = f"{format_address(host_subnet.network, version)}/{host_subnet.prefix_length}"
        found.append(Prefix(text, host_subnet.gateway is not None))
    return tuple(found)


def _pools(fabric: Fabric) -> tuple[tuple[str, int], ...]:
    addressing = fabric.addressing
    if addressing is None:
        return ()
    return (
        (str(addressing.loopbacks), addressing.loopbacks.max_prefixlen),
        (str(addressing.hosts), addressing.hosts_per_switch),
    )
