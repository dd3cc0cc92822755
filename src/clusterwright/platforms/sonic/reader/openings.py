"""What SONiC's config_db.json says beside its tables that takes packets around them.

Names are those of sonic-buildimage's yang models.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from clusterwright.platforms.reader import Fault, Planned
from clusterwright.platforms.sonic.reader.configuration import PATH
from clusterwright.platforms.unread import Unread

_ELSEWHERE = "takes packets past the tables of their ports"
_COPIES = "sends copies of packets elsewhere"
_AROUND = (
    "VXLAN_TUNNEL VXLAN_TUNNEL_MAP VXLAN_EVPN_NVO VNET TUNNEL NAT_GLOBAL NAT_POOL NAT_BINDINGS STATIC_NAT STATIC_NAPT "
    "DHCP_RELAY DHCPV4_RELAY DHCP_SERVER_IPV4 PBR PBR_TABLE PBR_RULE MUX_CABLE MCLAG_DOMAIN VLAN_SUB_INTERFACE "
    "OSPFV2_ROUTER STATIC_MPLS"
)
_OPEN = {
    "MIRROR_SESSION": _COPIES,
    "SFLOW_COLLECTOR": _COPIES,
    "SNMP_COMMUNITY": "lets whoever knows a word read the switch",
    "BGP_PEER_RANGE": "takes a session with whoever asks",
    "BGP_GLOBALS_LISTEN_PREFIX": "takes a session with whoever asks",
    "PORTCHANNEL_MEMBER": "makes a port part of another one, whose tables count",
    **dict.fromkeys(_AROUND.split(), _ELSEWHERE),
}
_KNOWN = (
    "AAA ACL_RULE ACL_TABLE ACL_TABLE_TYPE BANNER_MESSAGE BGP_DEVICE_GLOBAL BGP_GLOBALS BGP_GLOBALS_AF "
    "BGP_GLOBALS_AF_NETWORK BGP_NEIGHBOR BGP_NEIGHBOR_AF BGP_PEER_GROUP BGP_PEER_GROUP_AF BREAKOUT_CFG BUFFER_PG "
    "BUFFER_POOL BUFFER_PROFILE BUFFER_QUEUE BUFFER_PORT_INGRESS_PROFILE_LIST BUFFER_PORT_EGRESS_PROFILE_LIST "
    "CABLE_LENGTH COMMUNITY_SET CRM DEVICE_METADATA DEVICE_NEIGHBOR DEVICE_NEIGHBOR_METADATA DNS_NAMESERVER "
    "DNS_OPTIONS DSCP_TO_TC_MAP FEATURE FLEX_COUNTER_TABLE GNMI GNMI_CLIENT_CERT INTERFACE KDUMP LLDP LOGGER "
    "LOOPBACK_INTERFACE MAP_PFC_PRIORITY_TO_QUEUE MGMT_INTERFACE MGMT_PORT MGMT_VRF_CONFIG NTP NTP_SERVER "
    "PASSW_HARDENING PFC_PRIORITY_TO_PRIORITY_GROUP_MAP PFC_WD PORT PORT_QOS_MAP PREFIX PREFIX_SET QUEUE ROUTE_MAP "
    "ROUTE_MAP_SET SCHEDULER SERIAL_CONSOLE SNMP SNMP_AGENT_ADDRESS_CONFIG SNMP_USER SSH_SERVER STATIC_ROUTE "
    "SWITCH_HASH SYSLOG_CONFIG SYSLOG_SERVER TACPLUS TACPLUS_SERVER TC_TO_DSCP_MAP TC_TO_PRIORITY_GROUP_MAP "
    "TC_TO_QUEUE_MAP TELEMETRY VLAN VLAN_INTERFACE VLAN_MEMBER VERSIONS WRED_PROFILE"
)
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
    if declared is not None:
        yield from _unplanned(text, document, device, declared)


def _unplanned(text: str, document: Mapping[str, Json], device: str, declared: Planned) -> Iterator[Fault]:
    """Ports, addresses and sessions that the plan does not know."""
    planned = declared.linked.get(device, frozenset())
    for port, fields in document.get("PORT", {}).items():
        if fields.get("admin_status") == "up" and port not in planned:
            yield text.find(f'"{port}"'), f"{port} is in service, and the plan has no cable there"
    for table in ("INTERFACE", "VLAN_INTERFACE", "LOOPBACK_INTERFACE", "MGMT_INTERFACE"):
        for key in document.get(table, {}):
            port, bar, own = key.partition("|")
            if bar and not declared.knows(own):
                yield text.find(f'"{key}"'), f"{port} has the address {own}, which is on no planned network"
    for key in document.get("BGP_NEIGHBOR", {}):
        peer = key.rpartition("|")[2]
        if (":" in peer or "." in peer) and not declared.knows(peer):
            yield text.find(f'"{key}"'), f"a BGP session with {peer}, which is on no planned link"


def unread(text: str) -> tuple[Unread, ...]:
    """Tables of a config_db.json of which nothing here knows what they do."""
    return tuple(
        Unread(PATH, text.count("\n", 0, text.find(f'"{name}"')) + 1, name)
        for name in sorted(json.loads(text).keys() - set(_KNOWN.split()) - _OPEN.keys())
    )
