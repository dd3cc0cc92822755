"""The source of every switch's configuration: its links, BGP sessions, own prefixes and classes.

Shared by all switch operating systems, so that both ends of a session follow from the same derivation.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

from clusterwright.intent.boot_relays import planned_relay_sources, relay_addresses
from clusterwright.intent.borders import outside_prefixes
from clusterwright.intent.hashing import planned_hashing
from clusterwright.intent.per_plan import per_plan
from clusterwright.intent.routing_policy import RoutePolicy, side_policies
from clusterwright.intent.switch_links import Link, SwitchBond, bonds_of, links_of
from clusterwright.intent.switch_sessions import PlannedSession, sessions_of
from clusterwright.plan.asking import fabric_sources
from clusterwright.plan.model import fabric_of, format_address
from clusterwright.plan.ports import modes_at
from clusterwright.spec.hardware.site_limits import site_for
from clusterwright.spec.hardware.systems import release_of, systems

if TYPE_CHECKING:
    from collections.abc import Mapping

    from clusterwright.intent.hashing import TierHashing
    from clusterwright.plan.model import Device, Interface, Plan, Subnet
    from clusterwright.spec.fabric import Fabric
    from clusterwright.spec.hardware.cages import PortBlock, PortMode
    from clusterwright.spec.hardware.models import HardwareModel
    from clusterwright.spec.hardware.platform_ports import PlatformPort
    from clusterwright.spec.site import Site

    Modes = Mapping[str, tuple[PortBlock, PortMode]]

DRAINED = "drained"
_ROUTER_ID_BASE = 10 << 24
_NUMBERS = re.compile(r"(\d+)")


@dataclass(frozen=True, slots=True)
class Prefix:
    """A prefix as text. ``is_connected``: one interface carries exactly it; else it needs a discard route."""

    text: str
    is_connected: bool


@dataclass(frozen=True)
class SwitchView:
    """A switch and everything of the plan about it. ``version`` is the IP version of its fabric (4 or 6).

    ``management`` is the out-of-band link, None if the spec has no management network. ``origins`` are the switch's own
    announced prefixes, ``pools`` the prefixes and lengths accepted from neighbours. ``hashing`` is its choice among
    equal paths, ``platform`` the vendor's data on its chip. ``relay`` is the DHCP server for hosts' requests, None
    without any. ``modes`` are the ports' by side and speed, as far as they were looked up for the switches of its tier
    and model.
    """

    device: Device
    model: HardwareModel
    fabric: Fabric
    version: int
    links: tuple[Link, ...]
    management: Link | None
    sessions: tuple[PlannedSession, ...]
    origins: tuple[Prefix, ...]
    pools: tuple[tuple[str, int], ...]
    host_subnet: Subnet | None
    hashing: TierHashing
    platform: Mapping[str, Any] | None
    modes: dict[tuple[str, int], Modes]
    site: Site
    """The site's settings, limited to what the switch's system can express."""
    relay: str | None = None
    release: str = ""
    """Release of its system; "" for an unknown one."""
    relay_source: str | None = None
    """Source address of its DHCP relay."""
    fabric_source: str | None = None
    """Source address of requests to servers without a management port."""

    @property
    def loopback(self) -> str | None:
        """The loopback address as text."""
        return None if self.device.loopback is None else format_address(self.device.loopback, self.version)

    def mode_of(self, side: str, port: str, speed_gbps: int) -> tuple[PortBlock, PortMode] | None:
        """A port's block and mode on a side (``down``, ``up``); None if the model lists none."""
        modes = self.modes.get((side, speed_gbps))
        if modes is None:
            tier = self.fabric.tiers[self.device.tier]
            tier_side = tier.up.side if side == "up" and tier.up is not None else tier.down
            modes = self.modes[side, speed_gbps] = modes_at(self.model, tier_side, speed_gbps)
        return modes.get(port)

    def platform_port(self, port: Interface) -> PlatformPort:
        """The system's name for a linked port. Raises PlatformPortError if its platform lacks it."""
        mode = self.mode_of(port.side, port.port, port.speed_gbps)
        return self.model.platform_port(port.port, None if mode is None else mode[1])

    @cached_property
    def bonds(self) -> tuple[SwitchBond, ...]:
        """Bonds of ports to hosts."""
        return bonds_of(self.model, self.links)

    @cached_property
    def bond_at(self) -> Mapping[str, SwitchBond]:
        """The same by port."""
        by_port: dict[str, SwitchBond] = {}
        for bond in self.bonds:
            by_port |= dict.fromkeys(bond.ports, bond)
        return by_port

    @property
    def asks_from(self) -> str:
        """Source of requests to servers: ``management``, ``gateway`` or ``loopback``, else "".

        Without a management port they cross the fabric, and no route leads back to the address of an uplink.
        """
        if self.management is not None:
            return "management"
        if self.fabric_source is None:
            return ""
        return "loopback" if self.fabric_source == self.loopback else "gateway"

    @property
    def is_drained(self) -> bool:
        """True for a switch without announcements: all traffic goes around it, nothing else changes."""
        return self.device.state == DRAINED

    @property
    def shares_subnet(self) -> bool:
        """True if the hosts of this switch are in one subnet with the switch as gateway."""
        return self.host_subnet is not None and self.host_subnet.gateway is not None

    @cached_property
    def bgp_sides(self) -> tuple[str, ...]:
        """``down`` and ``up``, as far as there are BGP speakers, in service or not."""
        if self.device.asn is None or self.device.loopback is None:
            return ()
        return tuple(sorted({link.port.side for link in self.links if link.is_to_switch}))

    @cached_property
    def routing_policies(self) -> tuple[RoutePolicy, ...]:
        """Policies for neighbours in the fabric, side by side: incoming, then outgoing."""
        policies: list[RoutePolicy] = []
        for side in self.bgp_sides:
            policies.extend(side_policies(side, is_drained=self.is_drained))
        return tuple(policies)

    @property
    def router_id(self) -> str | None:
        """An IPv4 loopback itself; for IPv6, 10/8 and the loopback's last 24 bits, unique by switch."""
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
    """Collect everything about one switch of an Ethernet fabric. Raises KeyError for a fabric without addresses."""
    fabric = fabric_of(plan, device.fabric)
    version = plan.address_version(device.fabric)
    all_links = links_of(plan, device)
    links = tuple(link for link in all_links if link.port.side != "management")
    management_links = [link for link in all_links if link.port.side == "management"]
    model = plan.spec.catalogue[device.model]
    platforms = [settings.platform for settings in plan.spec.chip_settings if settings.model == device.model]
    host_subnet = plan.host_subnet_of.get((device.fabric, device.name))
    return SwitchView(
        device=device,
        model=model,
        fabric=fabric,
        version=version,
        links=links,
        management=management_links[0] if management_links else None,
        sessions=sessions_of(plan, device, links),
        origins=_origins(device, host_subnet, version),
        pools=_pools(plan, fabric.name),
        host_subnet=host_subnet,
        hashing=planned_hashing(plan, device.fabric)[device.tier],
        platform=platforms[0] if platforms else None,
        modes=_modes(plan, device.fabric, device.tier, device.model),
        site=site_of_system(plan, model.network_os or ""),
        relay=_relays(plan).get(device.name),
        release=release_of(model, fabric.tiers[device.tier].release),
        relay_source=_relay_sources(plan).get(device.name),
        fabric_source=_fabric_sources(plan).get(device.name),
    )


