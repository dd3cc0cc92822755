"""Reading a switch's ports and its choice among paths from agent.conf.

It is read once for all files of a shape; each file adds its addresses, and the far ends of its ports.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from itertools import chain, product
from typing import NamedTuple

from clusterwright.facts.reader import IN
from clusterwright.facts.router import (
    Aggregate,
    HashFunction,
    HeadroomPool,
    Mark,
    Port,
    PortQos,
    Prefix,
    QosMap,
    network_of,
    packed,
    prefix_of,
)
from clusterwright.switches.fboss.reader.classes import headroom_pools, port_qos, qos_map
from clusterwright.switches.fboss.reader.document import FileInParts, FileShape, Json

ENABLED, _FORWARDING = 2, 2  # PortState, SpanningTreeState
_LACP_ACTIVE, _LACP_FAST = 1, 1
_DEFAULT_MTU = 1500  # of an interface without one, in bytes
_ECMP, _UDP_HEADER, _UDP_HEADER_BYTES = 1, 3, 8
_FRAME_OVERHEAD_BYTES = 22  # Ethernet's header, a VLAN tag and the checksum
# PortProfileID: Gb/s, error correction and lanes, by its name in switch_config.thrift
_RS, _FC, _NO = "reed-solomon", "fire-code", "none"
_PROFILES = {
    4: (25.0, _NO, 1),
    62: (25.0, _RS, 1),
    **dict.fromkeys((11, 12), (10.0, _NO, 1)),
    **dict.fromkeys((14, 30), (25.0, _NO, 1)),
    15: (25.0, _FC, 1),
    16: (25.0, _RS, 1),
    **dict.fromkeys((19, 31), (50.0, _NO, 2)),
    20: (50.0, _FC, 2),
    **dict.fromkeys((21, 48), (50.0, _RS, 2)),
    **dict.fromkeys((43, 44), (50.0, _RS, 1)),
    **dict.fromkeys((22, 23, 27, 28), (100.0, _RS, 4)),
    **dict.fromkeys((40, 46), (100.0, _RS, 2)),
    47: (100.0, _RS, 1),
    32: (100.0, _NO, 4),
    49: (100.0, _NO, 1),
    **dict.fromkeys((24, 25), (200.0, _RS, 4)),
    **dict.fromkeys((26, 35), (400.0, _RS, 8)),
    **dict.fromkeys((38, 45), (400.0, _RS, 4)),
    39: (800.0, _RS, 8),
}
# HashingAlgorithm
_ALGORITHMS = {1: "CRC-16-CCITT", 3: "CRC-32, low half", 4: "CRC-32, high half", 9: "CRC"}
_ACL_DENY = 0  # AclActionType
# PacketRxReason: SAI makes a trap for those alone that rxReasonToQueueOrderedList has.
_ARP, _DHCP, _CPU_IS_NHOP, _NDP, _ARP_RESPONSE, _BGP, _BGPV6, _LACP, _DHCPV6 = 1, 2, 7, 8, 10, 11, 12, 13, 17
_OF_SESSIONS = {4: {_ARP, _ARP_RESPONSE, _BGP, _CPU_IS_NHOP}, 6: {_NDP, _BGPV6, _CPU_IS_NHOP}}
_OF_RELAYS = {4: _DHCP, 6: _DHCPV6}


class _OwnAddress(NamedTuple):
    """An address, or a blank, with the settings of its interface."""

    vlan: int
    text: str
    mtu_bytes: int


class _Subnet(NamedTuple):
    """An address, or a blank, with the IP versions of its settings."""

    text: str
    versions: frozenset[int]


class _PortRow(NamedTuple):
    """A port in service without its address; ``peer`` may be a blank.

    ``vlan`` is 0 without one; ``is_alone``: no other port is in it. ``longest`` is the largest packet in bytes.
    """

    name: str
    start: Mark
    vlan: int
    is_alone: bool
    speed_gbps: float
    peer: str
    qos: PortQos
    longest: int
    fec: str
    lanes: int
    filtered: tuple[str, ...]
    aggregate: Aggregate | None


class Agent(NamedTuple):
    """The common content of all agent.conf of a shape; addresses may be blanks."""

    interfaces: tuple[_OwnAddress, ...]
    ports: tuple[_PortRow, ...]
    default: int | None
    qos: QosMap | None
    spreads_by: str | None
    hash_function: HashFunction | None
    pools: tuple[HeadroomPool, ...]
    advertised: tuple[_Subnet, ...]
    relayed: tuple[_Subnet, ...]
    sessions: frozenset[int]
    """IP versions with all traps that BGP needs."""


@lru_cache(maxsize=256)
def agent_of(shape: FileShape) -> Agent:
    """The content of files of a shape.

    Raises ValueError, KeyError, TypeError, AttributeError or IndexError for anything but an agent.conf.
    """
    switch = shape.outline["sw"]
    trapped = frozenset(_trapped(switch))

    def relays(interface: Json, vlan: Json, version: int) -> bool:
        return _OF_RELAYS[version] in trapped and _is_relayed(interface, vlan, version)

    return Agent(
        interfaces=tuple(_interfaces(switch)),
        ports=tuple(_port_rows(switch, has_lacp=_LACP in trapped)),
        default=switch.get("defaultVlan"),
        qos=qos_map(switch),
        spreads_by=_spreads_by(switch),
        hash_function=_hash_function(switch),
        pools=headroom_pools(switch),
        advertised=tuple(_subnets(switch, _is_advertised)),
        relayed=tuple(_subnets(switch, relays)),
        sessions=frozenset(version for version, reasons in _OF_SESSIONS.items() if reasons <= trapped),
    )


def ports_of(agent: Agent, document: FileInParts) -> tuple[tuple[Port, ...], tuple[tuple[Prefix, bytes], ...]]:
    """The ports in service of a file, and the switch's own addresses by subnet. Raises ValueError."""
    words, default = document.words, agent.default
    address_of: dict[int, tuple[bytes, Prefix, str, int]] = {}
    own_addresses: list[tuple[Prefix, bytes]] = []
    vlan_of_network: dict[Prefix, int] = {}
    for vlan, blank, mtu in agent.interfaces:
        text = words[blank]
        address_text, _, bits = text.partition("/")
        own_address = packed(address_text)
        network = network_of(own_address, int(bits))
        # the agent refuses all of a configuration with either of these (ApplyThriftConfig, getInterfaceAddresses)
        if vlan_of_network.setdefault(network, vlan) != vlan:
            raise ValueError(f"{text} is in the subnet of VLANs {vlan_of_network[network]} and {vlan}")
        if (network, own_address) in own_addresses:
            raise ValueError(f"{text} stands twice in VLAN {vlan}")
        own_addresses.append((network, own_address))
        address_of[vlan] = own_address, network, text, mtu
    ports = []
    for name, start, vlan, is_alone, speed_gbps, peer, qos, longest, fec, lanes, filtered, aggregate in agent.ports:
        address, length, mark, subnet, mtu_bytes = None, 0, start, None, longest
        if vlan in address_of:
            own_address, network, text, mtu = address_of[vlan]
            mtu_bytes = min(mtu, longest)
            if vlan != default:
                subnet = network
                # Ports of one VLAN share its subnet: then the address is the VLAN's, not a port's.
                if is_alone and network[1] >= 8 * len(own_address) - 1:
                    address, length, mark = own_address, network[1], ('"interfaces"', f'"{text}"')
        ports.append(
            Port(
                name=name,
                address=address,
                length=length,
                speed_gbps=speed_gbps,
                peer=words[peer].removeprefix("to "),
                qos=qos,
                mtu_bytes=mtu_bytes,
                fec=fec,
                lanes=lanes,
                mark=mark,
                start=start,
                speed_mark=start,
                qos_mark=start,
                cable_mark=start,
                subnet=subnet,
                filtered=filtered,
                macsec="",
                aggregate=aggregate,
            )
        )
    return tuple(ports), tuple(own_addresses)


