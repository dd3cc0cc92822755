"""The FBOSS agent's configuration (AgentConfig in fboss/agent/agent_config.thrift) as plain data.

Every routed port gets a VLAN and an interface of its own, as FBOSS wants it on chips of the Tomahawk family; hosts that
share a subnet share one VLAN. Ports without a cable are left out: on these platforms the agent adds and removes ports
as listed (SaiPlatform.h, supportsAddRemovePort), and one that is not listed has no link. ``platform`` is the vendor's,
word for word, where the spec names its file (``chip_settings``): lane maps and SDK settings, which nothing in a plan
decides. Without it ``platform.chip`` is empty, and the agent does not start (SaiBcmPlatform::getHwConfig).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from clusterwright.intent.headroom import divide_pool, headroom_cells
from clusterwright.intent.per_plan import per_plan
from clusterwright.intent.switch import in_port_order
from clusterwright.intent.traffic_classes import traffic_classes
from clusterwright.plan.model import format_address
from clusterwright.plan.own_addresses import FBOSS_LOOPBACK_VLAN, HOST_VLAN
from clusterwright.plan.ports import LANES
from clusterwright.switches.fboss.writer import classes as fboss_classes
from clusterwright.switches.fboss.writer.filters import COMMAND_LINE
from clusterwright.text.json_lines import Filled, Form
from clusterwright.text.places import PLACE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from clusterwright.intent.switch import SwitchView
    from clusterwright.intent.switch_links import Link
    from clusterwright.plan.model import Plan
    from clusterwright.switches.fboss.writer.filters import FbossFilters, Tables

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


def agent_config(
    plan: Plan, view: SwitchView, filters: FbossFilters | None, flags: Mapping[str, str]
) -> dict[str, Any]:
    """The AgentConfig of one switch, with the agent's command-line ``flags``.

    Raises PlatformPortError for a port or speed that the platform does not have.
    """
    return {
        "defaultCommandLineArgs": {**flags, **({} if filters is None else COMMAND_LINE)},
        "sw": _switch_config(plan, view, filters),
        "platform": {"chip": {}} if view.platform is None else view.platform,
        "thriftApiToRateLimitInQps": {},
    }


def _switch_config(plan: Plan, view: SwitchView, filters: FbossFilters | None) -> Filled:
    shape = _shape(view, filters)
    known = _known(plan, view.device.fabric, view.device.tier, view.device.model)
    alike = known.get(shape)
    if alike is None:
        alike = known[shape] = _AgentForm(Form(_of_shape(view, shape)), _port_order(shape))
    return alike.form.fill(
        view.device.name,
        *_far_ends(view.links[at] for at in alike.order),
        *(bond.description for bond in view.bonds),
        *_addresses(view),
        *(origin.text for origin in view.origins if not origin.is_connected),
        *(() if filters is None else filters.sources),
    )


def _of_shape(view: SwitchView, shape: _AgentShape) -> dict[str, Any]:
    """With places for the name, for what fills ports, aggregate ports, interfaces, discards and tables.

    Of ``view`` nothing is read but what its whole tier has.
    """
    classes = traffic_classes(view.fabric)
    buffer = view.model.buffer
    lossless = sum(item.is_lossless for item in classes)
    is_lossless = buffer is not None and lossless > 0
    ports = {port.name: _port(view, port) for port in shape.ports}
    config: dict[str, Any] = {
        "version": 0,
        "hostname": PLACE,
        "ports": sorted(ports.values(), key=lambda port: in_port_order(port["name"])),
        "vlans": _vlans(view, shape),
        "vlanPorts": [_vlan_port(port.vlan, ports[port.name]["logicalID"]) for port in shape.ports],
        **({"aggregatePorts": [_aggregate(bond, ports) for bond in shape.bonds]} if shape.bonds else {}),
        "defaultVlan": DEFAULT_VLAN,
        "interfaces": _interfaces(view, shape),
        "staticRoutesToNull": [{"routerID": 0, "prefix": PLACE}] * shape.discards,
        "cpuQueues": fboss_classes.cpu_queues(),
        "cpuTrafficPolicy": {"rxReasonToQueueOrderedList": fboss_classes.cpu_traps(_purposes(shape))},
        "loadBalancers": fboss_classes.load_balancers(view.hashing),
        "switchSettings": _switch_settings(view),
    }
    if classes:
        name = view.fabric.name
        config["qosPolicies"] = [fboss_classes.qos_policy(name, classes)]
        config["dataPlaneTrafficPolicy"] = {"matchToAction": [], "defaultQosPolicy": name}
        config["portQueueConfigs"] = {name: fboss_classes.port_queues(classes)}
    if shape.tables is not None:
        policy = config.get("dataPlaneTrafficPolicy", {})
        config["dataPlaneTrafficPolicy"] = policy | {"matchToAction": shape.tables.actions}
        config["trafficCounters"] = shape.tables.counters
        config["aclTableGroup"] = shape.tables.group
    if buffer is not None and is_lossless:
        cells = dict(shape.headroom_cells)
        promised = lossless * sum(cells[port.side] for port in shape.ports)
        config["portPgConfigs"] = fboss_classes.priority_groups(classes, buffer.cell_bytes, cells)
        config["bufferPoolConfigs"] = fboss_classes.buffer_pools(divide_pool(buffer, promised), buffer.cell_bytes)
    if view.hashing.queue_pairs:
        config["udfConfig"] = fboss_classes.queue_pair_udf()
    return config


def _purposes(shape: _AgentShape) -> tuple[str, ...]:
    """What this file relies on traps to the processor for, by the words of the system's list of services."""
    relays = ("relays",) if shape.relay is not None else ()
    return ("sessions", "bonds", "neighbours", *relays)


