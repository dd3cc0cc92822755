"""What the EOS template shows: every value as text, every decision taken."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from clusterwright.plan.model import format_address
from clusterwright.render.management_port import management_port
from clusterwright.render.switch_view import (
    WATCHDOG_DETECTION_MS,
    WATCHDOG_RECOVERY_MS,
    Link,
    SwitchView,
    in_port_order,
    spare_ports,
    traffic_classes,
    view_switch,
)

if TYPE_CHECKING:
    from clusterwright.plan.model import Device, Plan
    from clusterwright.spec.model import Site

# The oldest release that knows every line written here (hashing on UDP payload bytes came with it).
EOS_VERSION = "EOS-4.33.1F"
MANAGEMENT_VRF = "MGMT"
HOST_VLAN = 100
# Marks a route that came from below, so that it may go further up; never sent to a neighbour.
FROM_BELOW = "64512:1"
ROCE_PORT = 4791
# The destination queue pair lies 5 bytes into the base transport header, which is where UDP's payload starts.
ROCE_QUEUE_PAIR_BYTES = "5-7"

_SPEEDS = {800: "800g-8", 400: "400g-8", 200: "200g-4", 100: "100g-4", 50: "50g-1", 40: "40g", 25: "25g", 10: "10g"}
_BREAKOUT_SPEEDS = {400: "400g-4", 200: "200g-4", 100: "100g-2", 50: "50g-1", 25: "25g", 10: "10g"}


@dataclass(frozen=True, slots=True)
class EosPort:
    """An Ethernet interface. ``address`` with its length; ``vlan`` for a port of the shared host subnet."""

    name: str
    description: str
    shutdown: bool
    speed: str | None = None
    mtu: int | None = None
    address: str | None = None
    vlan: int | None = None
    profile: str | None = None


@dataclass(frozen=True, slots=True)
class EosManagement:
    """The out-of-band interface; ``ip`` is the command word ip or ipv6, ``anywhere`` the default route's prefix."""

    port: str
    description: str
    ip: str
    address: str | None
    gateway: str | None
    anywhere: str


@dataclass(frozen=True, slots=True)
class EosGateway:
    """The routed interface of the shared host subnet."""

    vlan: int
    address: str
    mtu: int


@dataclass(frozen=True, slots=True)
class EosQueue:
    """A traffic class: its DSCPs, transmit queue and share of the bandwidth in percent."""

    traffic_class: int
    dscp: str
    queue: int
    percent: int


@dataclass(frozen=True, slots=True)
class EosQos:
    """The QoS profile of the fabric's ports; ``lossless`` are PFC priorities, times are in seconds."""

    profile: str
    queues: tuple[EosQueue, ...]
    lossless: tuple[int, ...]
    watchdog_timeout: str
    watchdog_recovery: str
    watchdog_polling: str


@dataclass(frozen=True, slots=True)
class EosNeighbour:
    """A BGP neighbour."""

    address: str
    group: str
    remote_as: int
    description: str


@dataclass(frozen=True, slots=True)
class EosPeerGroup:
    """The neighbours of one tier; ``side`` is UP or DOWN and names the route maps."""

    name: str
    side: str


@dataclass(frozen=True, slots=True)
class EosBgp:
    """The BGP process; ``sides`` are the directions with neighbours, ``networks`` the switch's own prefixes."""

    asn: int
    router_id: str
    paths: int
    sides: tuple[str, ...]
    groups: tuple[EosPeerGroup, ...]
    neighbours: tuple[EosNeighbour, ...]
    networks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class EosSwitch:
    """A whole switch. ``ip`` is the command word of the fabric's IP version, ``vrf`` the words before a server."""

    name: str
    title: str
    site: Site
    ip: str
    family: str
    vrf: str
    management: EosManagement | None
    gateway: EosGateway | None
    loopback: str | None
    ports: tuple[EosPort, ...]
    discards: tuple[str, ...]
    pools: tuple[str, ...]
    qos: EosQos | None
    hash_queue_pairs: bool
    bgp: EosBgp | None
    mark: str = FROM_BELOW
    hash_port: int = ROCE_PORT
    hash_bytes: str = ROCE_QUEUE_PAIR_BYTES


