"""The FBOSS agent's configuration (AgentConfig in fboss/agent/agent_config.thrift) as plain data.

Every routed port has its own VLAN and interface, as FBOSS requires on chips of the Tomahawk family; hosts in a shared
subnet share one VLAN. Ports without a cable are left out: on these platforms the agent adds and removes ports as listed
(SaiPlatform.h, supportsAddRemovePort), and an unlisted port has no link. ``platform`` is the vendor's, unchanged, from
the file named in the spec (``chip_settings``): lane maps and SDK settings, independent of the plan. Without it
``platform.chip`` is empty, and the agent does not start (SaiBcmPlatform::getHwConfig).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clusterwright.intent.headroom import divide_pool, headroom_cells
from clusterwright.intent.switch import in_port_order
from clusterwright.intent.traffic_classes import traffic_classes
from clusterwright.plan.model import format_address
from clusterwright.plan.own_addresses import FBOSS_LOOPBACK_VLAN, HOST_VLAN
from clusterwright.plan.ports import LANES
from clusterwright.switches.fboss.writer import classes as fboss_classes
from clusterwright.switches.fboss.writer.filters import COMMAND_LINE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from clusterwright.intent.switch import SwitchView
    from clusterwright.intent.switch_links import Link, SwitchBond
    from clusterwright.switches.fboss.writer.filters import FbossFilters

DEFAULT_VLAN = 1
FIRST_PORT_VLAN = 2000
# Ethernet header, VLAN tag and checksum around an IP packet.
FRAME_OVERHEAD_BYTES = 22

DISABLED, ENABLED = 1, 2
ADVERTISED_S = 60  # hosts keep an advertised router for 1,800 s (NdpConfig.routerLifetime)
PARSE_L4 = 2
STP_FORWARDING = 2
LLDP_PORT, LLDP_SYSTEM_NAME = 2, 5
LACP_PRIORITY = 32768  # IEEE 802.1AX, the usual one
LACP_RATES = {"slow": 0, "fast": 1}
LACP_ACTIVE = 1
SWITCH_NPU = 0
ASIC_TYPES = {"tomahawk3": 5, "tomahawk4": 6}
# AgentFeatures' port id range for a chip of one switch.
PORT_ID_MAXIMUM = 2047


def agent_config(view: SwitchView, filters: FbossFilters | None, flags: Mapping[str, str]) -> dict[str, Any]:
    """The AgentConfig of one switch, with the agent's command-line ``flags``.

    Raises PlatformPortError for a port or speed that the platform does not have.
    """
    arguments = dict(flags)
    if filters is not None:
        arguments |= COMMAND_LINE
    platform = {"chip": {}} if view.platform is None else view.platform
    return {
        "defaultCommandLineArgs": arguments,
        "sw": _switch_config(view, filters),
        "platform": platform,
        "thriftApiToRateLimitInQps": {},
    }


def _switch_config(view: SwitchView, filters: FbossFilters | None) -> dict[str, Any]:
    classes = traffic_classes(view.fabric)
    buffer = view.model.buffer
    lossless_classes = sum(item.is_lossless for item in classes)
    is_lossless = buffer is not None and lossless_classes > 0
    vlan_of_port = _vlans_of_ports(view)
    ports = {}
    for link in view.links:
        port = _port(view, link, vlan_of_port[link.port.port])
        if classes:
            port["portQueueConfigName"] = view.fabric.name
        if is_lossless:
            port["pfc"] = fboss_classes.port_pfc(link.port.side, view.fabric.pfc_watchdog)
        ports[link.port.port] = port
    config: dict[str, Any] = {
        "version": 0,
        "hostname": view.device.name,
        "ports": sorted(ports.values(), key=lambda port: in_port_order(port["name"])),
        "vlans": _vlans(view, vlan_of_port),
        "vlanPorts": [_vlan_port(vlan, ports[port]["logicalID"]) for port, vlan in vlan_of_port.items()],
    }
    if view.bonds:
        config["aggregatePorts"] = [_aggregate(bond, ports) for bond in view.bonds]
    discards = [origin for origin in view.origins if not origin.is_connected]
    config |= {
        "defaultVlan": DEFAULT_VLAN,
        "interfaces": _interfaces(view, vlan_of_port),
        "staticRoutesToNull": [{"routerID": 0, "prefix": origin.text} for origin in discards],
        "cpuQueues": fboss_classes.cpu_queues(),
        "cpuTrafficPolicy": {"rxReasonToQueueOrderedList": fboss_classes.cpu_traps(_purposes(view))},
        "loadBalancers": fboss_classes.load_balancers(view.hashing),
        "switchSettings": _switch_settings(view),
    }
    if classes:
        name = view.fabric.name
        config["qosPolicies"] = [fboss_classes.qos_policy(name, classes)]
        config["dataPlaneTrafficPolicy"] = {"matchToAction": [], "defaultQosPolicy": name}
        config["portQueueConfigs"] = {name: fboss_classes.port_queues(classes)}
    if filters is not None:
        policy = config.get("dataPlaneTrafficPolicy", {})
        config["dataPlaneTrafficPolicy"] = policy | {"matchToAction": filters.actions}
        config["trafficCounters"] = filters.counters
        config["aclTableGroup"] = filters.group
    if buffer is not None and is_lossless:
        cells = _headroom_cells(view)
        promised = lossless_classes * sum(cells[link.port.side] for link in view.links)
        config["portPgConfigs"] = fboss_classes.priority_groups(classes, buffer.cell_bytes, cells)
        config["bufferPoolConfigs"] = fboss_classes.buffer_pools(divide_pool(buffer, promised), buffer.cell_bytes)
    if view.hashing.queue_pairs:
        config["udfConfig"] = fboss_classes.queue_pair_udf()
    return config


def _purposes(view: SwitchView) -> tuple[str, ...]:
    """Purposes of this file's traps to the processor, as named in the system's list of services."""
    purposes = ("sessions", "bonds", "neighbours")
    return purposes if view.relay is None else (*purposes, "relays")


def _vlans_of_ports(view: SwitchView) -> dict[str, int]:
    """The VLAN of each port in the order of its links: a routed port has its own, hosts of a subnet share one."""
    vlans = {}
    for index, link in enumerate(view.links):
        vlans[link.port.port] = FIRST_PORT_VLAN + index if link.is_routed else HOST_VLAN
    return vlans


def _port(view: SwitchView, link: Link, vlan: int) -> dict[str, Any]:
    """A port's fields without its queues."""
    port = link.port
    mode = view.mode_of(port.side, port.port, port.speed_gbps)
    if mode is None:
        chip_port = view.model.platform_port(port.port, None)
        lanes = LANES
    else:
        block, port_mode = mode
        chip_port = view.model.platform_port(port.port, port_mode)
        lanes = block.lanes(port_mode)
    return {
        "logicalID": chip_port.number,
        "name": port.port,
        "description": link.description,
        "state": ENABLED if link.is_up else DISABLED,
        "speed": port.speed_gbps * 1000,
        "profileID": chip_port.profile(port.port, port.speed_gbps, link.cable.medium, lanes),
        "maxFrameSize": view.fabric.mtu + FRAME_OVERHEAD_BYTES,
        "parserType": PARSE_L4,
        "routable": True,
        "ingressVlan": vlan,
        # The agent looks for these texts within the received LLDP values.
        "expectedLLDPValues": {str(LLDP_PORT): link.peer.port, str(LLDP_SYSTEM_NAME): link.peer.device},
    }


