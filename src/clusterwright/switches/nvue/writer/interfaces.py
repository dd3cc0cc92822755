"""Ports, addresses and the hosts' VLAN of a switch with NVUE.

A port that no cable leads to is not mentioned: Cumulus Linux leaves it down. A split cage is named once with its
breakout, and each part of it like a port.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from clusterwright.intent.edge import is_host_port
from clusterwright.intent.switch import in_port_order
from clusterwright.intent.switch_links import error_correction
from clusterwright.plan.model import format_address
from clusterwright.plan.own_addresses import HOST_VLAN
from clusterwright.spec.hardware.systems import systems
from clusterwright.switches.nvue.writer.services import SYSTEM

if TYPE_CHECKING:
    from collections.abc import Mapping

    from clusterwright.intent.switch import SwitchView
    from clusterwright.intent.switch_links import Link, ManagementPort, SwitchBond
    from clusterwright.spec.hardware.cages import PortBlock, PortMode

BRIDGE = "br_default"
FEC = {"reed-solomon": "rs", "fire-code": "baser", None: "off"}
_PART = re.compile(r"(?P<cage>swp\d+)s\d+")
Objects = dict[str, Any]


def interfaces(
    view: SwitchView, port: ManagementPort | None, filters: Mapping[str, Objects], management_filters: Objects
) -> Objects:
    """The objects under ``interface``; ``filters`` are the lists of ports to hosts."""
    interfaces: Objects = {}
    for link in sorted(view.links, key=lambda link: in_port_order(link.port.port)):
        interfaces |= _cage(view, link)
        is_bound = link.port.port in filters and link.port.port not in view.bond_at
        lists = {"acl": filters[link.port.port]} if is_bound else {}
        interfaces[link.port.port] = lists | _port(view, link)
    for bond in view.bonds:
        lists = {"acl": filters[bond.ports[0]]} if bond.ports[0] in filters else {}
        interfaces[f"bond{bond.number}"] = lists | _bond(view, bond)
    gateway = _gateway(view)
    if gateway is not None:
        objects = {
            "ip": {"address": {gateway: {}}} | _advertised(view),
            "link": {"mtu": view.fabric.mtu},
            "type": "svi",
            "vlan": HOST_VLAN,
        }
        interfaces[systems()[SYSTEM].gateway] = objects
    if view.loopback is not None:
        interfaces[systems()[SYSTEM].loopback] = {"ip": {"address": {view.origins[0].text: {}}}, "type": "loopback"}
    if port is not None:
        address: Objects = {} if port.address is None else {"address": {port.address: {}}}
        lists = {"acl": management_filters} if management_filters else {}
        interfaces[port.port] = lists | {
            "description": port.description,
            "ip": address | {"vrf": "mgmt"},
            "type": "eth",
        }
    return interfaces


def bridge(view: SwitchView) -> Objects:
    """The bridge of the hosts' VLAN, if they share a subnet."""
    return {"domain": {BRIDGE: {"vlan": {str(HOST_VLAN): {}}}}} if _gateway(view) is not None else {}


def _gateway(view: SwitchView) -> str | None:
    subnet = view.host_subnet
    if subnet is None or subnet.gateway is None:
        return None
    return f"{format_address(subnet.gateway, view.version)}/{subnet.prefix_length}"


def _advertised(view: SwitchView) -> Objects:
    """DHCPv6 gives booting hosts no router: router advertisements do, off by default in Cumulus Linux."""
    if view.relay is None or view.version == 4:
        return {}
    return {"neighbor-discovery": {"router-advertisement": {"enable": "on", "managed-config": "on"}}}


def _bond(view: SwitchView, bond: SwitchBond) -> Objects:
    """A bond: Cumulus Linux asks it, and no port of it, for VLAN and lists."""
    return {
        "bond": {
            "lacp-bypass": "on",
            "lacp-rate": bond.bond.rate,
            "member": {port: {} for port in bond.ports},
            "mode": "lacp",
        },
        "bridge": {"domain": {BRIDGE: {"access": HOST_VLAN}}},
        "description": bond.description,
        "link": {"mtu": view.fabric.mtu, "state": {"up": {}}},
        "type": "bond",
    }


_CAGE_LANES = 8  # of OSFP and QSFP-DD


def _cage(view: SwitchView, link: Link) -> Objects:
    """The cage of a port, with its breakout, and the cage beside it without lanes for that.

    Nothing for a port with a whole cage.
    """
    part = _PART.fullmatch(link.port.port)
    mode = view.mode_of(link.port.side, link.port.port, link.port.speed_gbps)
    if part is None or mode is None:
        return {}
    parts, lanes = len(mode[1].subports), mode[0].lanes(mode[1])
    # Of a cage with eight lanes each port takes its part, unless the text says otherwise.
    stated = {} if lanes == _CAGE_LANES // parts else {"lanes-per-port": lanes}
    objects: Objects = {part["cage"]: {"link": {"breakout": {f"{parts}x": stated}}, "type": "swp"}}
    beside = _lost_cage(view, part["cage"], *mode)
    if beside is not None:
        objects[beside] = {"link": {"breakout": {"disabled": {}}}, "type": "swp"}
    return objects


def _lost_cage(view: SwitchView, cage: str, block: PortBlock, mode: PortMode) -> str | None:
    """The cage without lanes by a mode, to be disabled for NVUE; None for a mode with its own lanes alone."""
    other = None if mode.disables is None else view.model.block(mode.disables)
    return None if other is None else other.cages[block.cages.index(cage)]


def _port(view: SwitchView, link: Link) -> Objects:
    fec = FEC[error_correction(link.port.speed_gbps, link.cable.medium, link.cable.length_m)]
    objects: Objects = {"description": link.description}
    if link.port.port in view.bond_at:
        pass  # its bond is in the bridge
    elif link.port.address is not None:
        address = f"{format_address(link.port.address, view.version)}/{link.port.prefix_length}"
        objects["ip"] = {"address": {address: {}}}
    else:
        objects["bridge"] = {"domain": {BRIDGE: {"access": HOST_VLAN}}}
    objects["link"] = {
        "auto-negotiate": "off",
        "fec": fec,
        "mtu": view.fabric.mtu,
        "speed": f"{link.port.speed_gbps}G",
        "state": {"up" if link.is_up else "down": {}},
    }
    if any(entry.priority is not None for entry in view.fabric.classes):
        objects["qos"] = {"pfc-watchdog": {"state": "enable"}}
    if view.fabric.is_adaptive and not is_host_port(link):
        objects["router"] = {"adaptive-routing": {"enable": "on"}}
    return objects | {"type": "swp"}