class _AgentPort(NamedTuple):
    """What a port's lines depend on beside the texts that fill them, and beside the switch's tier and model."""

    name: str
    side: str
    speed_gbps: int
    medium: str
    is_up: bool
    vlan: int


class _AgentBond(NamedTuple):
    """The same of a port channel."""

    number: int
    rate: str
    ports: tuple[str, ...]


class _AgentShape(NamedTuple):
    """What a switch's whole document depends on beside these texts, and beside its tier and model.

    ``headroom_cells`` are those of each side, ``discards`` how many prefixes have a discard route.
    """

    ports: tuple[_AgentPort, ...]
    bonds: tuple[_AgentBond, ...]
    has_loopback: bool
    shares_subnet: bool
    relay: str | None
    headroom_cells: tuple[tuple[str, int], ...]
    discards: int
    tables: Tables | None


class _AgentForm(NamedTuple):
    """The document of switches of one shape, and the order of their links by port."""

    form: Form
    order: tuple[int, ...]


def _shape(view: SwitchView, filters: FbossFilters | None) -> _AgentShape:
    return _AgentShape(
        ports=tuple(
            _AgentPort(
                link.port.port,
                link.port.side,
                link.port.speed_gbps,
                link.cable.medium,
                link.is_up,
                FIRST_PORT_VLAN + index if link.is_routed else HOST_VLAN,
            )
            for index, link in enumerate(view.links)
        ),
        bonds=tuple(_AgentBond(bond.number, bond.bond.rate, bond.ports) for bond in view.bonds),
        has_loopback=view.device.loopback is not None,
        shares_subnet=view.shares_subnet,
        relay=view.relay,
        headroom_cells=tuple(_headroom_cells(view).items()),
        discards=sum(not origin.is_connected for origin in view.origins),
        tables=None if filters is None else filters.tables,
    )


@per_plan
def _known(plan: Plan, fabric: str, tier: int, model: str) -> dict[_AgentShape, _AgentForm]:
    return {}


def _port_order(shape: _AgentShape) -> tuple[int, ...]:
    return tuple(sorted(range(len(shape.ports)), key=lambda at: in_port_order(shape.ports[at].name)))


def _port(view: SwitchView, port: _AgentPort) -> dict[str, Any]:
    found = view.mode_of(port.side, port.name, port.speed_gbps)
    chip_port = view.model.platform_port(port.name, None if found is None else found[1])
    lanes = LANES if found is None else found[0].lanes(found[1])
    classes = traffic_classes(view.fabric)
    entry: dict[str, Any] = {
        "logicalID": chip_port.number,
        "name": port.name,
        "description": PLACE,
        "state": ENABLED if port.is_up else DISABLED,
        "speed": port.speed_gbps * 1000,
        "profileID": chip_port.profile(port.name, port.speed_gbps, port.medium, lanes),
        "maxFrameSize": view.fabric.mtu + FRAME_OVERHEAD_BYTES,
        "parserType": PARSE_L4,
        "routable": True,
        "ingressVlan": port.vlan,
        # What LLDP should report; the agent looks for these texts within what it hears.
        "expectedLLDPValues": {str(LLDP_PORT): PLACE, str(LLDP_SYSTEM_NAME): PLACE},
    }
    if classes:
        entry["portQueueConfigName"] = view.fabric.name
    if view.model.buffer is not None and any(item.is_lossless for item in classes):
        entry["pfc"] = fboss_classes.port_pfc(port.side, view.fabric.pfc_watchdog)
    return entry