@per_plan
def site_of_system(plan: Plan, system: str) -> Site:
    """The site's settings, limited to what a switch system can express."""
    if system not in systems():
        return plan.spec.site
    return site_for(plan.spec.site, systems()[system])


@per_plan
def _modes(plan: Plan, fabric: str, tier: int, model: str) -> dict[tuple[str, int], Modes]:
    return {}


@per_plan
def _relays(plan: Plan) -> dict[str, str]:
    return _as_text(plan, relay_addresses(plan))


@per_plan
def _relay_sources(plan: Plan) -> dict[str, str]:
    return _as_text(plan, planned_relay_sources(plan))


@per_plan
def _fabric_sources(plan: Plan) -> dict[str, str]:
    return _as_text(plan, fabric_sources(plan))


def _as_text(plan: Plan, addresses: Mapping[str, int]) -> dict[str, str]:
    """Addresses by switch, as text of the IP version of the switch's fabric."""
    texts = {}
    for switch, address in addresses.items():
        texts[switch] = format_address(address, plan.address_version(plan.by_name[switch].fabric))
    return texts


@lru_cache(maxsize=4096)
def in_port_order(name: str) -> tuple[tuple[int, str], ...]:
    """A sorting key with Ethernet2/1 before Ethernet10/1."""
    return tuple(_sorting_part(part) for part in _NUMBERS.split(name))


def _sorting_part(part: str) -> tuple[int, str]:
    return (int(part), "") if part.isdigit() else (0, part)


def _origins(device: Device, host_subnet: Subnet | None, version: int) -> tuple[Prefix, ...]:
    """The prefixes that a switch announces: its loopback and its host subnet."""
    origins = []
    if device.loopback is not None:
        length = 32 if version == 4 else 128
        origins.append(Prefix(text=f"{format_address(device.loopback, version)}/{length}", is_connected=True))
    if host_subnet is not None:
        text = f"{format_address(host_subnet.network, version)}/{host_subnet.prefix_length}"
        origins.append(Prefix(text=text, is_connected=host_subnet.gateway is not None))
    return tuple(origins)


@per_plan
def _pools(plan: Plan, fabric_name: str) -> tuple[tuple[str, int], ...]:
    """The fabric's loopbacks and host subnets, and the prefixes learnt at its borders."""
    addressing = fabric_of(plan, fabric_name).addressing
    if addressing is None:
        return ()
    pools: list[tuple[str, int]] = []
    if addressing.loopbacks is not None:
        pools.append((str(addressing.loopbacks), addressing.loopbacks.max_prefixlen))
    pools.append((str(addressing.hosts), addressing.hosts_per_switch))
    pools += [(str(network), network.prefixlen) for network in outside_prefixes(plan, fabric_name)]
    return tuple(pools)
