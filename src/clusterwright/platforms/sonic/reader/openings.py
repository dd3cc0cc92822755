"""What SONiC's config_db.json says beside its tables that takes packets around them.

Names are those of sonic-buildimage's yang models.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from clusterwright.platforms.reader import Fault, Login, Planned, stranger
from clusterwright.platforms.sonic.reader import known
from clusterwright.platforms.unread import Unread
from clusterwright.spec.hardware.platforms import platforms

_ELSEWHERE = "takes packets past the tables of their ports"
_COPIES = "sends copies of packets elsewhere"
_AROUND = (
    "VXLAN_TUNNEL VXLAN_TUNNEL_MAP VXLAN_EVPN_NVO VNET TUNNEL NAT_GLOBAL NAT_POOL NAT_BINDINGS STATIC_NAT STATIC_NAPT "
    "DHCPV4_RELAY DHCP_SERVER_IPV4 PBR PBR_TABLE PBR_RULE MUX_CABLE MCLAG_DOMAIN VLAN_SUB_INTERFACE "
    "OSPFV2_ROUTER STATIC_MPLS"
)
_OPEN = {
    "MIRROR_SESSION": _COPIES,
    "SFLOW_COLLECTOR": _COPIES,
    "SNMP_COMMUNITY": "lets whoever knows a word read the switch",
    "BGP_PEER_RANGE": "takes a session with whoever asks",
    "BGP_GLOBALS_LISTEN_PREFIX": "takes a session with whoever asks",
    **dict.fromkeys(_AROUND.split(), _ELSEWHERE),
}
SYSTEM = "sonic"  # as the catalogue names it
Json = Mapping[str, Any]


def openings(text: str, device: str, declared: Planned | None) -> Iterator[Fault]:
    """Everything in a config_db.json that opens a way beside its tables, with its place in the text."""
    document: Mapping[str, Json] = json.loads(text)
    for name, reason in _OPEN.items():
        if document.get(name):
            yield text.find(f'"{name}"'), f"{name} {reason}"
    for key, fields in document.get("STATIC_ROUTE", {}).items():
        if fields.get("nexthop-vrf"):
            yield text.find(f'"{key}"'), f"the route {key} leaves through another VRF: the two are no longer apart"
    for key, fields in document.get("VLAN_MEMBER", {}).items():
        if fields.get("tagging_mode") != "untagged":
            yield text.find(f'"{key}"'), f"{key}: the port lets hosts choose their VLAN"
    has_vrf = document.get("MGMT_VRF_CONFIG", {}).get("vrf_global", {}).get("mgmtVrfEnabled") == "true"
    if "MGMT_INTERFACE" in document and not has_vrf:
        yield text.find('"MGMT_INTERFACE"'), "the management port is in the default VRF, which joins the two networks"
    yield from _exchanged(text, document)
    if declared is not None:
        yield from _unplanned(text, document, device, declared)
        yield from _relays(text, document, declared)


def _exchanged(text: str, document: Mapping[str, Json]) -> Iterator[Fault]:
    """Ports with lanes of another: what is plugged in there is then not what the plan and the file say."""
    sku = document.get("DEVICE_METADATA", {}).get("localhost", {}).get("hwsku", "")
    machine = platforms().get((SYSTEM, sku))
    owner: dict[str, str] = {}
    for port, fields in document.get("PORT", {}).items():
        lanes = fields.get("lanes", "")
        place = text.find(f'"{port}"', text.find('"PORT"'))
        published = {lanes}  # of a machine that nobody here knows
        if machine is not None:
            published = {",".join(map(str, known.lanes)) for (name, _), known in machine.ports.items() if name == port}
        if lanes not in published:
            yield place, f"{port} has the lanes {lanes}, which are not its own on a {sku}: its cable is elsewhere"
        for lane in lanes.split(","):
            if owner.setdefault(lane, port) != port:
                yield place, f"{port} and {owner[lane]} have the same lane {lane}"
                break


def _unplanned(text: str, document: Mapping[str, Json], device: str, declared: Planned) -> Iterator[Fault]:
    """Ports, addresses and sessions that the plan does not know."""
    planned = declared.linked.get(device, frozenset())
    for port, fields in document.get("PORT", {}).items():
        if fields.get("admin_status") == "up" and port not in planned:
            yield text.find(f'"{port}"'), f"{port} is in service, and the plan has no cable there"
    for table in ("INTERFACE", "PORTCHANNEL_INTERFACE", "VLAN_INTERFACE", "LOOPBACK_INTERFACE", "MGMT_INTERFACE"):
        for key in document.get(table, {}):
            port, bar, own = key.partition("|")
            if bar and (what := declared.misplaced(device, port, own)):
                yield text.find(f'"{key}"'), what
    for key in document.get("BGP_NEIGHBOR", {}):
        peer = key.rpartition("|")[2]
        if (":" in peer or "." in peer) and not declared.knows(peer):
            yield text.find(f'"{key}"'), f"a BGP session with {peer}, which is on no planned link"
    for table in ("TACPLUS_SERVER", "RADIUS_SERVER", "NTP_SERVER", "SYSLOG_SERVER", "DNS_NAMESERVER"):
        for server in document.get(table, {}):
            if what := stranger(server, declared):
                yield text.find(f'"{server}"', text.find(f'"{table}"')), what


def _relays(text: str, document: Mapping[str, Json], declared: Planned) -> Iterator[Fault]:
    """Servers on no planned network that hosts' requests go to."""
    for table, field in (("VLAN", "dhcp_servers"), ("DHCP_RELAY", "dhcpv6_servers")):
        for vlan, fields in document.get(table, {}).items():
            for server in fields.get(field, ()):
                if not declared.knows(server):
                    place = text.find(f'"{server}"', text.find(f'"{table}"'))
                    yield place, f"what hosts of {vlan} ask by DHCP goes to {server}, which is on no planned network"


def snmp_users(path: str, text: str) -> Iterator[Login]:
    """Users of SNMP; accounts are those of the Linux."""
    document: Mapping[str, Json] = json.loads(text)
    for name, own in document.get("SNMP_USER", {}).items():
        is_admin = own.get("SNMP_USER_PERMISSION", "").lower() != "ro"
        yield Login(text.find(f'"{name}"', text.find('"SNMP_USER"')), name, is_snmp=True, is_admin=is_admin)


def unread(text: str) -> tuple[Unread, ...]:
    """Tables, rows and fields of a config_db.json of which nothing here knows what they do."""
    return tuple(known.unread(text, frozenset(_OPEN)))
