"""Ports and addresses of a SONiC switch. Lanes and breakout modes are facts of the platform (port_config.ini,
platform.json)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clusterwright.finding import ClusterwrightError
from clusterwright.plan.model import format_address
from clusterwright.plan.own_addresses import GATEWAYS, HOST_VLAN, LOOPBACKS
from clusterwright.render.eos_ports import error_correction
from clusterwright.render.switch_view import spare_ports

if TYPE_CHECKING:
    from clusterwright.render.switch_view import SwitchView

LOOPBACK = LOOPBACKS["sonic"]
LANES = 8
FEC = {"reed-solomon": "rs", "fire-code": "fc", None: "none"}

# The first of the eight lanes of Ethernet0, Ethernet8, ... Ethernet504, by hardware SKU.
_FIRST_LANES = {
    "Arista-7060X6-64PE-64x400G": (
        *(17, 1, 9, 25, 57, 41, 33, 49, 89, 73, 65, 81, 121, 105, 97, 113),
        *(153, 137, 129, 145, 185, 169, 161, 177, 217, 201, 193, 209, 249, 233, 225, 241),
        *(273, 257, 265, 281, 313, 297, 289, 305, 345, 329, 321, 337, 377, 361, 353, 369),
        *(409, 393, 385, 401, 441, 425, 417, 433, 473, 457, 449, 465, 505, 489, 481, 497),
    )
}


class SonicPortError(ClusterwrightError):
    """A hardware SKU without known lanes, or a port that it does not have."""


def port_tables(view: SwitchView) -> dict[str, Any]:
    """Ports with breakouts and neighbours, interfaces, and the hosts' VLAN where they share a subnet."""
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
            members[f"{GATEWAYS['sonic']}|{name}"] = {"tagging_mode": "untagged"}
    ports = dict(sorted(ports.items(), key=lambda item: int(item[0].removeprefix("Ethernet"))))
    tables: dict[str, Any] = {
        "PORT": ports,
        "BREAKOUT_CFG": {name: {"brkout_mode": f"1x{int(row['speed']) // 1000}G"} for name, row in ports.items()},
        "INTERFACE": interfaces,
        "DEVICE_NEIGHBOR": neighbours,
    }
    if view.loopback is not None:
        tables["LOOPBACK_INTERFACE"] = {LOOPBACK: {}, f"{LOOPBACK}|{view.origins[0].text}": {}}
    subnet = view.host_subnet
    if subnet is not None and subnet.gateway is not None:
        vlan = GATEWAYS["sonic"]
        gateway = f"{format_address(subnet.gateway, view.version)}/{subnet.prefix_length}"
        tables["VLAN"] = {vlan: {"vlanid": str(HOST_VLAN), "description": "hosts"}}
        tables["VLAN_MEMBER"] = members
        tables["VLAN_INTERFACE"] = {vlan: {}, f"{vlan}|{gateway}": {}}
    return tables


def _used(view: SwitchView) -> dict[str, int]:
    return {link.port.port: link.port.speed_gbps for link in view.links}


def _port(view: SwitchView, name: str, description: str, speed_gbps: int, fec: str | None) -> dict[str, str]:
    lanes = _FIRST_LANES.get(view.model.platform or "")
    if lanes is None:
        known = ", ".join(_FIRST_LANES)
        raise SonicPortError(f"no lanes are known for the SONiC platform {view.model.platform}; known are {known}")
    index = int(name.removeprefix("Ethernet")) // LANES
    if index >= len(lanes) or name != f"Ethernet{index * LANES}":
        raise SonicPortError(f"the SONiC platform {view.model.platform} has no port {name}; check the model's cages")
    return {
        "alias": f"etp{index + 1}",
        "index": str(index + 1),
        "lanes": ",".join(str(lane) for lane in range(lanes[index], lanes[index] + LANES)),
        "speed": str(speed_gbps * 1000),
        "fec": fec or "rs",
        "autoneg": "off",
        "mtu": str(view.fabric.mtu),
        "description": description,
        "admin_status": "down",
    }