def _headroom_cells(view: SwitchView) -> dict[str, int]:
    """For each side with links the headroom in cells for its longest and fastest link."""
    cells_by_side: dict[str, int] = {}
    cables = dict.fromkeys((link.port.side, link.cable.speed_gbps, link.cable.headroom_m) for link in view.links)
    for side, speed_gbps, length_m in cables:
        cells = headroom_cells(speed_gbps, length_m, view.fabric.mtu)
        cells_by_side[side] = max(cells, cells_by_side.get(side, 0))
    return cells_by_side


def _vlans(view: SwitchView, vlan_of_port: Mapping[str, int]) -> list[dict[str, Any]]:
    """VLANs of several ports, then those of routed ports."""
    vlans = [_vlan(DEFAULT_VLAN, "default", routable=False)]
    if view.device.loopback is not None:
        vlans.append(_vlan(FBOSS_LOOPBACK_VLAN, "loopback", routable=True))
    if view.shares_subnet:
        vlans.append(_vlan(HOST_VLAN, "hosts", routable=True) | _relay(view))
    for port, vlan in vlan_of_port.items():
        if vlan != HOST_VLAN:
            vlans.append(_vlan(vlan, port, routable=True))
    return vlans


def _vlan(number: int, name: str, *, routable: bool) -> dict[str, Any]:
    vlan: dict[str, Any] = {"name": name, "id": number, "recordStats": True, "routable": routable, "ipAddresses": []}
    if routable:
        vlan["intfID"] = number
    return vlan