def _far_ends(links: Iterable[Link]) -> Iterator[str]:
    """What fills the places of ports, in their order."""
    for link in links:
        yield link.description
        yield link.peer.port
        yield link.peer.device


def _headroom_cells(view: SwitchView) -> dict[str, int]:
    """For each side with links the headroom in cells that its longest and fastest link needs."""
    found: dict[str, int] = {}
    links = dict.fromkeys((link.port.side, link.cable.speed_gbps, link.cable.headroom_m) for link in view.links)
    for side, speed_gbps, length_m in links:
        found[side] = max(headroom_cells(speed_gbps, length_m, view.fabric.mtu), found.get(side, 0))
    return found


def _vlans(view: SwitchView, shape: _AgentShape) -> list[dict[str, Any]]:
    """Those that are not of one port, then those of routed ports."""
    found = [_vlan(DEFAULT_VLAN, "default", routable=False)]
    if shape.has_loopback:
        found.append(_vlan(FBOSS_LOOPBACK_VLAN, "loopback", routable=True))
    if shape.shares_subnet:
        found.append(_vlan(HOST_VLAN, "hosts", routable=True) | _relay(view, shape))
    return found + [_vlan(port.vlan, port.name, routable=True) for port in shape.ports if port.vlan != HOST_VLAN]


def _vlan(number: int, name: str, *, routable: bool) -> dict[str, Any]:
    vlan: dict[str, Any] = {"name": name, "id": number, "recordStats": True, "routable": routable, "ipAddresses": []}
    return vlan | {"intfID": number} if routable else vlan


def _vlan_port(vlan: int, port: int) -> dict[str, Any]:
    tags = {"emitTags": False, "emitPriorityTags": False}
    return {"vlanID": vlan, "logicalPort": port, "spanningTreeState": STP_FORWARDING} | tags


def _aggregate(bond: _AgentBond, ports: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
    """Ports that LACP makes one link, which is there while one of them is; each is in the hosts' VLAN by itself."""
    member = {"priority": LACP_PRIORITY, "rate": LACP_RATES[bond.rate], "activity": LACP_ACTIVE}
    return {
        "key": bond.number,
        "name": f"Port-Channel{bond.number}",
        "description": PLACE,
        "memberPorts": [{"memberPortID": ports[port]["logicalID"], **member} for port in bond.ports],
        "minimumCapacity": {"linkCount": 1},
    }


def _interfaces(view: SwitchView, shape: _AgentShape) -> list[dict[str, Any]]:
    """Those of the VLANs but the first one, in their order."""
    mtu = view.fabric.mtu
    found = []
    if shape.has_loopback:
        alone = {"isVirtual": True, "isStateSyncDisabled": True}
        found.append(_interface(FBOSS_LOOPBACK_VLAN, "loopback", mtu) | alone)
    if shape.shares_subnet:
        found.append(_interface(HOST_VLAN, "hosts", mtu) | _relay(view, shape) | _advertised(view, shape))
    return found + [_interface(port.vlan, port.name, mtu) for port in shape.ports if port.vlan != HOST_VLAN]


def _addresses(view: SwitchView) -> Iterator[str]:
    """What fills the places of interfaces, in their order."""
    if view.device.loopback is not None:
        yield view.origins[0].text
    subnet = view.host_subnet
    if subnet is not None and subnet.gateway is not None:
        yield f"{format_address(subnet.gateway, view.version)}/{subnet.prefix_length}"
    for link in view.links:
        if link.address is not None:
            yield f"{link.address}/{link.port.prefix_length}"


def _relay(view: SwitchView, shape: _AgentShape) -> dict[str, str]:
    """Where the agent sends DHCP requests; it reads the VLAN's or the interface's, by how it runs. One address only."""
    return {} if shape.relay is None else {f"dhcpRelayAddressV{view.version}": shape.relay}


def _advertised(view: SwitchView, shape: _AgentShape) -> dict[str, Any]:
    """DHCPv6 tells no host its router: router advertisements do, and say by their managed bit that DHCPv6 is there."""
    if shape.relay is None or view.version == 4:
        return {}
    return {"ndp": {"routerAdvertisementSeconds": ADVERTISED_S, "routerAdvertisementManagedBit": True}}


def _interface(vlan: int, name: str, mtu: int) -> dict[str, Any]:
    return {"intfID": vlan, "routerID": 0, "vlanID": vlan, "name": name, "ipAddresses": [PLACE], "mtu": mtu}


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
