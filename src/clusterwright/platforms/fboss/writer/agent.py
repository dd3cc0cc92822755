"""The FBOSS agent's configuration (AgentConfig in fboss/agent/agent_config.thrift) as plain data.

Every routed port gets a VLAN and an interface of its own, as FBOSS wants it on chips of the Tomahawk family; hosts that
share a subnet share one VLAN. Ports without a cable are left out: on these platforms the agent adds and removes ports
as listed (SaiPlatform.h, supportsAddRemovePort), and one that is not listed has no link. ``platform`` is the vendor's,
word for word, where the spec names its file (``chip_settings``): lane maps and SDK settings, which nothing in a plan
decides. Without it ``platform.chip`` is empty, and the agent does not start (SaiBcmPlatform::getHwConfig).
"""

from __future__ import annotations

from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

from clusterwright.intent.headroom import divide_pool, headroom_cells
from clusterwright.intent.switch import in_port_order
from clusterwright.intent.traffic_classes import traffic_classes
from clusterwright.plan.model import format_address
from clusterwright.plan.own_addresses import FBOSS_LOOPBACK_VLAN, HOST_VLAN
from clusterwright.plan.ports import LANES
from clusterwright.platforms.fboss.writer import classes as fboss_classes
from clusterwright.platforms.fboss.writer.filters import COMMAND_LINE
from clusterwright.platforms.json_lines import Encoded, encode

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from clusterwright.intent.switch import SwitchView
    from clusterwright.intent.switch_links import Link, SwitchBond
    from clusterwright.intent.traffic_classes import NumberedClass
    from clusterwright.platforms.fboss.writer.filters import FbossFilters
    from clusterwright.spec.hardware.platform_ports import PlatformPort

DEFAULT_VLAN = 1
FIRST_PORT_VLAN = 2000
# Ethernet header, VLAN tag and checksum around an IP packet.
FRAME_OVERHEAD_BYTES = 22

DISABLED, ENABLED = 1, 2
ADVERTISED_S = 60  # a router that advertises itself is good for 1,800 s (NdpConfig.routerLifetime)
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
    return {
        "defaultCommandLineArgs": {**flags, **({} if filters is None else COMMAND_LINE)},
        "sw": _switch_config(view, filters),
        "platform": {"chip": {}} if view.platform is None else dict(view.platform),
        "thriftApiToRateLimitInQps": {},
    }