def subnets_of(subnets: Iterable[_Subnet], document: FileInParts) -> frozenset[Prefix]:
    """The subnets with a setting, by their IP version. Raises ValueError."""
    prefixes: set[Prefix] = set()
    for subnet in subnets:
        text = document.words[subnet.text]
        version = 6 if ":" in text else 4
        if version in subnet.versions:
            prefixes.add(prefix_of(text))
    return frozenset(prefixes)


def _interfaces(switch: Json) -> Iterator[_OwnAddress]:
    declared = {(row["id"], row.get("intfID")) for row in switch["vlans"]}
    for interface in switch["interfaces"]:
        if (interface["vlanID"], interface.get("intfID")) not in declared or interface.get("routerID"):
            continue
        for text in interface["ipAddresses"]:
            yield _OwnAddress(interface["vlanID"], text, interface.get("mtu", _DEFAULT_MTU))


def _trapped(switch: Json) -> Iterator[int]:
    """The reasons for packets to the processor."""
    for row in switch.get("cpuTrafficPolicy", {}).get("rxReasonToQueueOrderedList", ()):
        yield row["rxReason"]


def _port_rows(switch: Json, *, has_lacp: bool) -> Iterator[_PortRow]:
    """Ports in service; members of an aggregate are none if LACP's packets do not reach the processor."""
    vlan_of: dict[int, int] = {}
    for row in switch["vlanPorts"]:
        if row["spanningTreeState"] == _FORWARDING and not row.get("emitTags"):
            vlan_of[row["logicalPort"]] = row["vlanID"]
    members = Counter(vlan_of.values())
    denied = frozenset(_denied(switch))
    qos_of = port_qos(switch)
    aggregate_of = dict(_aggregates(switch))
    for row in switch["ports"]:
        if row["state"] != ENABLED or (row["logicalID"] in aggregate_of and not has_lacp):
            continue
        vlan = vlan_of.get(row["logicalID"], 0)
        if row.get("ingressVlan") != vlan or not row.get("routable"):
            vlan = 0
        speed_gbps, fec, lanes = _PROFILES.get(row["profileID"], (0.0, "", 0))
        if speed_gbps * 1000 != row["speed"]:
            raise ValueError(f"{row['name']} cannot run at {row['speed']} Mb/s with profile {row['profileID']}")
        name = row["name"]
        yield _PortRow(
            name=name,
            start=(f'"name": "{name}", "description"',),
            vlan=vlan,
            is_alone=members[vlan] == 1,
            speed_gbps=speed_gbps,
            peer=row.get("description", ""),
            qos=qos_of(row),
            longest=row.get("maxFrameSize", 0) - _FRAME_OVERHEAD_BYTES,
            fec=fec,
            lanes=lanes,
            filtered=_filtered(denied, row["logicalID"], row.get("ingressVlan")),
            aggregate=aggregate_of.get(row["logicalID"]),
        )


