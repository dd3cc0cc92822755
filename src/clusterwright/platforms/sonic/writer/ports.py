"""Ports and addresses of a SONiC switch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clusterwright.plan.model import format_address
from clusterwright.plan.own_addresses import HOST_VLAN
from clusterwright.plan.ports import spare_ports
from clusterwright.plan.sonic_lanes import port_lanes
from clusterwright.platforms.eos.writer.ports import error_correction
from clusterwright.spec.hardware.systems import systems

if TYPE_CHECKING:
    from clusterwright.intent.switch import SwitchView

FEC = {"reed-solomon": "rs", "fire-code": "fc", None: "none"}


def port_tables(view: SwitchView) -> dict[str, Any]:
    """Ports with breakouts and neighbours, interfaces, and the hosts' VLAN where they share a subnet."""
    own = systems()["sonic"]
    ports = {name: _port(view, name, "unused", 400, None) for name in spare_ports(view.model, _used(view))}
    interfaces: dict[str, dict[str, str]] = {}
    neighbours = {}
    members = {}
    for link in view.links:
        name = link.port.port
        fec = FEC[error_correction(link.port.speed_gbps, link.cable.medium, link.cable.length_m)]
        entry = _port(view, name, link.description, link.port.speed_gbps, fec)
        ports[name] = entry | {"admin_status": "up" if link.is_up else "down"}
        neighbours[name] = {"name": link.peer.device, "local_port": name, "port": link.peer.port}
        if link.port.address is not None:
            interfaces[name] = {}
            address = format_address(link.port.address, view.version)
            interfaces[f"{name}|{address}/{link.port.prefix_length}"] = {}
        else:
            members[f"{own.gateway}|{name}"] = {"tagging_mode": "untagged"}
    ports = dict(sorted(ports.items(), key=lambda item: int(item[0].removeprefix("Ethernet"))))
    tables: dict[str, Any] = {
        "PORT": ports,
        "BREAKOUT_CFG": {name: {"brkout_mode": f"1x{int(row['speed']) // 1000}G"} for name, row in ports.items()},
        "INTERFACE": interfaces,
        "DEVICE_NEIGHBOR": neighbours,
    }
    if view.loopback is not None:
        tables["LOOPBACK_INTERFACE"] = {own.loopback: {}, f"{own.loopback}|{view.origins[0].text}": {}}
    subnet = view.host_subnet
    if subnet is not None and subnet.gateway is not None:
        vlan = own.gateway
        gateway = f"{format_address(subnet.gateway, view.version)}/{subnet.prefix_length}"
        tables["VLAN"] = {vlan: {"vlanid": str(HOST_VLAN), "description": "hosts"}}
        tables["VLAN_MEMBER"] = members
        tables["VLAN_INTERFACE"] = {vlan: {}, f"{vlan}|{gateway}": {}}
    return tables


def _used(view: SwitchView) -> dict[str, int]:
    return {link.port.port: link.port.speed_gbps for link in view.links}


def _port(view: SwitchView, name: str, description: str, speed_gbps: int, fec: str | None) -> dict[str, str]:
    index, lanes = port_lanes(view.model.platform, name)
    return {
        "alias": f"etp{index + 1}",
        "index": str(index + 1),
        "lanes": ",".join(map(str, lanes)),
        "speed": str(speed_gbps * 1000),
        "fec": fec or "rs",
        "autoneg": "off",
        "mtu": str(view.fabric.mtu),
        "description": description,
        "admin_status": "down",
    }
