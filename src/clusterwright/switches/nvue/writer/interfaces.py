"""Ports, addresses and the hosts' VLAN of a switch with NVUE.

Ports without a cable are left out: Cumulus Linux leaves them down. A split cage has one object with its breakout, and
each of its parts one like a port.
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
        name = link.port.port
        interfaces |= _cage(view, link)
        interfaces[name] = _port(view, link)
        if name in filters and name not in view.bond_at:
            interfaces[name] = {"acl": filters[name]} | interfaces[name]
    for bond in view.bonds:
        name = f"bond{bond.number}"
        interfaces[name] = _bond(view, bond)
        if bond.ports[0] in filters:
            interfaces[name] = {"acl": filters[bond.ports[0]]} | interfaces[name]
    gateway = _gateway(view)
    if gateway is not None:
        interfaces[systems()[SYSTEM].gateway] = {
            "ip": {"address": {gateway: {}}} | _router_advertisements(view),
            "link": {"mtu": view.fabric.mtu},
            "type": "svi",
            "vlan": HOST_VLAN,
        }
    if view.loopback is not None:
        interfaces[systems()[SYSTEM].loopback] = {"ip": {"address": {view.origins[0].text: {}}}, "type": "loopback"}
    if port is not None:
        interfaces[port.port] = _management_port(port, management_filters)
    return interfaces


def _management_port(port: ManagementPort, filters: Objects) -> Objects:
    objects: Objects = {}
    if filters:
        objects["acl"] = filters
    objects["description"] = port.description
    objects["ip"] = {"vrf": "mgmt"}
    if port.address is not None:
        objects["ip"] = {"address": {port.address: {}}, "vrf": "mgmt"}
    objects["type"] = "eth"
    return objects


def bridge(view: SwitchView) -> Objects:
    """The bridge of the hosts' VLAN, if they share a subnet."""
    if not view.shares_subnet:
        return {}
    return {"domain": {BRIDGE: {"vlan": {str(HOST_VLAN): {}}}}}


def _gateway(view: SwitchView) -> str | None:
    subnet = view.host_subnet
    if subnet is None or subnet.gateway is None:
        return None
    return f"{format_address(subnet.gateway, view.version)}/{subnet.prefix_length}"


def _router_advertisements(view: SwitchView) -> Objects:
    """Router advertisements for hosts with DHCPv6, which itself cannot announce a router; off in Cumulus by default."""
    if view.relay is None or view.version == 4:
        return {}
    return {"neighbor-discovery": {"router-advertisement": {"enable": "on", "managed-config": "on"}}}


def _bond(view: SwitchView, bond: SwitchBond) -> Objects:
    """A bond; on Cumulus Linux it has the VLAN and lists, and its members have none."""
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
    """The split cage of a port with its breakout, and the cage disabled by that; nothing for a whole cage."""
    part = _PART.fullmatch(link.port.port)
    mode = view.mode_of(link.port.side, link.port.port, link.port.speed_gbps)
    if part is None or mode is None:
        return {}
    block, port_mode = mode
    cage, parts, lanes = part["cage"], len(port_mode.subports), block.lanes(port_mode)
    breakout: Objects = {}
    # By default each port has an equal part of the cage's eight lanes.
    if lanes != _CAGE_LANES // parts:
        breakout["lanes-per-port"] = lanes
    objects: Objects = {cage: {"link": {"breakout": {f"{parts}x": breakout}}, "type": "swp"}}
    disabled_cage = _disabled_cage(view, cage, block, port_mode)
    if disabled_cage is not None:
        objects[disabled_cage] = {"link": {"breakout": {"disabled": {}}}, "type": "swp"}
    return objects


def _disabled_cage(view: SwitchView, cage: str, block: PortBlock, mode: PortMode) -> str | None:
    """The cage that loses its lanes to a mode; None for a mode with its own lanes alone."""
    if mode.disables is None:
        return None
    disabled_block = view.model.block(mode.disables)
    if disabled_block is None:
        return None
    return disabled_block.cages[block.cages.index(cage)]


def _port(view: SwitchView, link: Link) -> Objects:
    fec = FEC[error_correction(link.port.speed_gbps, link.cable.medium, link.cable.length_m)]
    objects: Objects = {"description": link.description}
    is_bond_member = link.port.port in view.bond_at  # then the bond is in the bridge
    if link.port.address is not None and not is_bond_member:
        address = f"{format_address(link.port.address, view.version)}/{link.port.prefix_length}"
        objects["ip"] = {"address": {address: {}}}
    elif not is_bond_member:
        objects["bridge"] = {"domain": {BRIDGE: {"access": HOST_VLAN}}}
    state = "up" if link.is_up else "down"
    objects["link"] = {
        "auto-negotiate": "off",
        "fec": fec,
        "mtu": view.fabric.mtu,
        "speed": f"{link.port.speed_gbps}G",
        "state": {state: {}},
    }
    if any(entry.priority is not None for entry in view.fabric.classes):
        objects["qos"] = {"pfc-watchdog": {"state": "enable"}}
    if view.fabric.is_adaptive and not is_host_port(link):
        objects["router"] = {"adaptive-routing": {"enable": "on"}}
    return objects | {"type": "swp"}
