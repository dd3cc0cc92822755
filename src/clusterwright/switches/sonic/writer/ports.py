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
    from clusterwright.intent.switch_links import SwitchBond
    from clusterwright.spec.hardware.platform_ports import PlatformPort

RS_FROM_GBPS = 50
FEC = {"reed-solomon": "rs", "fire-code": "fc", None: "none"}


def port_tables(view: SwitchView) -> dict[str, Any]:
    """Ports with breakouts and neighbours, interfaces, and the hosts' VLAN if they share a subnet."""
    system = systems()["sonic"]
    modes = {link.port.port: view.mode_of(link.port.side, link.port.port, link.port.speed_gbps) for link in view.links}
    spare = spare_ports(view.model, {port: mode_at and mode_at[1] for port, mode_at in modes.items()})
    port_by_name = {name: (view.model.platform_port(name, mode), mode.speed_gbps) for name, mode in spare}
    ports = {name: _port(view, "unused", unused_port, None) for name, unused_port in port_by_name.items()}
    interfaces: dict[str, dict[str, str]] = {}
    neighbours = {}
    members = {}
    for link in view.links:
        name = link.port.port
        fec = FEC[error_correction(link.port.speed_gbps, link.cable.medium, link.cable.length_m)]
        port_by_name[name] = (view.platform_port(link.port), link.port.speed_gbps)
        entry = _port(view, link.description, port_by_name[name], fec)
        ports[name] = entry | {"admin_status": "up" if link.is_up else "down"}
        if name in view.bond_at:
            del ports[name]["mtu"]  # of a part of a channel SONiC takes none, or the channel's alone
        neighbours[name] = {"name": link.peer.device, "local_port": name, "port": link.peer.port}
        if name in view.bond_at:
            continue  # what is said of a part is said of the channel
        if link.port.address is not None:
            interfaces[name] = {}
            address = format_address(link.port.address, view.version)
            interfaces[f"{name}|{address}/{link.port.prefix_length}"] = {}
        else:
            members[f"{system.gateway}|{name}"] = {"tagging_mode": "untagged"}
    members |= {f"{system.gateway}|{channel_of(bond)}": {"tagging_mode": "untagged"} for bond in view.bonds}
    ports = dict(sorted(ports.items(), key=lambda item: int(item[0].removeprefix("Ethernet"))))
    cages = {port_by_name[name][0].cage: port_by_name[name][0].breakout for name in ports}
    tables: dict[str, Any] = {
        "PORT": ports,
        "BREAKOUT_CFG": {cage: {"brkout_mode": breakout} for cage, breakout in cages.items() if breakout},
        "INTERFACE": interfaces,
        "DEVICE_NEIGHBOR": neighbours,
        "PORTCHANNEL": {channel_of(bond): _channel(view, bond) for bond in view.bonds},
        "PORTCHANNEL_MEMBER": {},
    }
    for bond in view.bonds:
        tables["PORTCHANNEL_MEMBER"] |= {f"{channel_of(bond)}|{port}": {} for port in bond.ports}
    if view.loopback is not None:
        tables["LOOPBACK_INTERFACE"] = {system.loopback: {}, f"{system.loopback}|{view.origins[0].text}": {}}
    subnet = view.host_subnet
    if subnet is not None and subnet.gateway is not None:
        vlan = system.gateway
        gateway = f"{format_address(subnet.gateway, view.version)}/{subnet.prefix_length}"
        relay = {"dhcp_servers": [view.relay]} if view.relay is not None and view.version == 4 else {}
        tables["VLAN"] = {vlan: {"vlanid": str(HOST_VLAN), "description": "hosts"} | relay}
        # Hosts hear of their router without a word here: SONiC's radvd tells them on a rack switch, for DHCPv6.
        if view.relay is not None and view.version == 6:
            tables["DHCP_RELAY"] = {vlan: {"dhcpv6_servers": [view.relay]}}
        tables["VLAN_MEMBER"] = members
        tables["VLAN_INTERFACE"] = {vlan: {}, f"{vlan}|{gateway}": {}}
    return tables


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


def _port(
    view: SwitchView, description: str, platform_port: tuple[PlatformPort, int], fec: str | None
) -> dict[str, str]:
    port, speed_gbps = platform_port
    return {
        "alias": port.alias,
        "index": str(port.number),
        "lanes": ",".join(map(str, port.lanes)),
        # The module's driver tells by it which of the module's lanes are meant; 0 is the default: all of them.
        **({"subport": str(port.subport)} if port.subport else {}),
        "speed": str(speed_gbps * 1000),
        "fec": fec or _usual_fec(speed_gbps, len(port.lanes)),
        "autoneg": "off",
        "mtu": str(view.fabric.mtu),
        "description": description,
        "admin_status": "down",
    }


def _usual_fec(speed_gbps: int, lanes: int) -> str:
    """portconfig.py of sonic-net/sonic-buildimage: Reed-Solomon for lanes of 50G or more."""
    return "rs" if speed_gbps / lanes >= RS_FROM_GBPS else "none"