def _aggregates(switch: Json) -> Iterator[tuple[int, Aggregate]]:
    """The aggregate of each port, by its number; FBOSS's agent defaults to active and fast LACP."""
    for row in switch.get("aggregatePorts", ()):
        for member in row["memberPorts"]:
            mode = "active" if member.get("activity", _LACP_ACTIVE) == _LACP_ACTIVE else "passive"
            rate = "fast" if member.get("rate", _LACP_FAST) == _LACP_FAST else "slow"
            mark = ('"aggregatePorts"', f'"name": "{row["name"]}"', f'"memberPortID": {member["memberPortID"]}')
            yield member["memberPortID"], Aggregate(name=row["name"], mode=mode, rate=rate, mark=mark)


def _subnets(switch: Json, holds: Callable[[Json, Json, int], bool]) -> Iterator[_Subnet]:
    """The addresses of interfaces with a setting for IPv4 or IPv6, with their VLAN."""
    vlans = {row["id"]: row for row in switch["vlans"]}
    for interface in switch["interfaces"]:
        vlan = vlans.get(interface["vlanID"], {})
        versions = frozenset(version for version in (4, 6) if holds(interface, vlan, version))
        if not versions:
            continue
        for text in interface["ipAddresses"]:
            yield _Subnet(text, versions)


def _is_advertised(interface: Json, _: Json, version: int) -> bool:
    ndp = interface.get("ndp", {})
    lives = ndp.get("routerLifetime", 1) > 0 and ndp.get("routerAdvertisementSeconds", 0) > 0
    return version == 6 and lives and bool(ndp.get("routerAdvertisementManagedBit"))


def _is_relayed(interface: Json, vlan: Json, version: int) -> bool:
    key = f"dhcpRelayAddressV{version}"
    return bool(interface.get(key)) and bool(vlan.get(key))


def _denied(switch: Json) -> Iterator[tuple[int | None, int | None]]:
    """Port and VLAN matched by denying entries, None for any."""
    tables = switch.get("aclTableGroup", {}).get("aclTables", ())
    for entry in chain(switch.get("acls", ()), *(table["aclEntries"] for table in tables)):
        if entry["actionType"] == _ACL_DENY:
            yield entry.get("srcPort"), entry.get("vlanID")


def _filtered(denied: frozenset[tuple[int | None, int | None]], port: int, vlan: int | None) -> tuple[str, ...]:
    """The directions of a port with a denial."""
    is_filtered = any(pair in denied for pair in product((port, None), (vlan, None)))
    return (IN,) if is_filtered else ()


def _hash_function(switch: Json) -> HashFunction | None:
    """How ECMP's hash begins; without a seed the agent makes one of the switch's MAC address."""
    balancer = next((row for row in switch.get("loadBalancers", ()) if row["id"] == _ECMP), None)
    if balancer is None or balancer.get("seed") is None:
        return None
    number = balancer["algorithm"]
    return HashFunction(_ALGORITHMS.get(number, f"FBOSS's algorithm {number}"), int(balancer["seed"]))


def _spreads_by(switch: Json) -> str | None:
    """Inputs of ECMP's hash beyond addresses and ports."""
    balancer = next((kind for kind in switch.get("loadBalancers", ()) if kind["id"] == _ECMP), None)
    if balancer is None:
        return None
    fields, udf = balancer["fieldSelection"], switch.get("udfConfig", {})
    if not all({1, 2} <= set(fields.get(kind, ())) for kind in ("ipv4Fields", "ipv6Fields", "transportFields")):
        return "less than addresses and ports"
    matchers = udf.get("udfPacketMatcher", {})
    for name in fields.get("udfGroups", ()):
        group = udf.get("udfGroups", {}).get(name)
        if group is None or group["header"] != _UDP_HEADER:
            continue
        ports = {matchers.get(kind, {}).get("UdfL4DstPort") for kind in group["udfPacketMatcherIds"]}
        first = group["startOffsetInBytes"] - _UDP_HEADER_BYTES
        last = first + group["fieldSizeInBytes"] - 1
        return f"bytes {first} to {last} of UDP's payload to port {', '.join(map(str, ports))}"
    return "addresses and ports alone"