def _vlan_port(vlan: int, port: int) -> dict[str, Any]:
    return {
        "vlanID": vlan,
        "logicalPort": port,
        "spanningTreeState": STP_FORWARDING,
        "emitTags": False,
        "emitPriorityTags": False,
    }


def _aggregate(bond: SwitchBond, ports: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
    """The ports of a bond, up while one of them is; each port is in the hosts' VLAN by itself."""
    member = {"priority": LACP_PRIORITY, "rate": LACP_RATES[bond.bond.rate], "activity": LACP_ACTIVE}
    return {
        "key": bond.number,
        "name": f"Port-Channel{bond.number}",
        "description": bond.description,
        "memberPorts": [{"memberPortID": ports[port]["logicalID"], **member} for port in bond.ports],
        "minimumCapacity": {"linkCount": 1},
    }


def _interfaces(view: SwitchView, vlan_of_port: Mapping[str, int]) -> list[dict[str, Any]]:
    """The interfaces of all VLANs but the first, in their order."""
    interfaces = []
    if view.device.loopback is not None:
        without_ports = {"isVirtual": True, "isStateSyncDisabled": True}
        interfaces.append(_interface(view, FBOSS_LOOPBACK_VLAN, "loopback", view.origins[0].text) | without_ports)
    subnet = view.host_subnet
    if subnet is not None and subnet.gateway is not None:
        address = f"{format_address(subnet.gateway, view.version)}/{subnet.prefix_length}"
        interfaces.append(_interface(view, HOST_VLAN, "hosts", address) | _relay(view) | _advertised(view))
    for link in view.links:
        if link.is_routed:
            address = f"{link.address}/{link.port.prefix_length}"
            interfaces.append(_interface(view, vlan_of_port[link.port.port], link.port.port, address))
    return interfaces


def _interface(view: SwitchView, vlan: int, name: str, address: str) -> dict[str, Any]:
    return {
        "intfID": vlan,
        "routerID": 0,
        "vlanID": vlan,
        "name": name,
        "ipAddresses": [address],
        "mtu": view.fabric.mtu,
    }


def _relay(view: SwitchView) -> dict[str, str]:
    """The agent's one DHCP server; depending on its mode it reads that of the VLAN or of the interface."""
    return {} if view.relay is None else {f"dhcpRelayAddressV{view.version}": view.relay}


def _advertised(view: SwitchView) -> dict[str, Any]:
    """Router advertisements for hosts with DHCPv6, which itself cannot announce a router."""
    if view.relay is None or view.version == 4:
        return {}
    return {"ndp": {"routerAdvertisementSeconds": ADVERTISED_S, "routerAdvertisementManagedBit": True}}


def _switch_settings(view: SwitchView) -> dict[str, Any]:
    """One chip for the whole switch; nothing for a chip without a number in FBOSS."""
    asic = ASIC_TYPES.get(view.model.asic or "")
    if asic is None:
        return {}
    info = {
        "switchType": SWITCH_NPU,
        "asicType": asic,
        "switchIndex": 0,
        "portIdRange": {"minimum": 0, "maximum": PORT_ID_MAXIMUM},
        "systemPortRanges": {"systemPortRanges": []},
    }
    return {"switchIdToSwitchInfo": {"0": info}}
