"""Ports and addresses of a SONiC switch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clusterwright.intent.switch_links import error_correction
from clusterwright.plan.model import format_address
from clusterwright.plan.own_addresses import HOST_VLAN
from clusterwright.plan.ports import spare_ports
from clusterwright.spec.hardware.systems import systems

if TYPE_CHECKING:
    from clusterwright.intent.switch import SwitchView
    from clusterwright.intent.switch_links import Link, SwitchBond
    from clusterwright.spec.hardware.cages import PortMode
    from clusterwright.spec.hardware.platform_ports import PlatformPort

SYSTEM = "sonic"
RS_FROM_GBPS = 50
FEC = {"reed-solomon": "rs", "fire-code": "fc", None: "none"}


def port_tables(view: SwitchView) -> dict[str, Any]:
    """Ports with breakouts and neighbours, interfaces, and the hosts' VLAN if they share a subnet."""
    tables = _physical_ports(view)
    tables["INTERFACE"] = _interfaces(view)
    tables["DEVICE_NEIGHBOR"] = {link.port.port: _neighbour(link) for link in view.links}
    tables["PORTCHANNEL"] = {channel_of(bond): _channel(view, bond) for bond in view.bonds}
    channel_members: dict[str, Any] = {}
    for bond in view.bonds:
        for port in bond.ports:
            channel_members[f"{channel_of(bond)}|{port}"] = {}
    tables["PORTCHANNEL_MEMBER"] = channel_members
    if view.loopback is not None:
        loopback = systems()[SYSTEM].loopback
        tables["LOOPBACK_INTERFACE"] = {loopback: {}, f"{loopback}|{view.origins[0].text}": {}}
    return tables | _host_vlan(view)


def _physical_ports(view: SwitchView) -> dict[str, Any]:
    """PORT with all ports, used or not, and BREAKOUT_CFG with the split cages."""
    mode_by_port: dict[str, PortMode | None] = {}
    for link in view.links:
        block_and_mode = view.mode_of(link.port.side, link.port.port, link.port.speed_gbps)
        mode_by_port[link.port.port] = None if block_and_mode is None else block_and_mode[1]
    platform_ports: dict[str, PlatformPort] = {}
    ports: dict[str, dict[str, str]] = {}
    for name, mode in spare_ports(view.model, mode_by_port):
        platform_ports[name] = view.model.platform_port(name, mode)
        ports[name] = _port(view, platform_ports[name], speed_gbps=mode.speed_gbps, description="unused")
    for link in view.links:
        name = link.port.port
        platform_ports[name] = view.platform_port(link.port)
        ports[name] = _link_port(view, link, platform_ports[name])
    names = sorted(ports, key=lambda name: int(name.removeprefix("Ethernet")))
    breakouts = {}
    for name in names:
        platform_port = platform_ports[name]
        if platform_port.breakout:
            breakouts[platform_port.cage] = {"brkout_mode": platform_port.breakout}
    return {"PORT": {name: ports[name] for name in names}, "BREAKOUT_CFG": breakouts}


def _link_port(view: SwitchView, link: Link, platform_port: PlatformPort) -> dict[str, str]:
    port = _port(view, platform_port, speed_gbps=link.port.speed_gbps, description=link.description)
    port["fec"] = FEC[error_correction(link.port.speed_gbps, link.cable.medium, link.cable.length_m)]
    port["admin_status"] = "up" if link.is_up else "down"
    if link.port.port in view.bond_at:
        del port["mtu"]  # SONiC refuses an MTU of a channel's member other than the channel's
    return port


def _neighbour(link: Link) -> dict[str, str]:
    return {"name": link.peer.device, "local_port": link.port.port, "port": link.peer.port}


def _interfaces(view: SwitchView) -> dict[str, dict[str, str]]:
    """The routed ports and their addresses."""
    interfaces: dict[str, dict[str, str]] = {}
    for link in view.links:
        name = link.port.port
        if name in view.bond_at or link.port.address is None:
            continue
        address = format_address(link.port.address, view.version)
        interfaces[name] = {}
        interfaces[f"{name}|{address}/{link.port.prefix_length}"] = {}
    return interfaces


def _host_vlan(view: SwitchView) -> dict[str, Any]:
    """The VLAN of hosts with its members, gateway and relay; none without a shared subnet."""
    subnet = view.host_subnet
    if subnet is None or subnet.gateway is None:
        return {}
    vlan = systems()[SYSTEM].gateway
    gateway = f"{format_address(subnet.gateway, view.version)}/{subnet.prefix_length}"
    row: dict[str, Any] = {"vlanid": str(HOST_VLAN), "description": "hosts"}
    tables: dict[str, Any] = {"VLAN": {vlan: row}}
    if view.relay is not None and view.version == 4:
        row["dhcp_servers"] = [view.relay]
    # No table for router advertisements: on a rack switch SONiC's radvd sends them by itself, for DHCPv6.
    if view.relay is not None and view.version == 6:
        tables["DHCP_RELAY"] = {vlan: {"dhcpv6_servers": [view.relay]}}
    tables["VLAN_MEMBER"] = {f"{vlan}|{name}": {"tagging_mode": "untagged"} for name in _vlan_members(view)}
    tables["VLAN_INTERFACE"] = {vlan: {}, f"{vlan}|{gateway}": {}}
    return tables


def _vlan_members(view: SwitchView) -> list[str]:
    """The ports of the hosts' VLAN, with channels in place of their members."""
    single_links = [link for link in view.links if link.port.port not in view.bond_at]
    ports = [link.port.port for link in single_links if link.port.address is None]
    channels = [channel_of(bond) for bond in view.bonds]
    return [*ports, *channels]


def channel_of(bond: SwitchBond) -> str:
    """SONiC's name for a bond; teamd speaks LACP over it."""
    return f"PortChannel{bond.number}"


def _channel(view: SwitchView, bond: SwitchBond) -> dict[str, str]:
    return {
        "admin_status": "up",
        "description": bond.description,
        "fallback": "true",
        "fast_rate": "true" if bond.bond.rate == "fast" else "false",
        "lacp_key": "auto",
        "min_links": "1",
        "mtu": str(view.fabric.mtu),
    }


def _port(view: SwitchView, port: PlatformPort, *, speed_gbps: int, description: str) -> dict[str, str]:
    """A port that is down, with the usual error correction of its speed."""
    row = {"alias": port.alias, "index": str(port.number), "lanes": ",".join(map(str, port.lanes))}
    # The number of the port within its module, for the module's driver; 0, the default, is the whole module.
    if port.subport:
        row["subport"] = str(port.subport)
    return row | {
        "speed": str(speed_gbps * 1000),
        "fec": _usual_fec(speed_gbps, len(port.lanes)),
        "autoneg": "off",
        "mtu": str(view.fabric.mtu),
        "description": description,
        "admin_status": "down",
    }


def _usual_fec(speed_gbps: int, lanes: int) -> str:
    """portconfig.py of sonic-net/sonic-buildimage: Reed-Solomon for lanes of 50G or more."""
    return "rs" if speed_gbps / lanes >= RS_FROM_GBPS else "none"