def eos_switch(plan: Plan, device: Device) -> EosSwitch:
    """Everything that one switch's startup configuration says."""
    view = view_switch(plan, device)
    qos = _qos(view)
    return EosSwitch(
        name=device.name,
        title=f"{device.name} ({view.model.part}, {EOS_VERSION})",
        site=plan.spec.site,
        ip="ip" if view.version == 4 else "ipv6",
        family=f"ipv{view.version}",
        vrf="" if view.management is None else f"vrf {MANAGEMENT_VRF} ",
        management=_management(plan, view.management),
        gateway=_gateway(view),
        loopback=view.origins[0].text if view.loopback is not None else None,
        ports=_ports(view, qos.profile if qos is not None else None),
        discards=tuple(origin.text for origin in view.origins if not origin.is_connected),
        pools=tuple(f"{network} eq {length}" for network, length in view.pools),
        qos=qos,
        hash_queue_pairs=view.fabric.technology == "roce" and (view.model.asic or "").startswith("jericho"),
        bgp=_bgp(view),
    )


def _management(plan: Plan, link: Link | None) -> EosManagement | None:
    if link is None:
        return None
    port = management_port(plan, link)
    ip, anywhere = ("ip", "0.0.0.0/0") if port.version == 4 else ("ipv6", "::/0")
    return EosManagement(port.port, port.description, ip, port.address, port.gateway, anywhere)


def _gateway(view: SwitchView) -> EosGateway | None:
    subnet = view.host_subnet
    if subnet is None or subnet.gateway is None:
        return None
    address = f"{format_address(subnet.gateway, view.version)}/{subnet.prefix_length}"
    return EosGateway(HOST_VLAN, address, view.fabric.mtu)


def _ports(view: SwitchView, profile: str | None) -> tuple[EosPort, ...]:
    used = {link.port.port: link.port.speed_gbps for link in view.links}
    broken_out = _breakout_ports(view, used)
    ports = [_port(view, link, profile, link.port.port in broken_out) for link in view.links]
    ports += [EosPort(name, "unused", shutdown=True) for name in spare_ports(view.model, used)]
    return tuple(sorted(ports, key=lambda port: in_port_order(port.name)))


def _port(view: SwitchView, link: Link, profile: str | None, is_breakout: bool) -> EosPort:
    address = link.port.address
    speed = (_BREAKOUT_SPEEDS if is_breakout else _SPEEDS).get(link.port.speed_gbps)
    return EosPort(
        name=link.port.port,
        description=f"to {link.far_end}" + ("" if link.cable.in_service else " (out of service)"),
        shutdown=not link.cable.in_service,
        speed=speed,
        mtu=view.fabric.mtu if link.is_routed else None,
        address=None if address is None else f"{format_address(address, view.version)}/{link.port.prefix_length}",
        vlan=None if link.is_routed else HOST_VLAN,
        profile=profile,
    )


def _breakout_ports(view: SwitchView, used: dict[str, int]) -> set[str]:
    """Ports that share their cage with others, which decides how many lanes they have."""
    return {
        cage + suffix
        for block in view.model.blocks
        for mode in block.modes
        if len(mode.subports) > 1
        for cage in block.cages
        for suffix in mode.subports
        if used.get(cage + suffix) == mode.speed_gbps
    }


def _qos(view: SwitchView) -> EosQos | None:
    classes = traffic_classes(view.fabric)
    if not classes:
        return None
    total = sum(item.entry.weight for item in classes)
    return EosQos(
        profile=view.fabric.name.upper(),
        queues=tuple(
            EosQueue(
                item.number,
                " ".join(map(str, item.dscp)),
                item.entry.queue,
                max(1, 100 * item.entry.weight // total),
            )
            for item in classes
        ),
        lossless=tuple(item.number for item in classes if item.entry.priority is not None),
        watchdog_timeout=f"{WATCHDOG_DETECTION_MS / 1000:.2f}",
        watchdog_recovery=f"{WATCHDOG_RECOVERY_MS / 1000:.2f}",
        watchdog_polling=f"{WATCHDOG_DETECTION_MS / 2000:.2f}",
    )


def _bgp(view: SwitchView) -> EosBgp | None:
    if view.device.asn is None or view.router_id is None or not view.bgp_sides:
        return None
    roles = {link.peer.device: link.peer_device.role.upper() for link in view.links}
    sides = {link.peer_device.role.upper(): link.port.side.upper() for link in view.links if link.is_to_switch}
    return EosBgp(
        asn=view.device.asn,
        router_id=view.router_id,
        paths=view.ecmp_width,
        sides=tuple(side.upper() for side in view.bgp_sides),
        groups=tuple(EosPeerGroup(name, side) for name, side in sorted(sides.items())),
        neighbours=tuple(EosNeighbour(s.remote, roles[s.neighbour], s.remote_as, s.description) for s in view.sessions),
        networks=tuple(origin.text for origin in view.origins),
    )