def _switch_config(view: SwitchView, filters: FbossFilters | None) -> dict[str, Any]:
    classes = traffic_classes(view.fabric)
    buffer = view.model.buffer
    lossless = sum(item.is_lossless for item in classes)
    is_lossless = buffer is not None and lossless > 0
    vlans = _link_vlans(view)
    ports = [view.platform_port(link.port) for link in view.links]
    discards = [{"routerID": 0, "prefix": origin.text} for origin in view.origins if not origin.is_connected]
    config: dict[str, Any] = {
        "version": 0,
        "hostname": view.device.name,
        "ports": _ports(view, vlans, ports, classes, is_lossless=is_lossless),
        "vlans": _vlans(view, vlans),
        "vlanPorts": [_vlan_port(vlan, port.number) for vlan, port in zip(vlans, ports, strict=True)],
        **({"aggregatePorts": list(map(partial(_aggregate, view), view.bonds))} if view.bonds else {}),
        "defaultVlan": DEFAULT_VLAN,
        "interfaces": _interfaces(view, vlans),
        "staticRoutesToNull": discards,
        "cpuQueues": fboss_classes.cpu_queues(),
        "cpuTrafficPolicy": {"rxReasonToQueueOrderedList": fboss_classes.cpu_traps()},
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
        config["trafficCounters"] = list(filters.counters)
        config["aclTableGroup"] = filters.group
    if buffer is not None and is_lossless:
        cells = _headroom_cells(view)
        promised = lossless * sum(cells[link.port.side] for link in view.links)
        config["portPgConfigs"] = fboss_classes.priority_groups(classes, buffer.cell_bytes, cells)
        config["bufferPoolConfigs"] = fboss_classes.buffer_pools(divide_pool(buffer, promised), buffer.cell_bytes)
    if view.hashing.queue_pairs:
        config["udfConfig"] = fboss_classes.queue_pair_udf()
    return config


def _link_vlans(view: SwitchView) -> tuple[int, ...]:
    """The VLAN of every link, in the order of the links."""
    return tuple(FIRST_PORT_VLAN + index if link.is_routed else HOST_VLAN for index, link in enumerate(view.links))


def _ports(
    view: SwitchView,
    vlans: tuple[int, ...],
    ports: Sequence[PlatformPort],
    classes: tuple[NumberedClass, ...],
    *,
    is_lossless: bool,
) -> list[dict[str, Any]]:
    entries = []
    for link, vlan, port in zip(view.links, vlans, ports, strict=True):
        name = link.port.port
        found = view.mode_of(link.port.side, name, link.port.speed_gbps)
        lanes = LANES if found is None else found[0].lanes(found[1])
        entry: dict[str, Any] = {
            "logicalID": port.number,
            "name": name,
            "description": link.description,
            "state": ENABLED if link.is_up else DISABLED,
            "speed": link.port.speed_gbps * 1000,
            "profileID": port.profile(name, link.port.speed_gbps, link.cable.medium, lanes),
            "maxFrameSize": view.fabric.mtu + FRAME_OVERHEAD_BYTES,
            "parserType": PARSE_L4,
            "routable": True,
            "ingressVlan": vlan,
            "expectedLLDPValues": _expected_neighbour(link),
        }
        if classes:
            entry["portQueueConfigName"] = view.fabric.name
        if is_lossless:
            entry["pfc"] = fboss_classes.port_pfc(link.port.side, view.fabric.pfc_watchdog)
        entries.append(entry)
    return sorted(entries, key=lambda entry: in_port_order(entry["name"]))


def _headroom_cells(view: SwitchView) -> dict[str, int]:
    """For each side with links the headroom in cells that its longest and fastest link needs."""
    found: dict[str, int] = {}
    for link in view.links:
        cells = headroom_cells(link.cable.speed_gbps, link.cable.length_m, view.fabric.mtu)
        found[link.port.side] = max(cells, found.get(link.port.side, 0))
    return found


def _expected_neighbour(link: Link) -> dict[str, str]:
    """What LLDP should report; the agent looks for these texts within what it hears."""
    return {str(LLDP_PORT): link.peer.port, str(LLDP_SYSTEM_NAME): link.peer.device}


def _vlans(view: SwitchView, vlans: tuple[int, ...]) -> list[dict[str, Any] | Encoded]:
    found: list[dict[str, Any] | Encoded] = [_vlan(DEFAULT_VLAN, "default", routable=False)]
    if view.loopback is not None:
        found.append(_vlan(FBOSS_LOOPBACK_VLAN, "loopback", routable=True))
    if view.shares_subnet:
        found.append(_vlan(HOST_VLAN, "hosts", routable=True) | _relay(view))
    found += [
        _routed_vlan(vlan, link.port.port) for link, vlan in zip(view.links, vlans, strict=True) if link.is_routed
    ]
    return found


def _vlan(number: int, name: str, *, routable: bool) -> dict[str, Any]:
    vlan: dict[str, Any] = {"name": name, "id": number, "recordStats": True, "routable": routable, "ipAddresses": []}
    return vlan | {"intfID": number} if routable else vlan


@lru_cache(maxsize=4096)  # of all switches of a tier the same
def _routed_vlan(number: int, name: str) -> Encoded:
    return Encoded(encode(_vlan(number, name, routable=True)))


@lru_cache(maxsize=4096)
def _vlan_port(vlan: int, port: int) -> Encoded:
    tags = {"emitTags": False, "emitPriorityTags": False}
    return Encoded(encode({"vlanID": vlan, "logicalPort": port, "spanningTreeState": STP_FORWARDING} | tags))


def _aggregate(view: SwitchView, bond: SwitchBond) -> dict[str, Any]:
    """Ports that LACP makes one link, which is there while one of them is; each is in the hosts' VLAN by itself."""
    member = {"priority": LACP_PRIORITY, "rate": LACP_RATES[bond.bond.rate], "activity": LACP_ACTIVE}
    return {
        "key": bond.number,
        "name": f"Port-Channel{bond.number}",
        "description": bond.description,
        "memberPorts": [{"memberPortID": view.platform_port(link.port).number, **member} for link in bond.links],
        "minimumCapacity": {"linkCount": 1},
    }


def _interfaces(view: SwitchView, vlans: tuple[int, ...]) -> list[dict[str, Any]]:
    found = []
    if view.loopback is not None:
        loopback = _interface(FBOSS_LOOPBACK_VLAN, "loopback", view.origins[0].text, view.fabric.mtu)
        found.append(loopback | {"isVirtual": True, "isStateSyncDisabled": True})
    subnet = view.host_subnet
    if subnet is not None and subnet.gateway is not None:
        gateway = f"{format_address(subnet.gateway, view.version)}/{subnet.prefix_length}"
        found.append(_interface(HOST_VLAN, "hosts", gateway, view.fabric.mtu) | _relay(view) | _advertised(view))
    for link, vlan in zip(view.links, vlans, strict=True):
        if link.port.address is not None:
            address = f"{format_address(link.port.address, view.version)}/{link.port.prefix_length}"
            found.append(_interface(vlan, link.port.port, address, view.fabric.mtu))
    return found


def _relay(view: SwitchView) -> dict[str, str]:
    """Where the agent sends DHCP requests; it reads the VLAN's or the interface's, by how it runs. One address only."""
    return {} if view.relay is None else {f"dhcpRelayAddressV{view.version}": view.relay}


def _advertised(view: SwitchView) -> dict[str, Any]:
    """DHCPv6 tells no host its router: router advertisements do, and say by their managed bit that DHCPv6 is there."""
    if view.relay is None or view.version == 4:
        return {}
    return {"ndp": {"routerAdvertisementSeconds": ADVERTISED_S, "routerAdvertisementManagedBit": True}}


def _interface(vlan: int, name: str, address: str, mtu: int) -> dict[str, Any]:
    return {"intfID": vlan, "routerID": 0, "vlanID": vlan, "name": name, "ipAddresses": [address], "mtu": mtu}


def _switch_settings(view: SwitchView) -> dict[str, Any]:
    """One chip that is the whole switch; its type only where FBOSS's number for it is known."""
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
