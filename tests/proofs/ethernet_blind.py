"""Edits of rendered files at random places, and why some of them change nothing that the proofs speak of."""

from __future__ import annotations

import json
import re
from random import Random
from typing import Any

from tests.proofs.ethernet_edits import SONIC
from tests.proofs.ethernet_trees import AGENT, BGP

_PLANE = "management of the switch itself: it carries no traffic of the fabric, and tests of its own judge it"
_NAME = "a name or remark for people and for LLDP; the cables are judged by the port descriptions"
_PACE = "how fast, not whether: timers, polling and counters"
_WIDER = "still allows all that is needed and nothing foreign"
_DEFAULT = "states what the system does by itself"
_NOTHING = "speaks of something that does not exist below or beside this switch"
_CHIP = "facts of the platform, compared with its vendor's tables where the files are rendered"
_NODE = "NCCL's own tuning, judged by the rules for NCCL"

ELSEWHERE = {_PLANE, _CHIP, _NODE}
"""Reasons of what these proofs do not speak of at all; a blind edit is drawn again until it is none of those."""

HARMLESS: tuple[tuple[str, str], ...] = (
    # EOS: the statement, then the line
    (r"^(!|end|hostname|dns|ip name-server|ntp|logging|snmp|username|no aaa|aaa|tacacs|management|vrf MGMT)", _PLANE),
    (r"^(ip(v6)? access-list|no snmp|lldp|daemon|monitor|no ip routing vrf|ip routing|ip route vrf MGMT)", _PLANE),
    (r"^(event|hardware|platform|radius|banner|clock|telemetry|system|flow|interface Management)", _PLANE),
    (r"^service routing protocols|ipv6 enable|no priority$|no bgp default", _DEFAULT),
    (r"description (unused|router|hosts)|neighbor \S+ description|> *!?$|^$", _NAME),
    (r"timers|bfd interval|update wait-install", _PACE),
    (r"^router bgp \S+ > (maximum-paths|neighbor \w+ maximum-routes)", _WIDER),
    (r"^router bgp \S+ > neighbor \w+ (maximum-routes|bfd)", _WIDER),
    (r"^route-map (TO|FROM)-\w+ permit \d+( > match ipv6 address prefix-list OWN| >)?$", _WIDER),
    (r"^route-map FROM-UP permit \d+ > set community none", "no neighbour sends communities that it could clear"),
    (r"^interface Loopback|bandwidth percent|^interface \S+ > (no shutdown|!)", _DEFAULT),
    (r"^interface (\S+ > shutdown|Ethernet[\d/]+)$", "a port without a cable: any other would be missed"),
    (r"^ipv6 prefix-list FABRIC > seq 10", _WIDER),
    (r"^ipv6 prefix-list OWN > seq 10", "downwards the list FABRIC, which comes next, has this switch's loopback too"),
    (r"router-id \d|router_id$", "any number will do that no other switch has"),
    # FBOSS
    (
        r"^(defaultCommandLineArgs|platform|thriftApi|sw/(version|hostname|switchSettings|acl|cpu|trafficCounters))",
        _CHIP,
    ),
    (r"^sw/(dataPlaneTrafficPolicy/matchToAction|udfConfig/udfPacketMatcher|sFlow|dhcp|arp|snmp|packet)", _PLANE),
    (r"(LLDP|/(name|type)$|description|logicalID|parserType|recordStats|sFlow)", _NAME),
    (r"(hold_time|keep_alive|delay|seconds|listen_port|install_to_fib|Thrift|timers)", _PACE),
    (r"^sw/vlans/.*/(routable|ipAddresses|recordStats|intfID)|^sw/vlans/0", _DEFAULT),
    (
        r"^sw/(vlanPorts/.*emitPriorityTags|defaultVlan|interfaces/.*(isVirtual|isStateSync|name|mtu|routerID|intfID))",
        _DEFAULT,
    ),
    (r"^sw/(ports/.*(maxFrameSize|routable)|portPgConfigs|bufferPoolConfigs|qosPolicies/.*(Pg|expMaps|rules))", _WIDER),
    (r"^sw/(loadBalancers|staticRoutesToNull/.*routerID|portQueueConfigs)", _DEFAULT),
    (
        r"(disable_ipv4_afi|next_hop4|communities|policy_version|seq_num|ip_version|boolean_operator|warning_limit)",
        _NOTHING,
    ),
    (r"(max_routes|community_lists|community_list_name|from-below|warning_only|peer_groups/.*/disable)", _NOTHING),
    (r"^policies/prefix_lists/.*(base_prefix|compare_operator|value)", _WIDER),
    # SONiC
    (r"^(ACL|AAA|TACPLUS|SNMP|NTP|SYSLOG|MGMT|DNS|SSH|LLDP|FEATURE|FLEX|TELEMETRY|GNMI|BREAKOUT|RESTAPI|CRM)", _PLANE),
    (r"^(DEVICE_NEIGHBOR|CABLE_LENGTH|VERSIONS|KDUMP|AUTO|LOGGER|BANNER|PASSW|SYSTEM|CONSOLE|X509|CERT)", _NAME),
    (r"^(STATIC_ROUTE|BGP_\w+|VRF)/mgmt", _PLANE),
    (r"^DEVICE_METADATA|^PORT/\w+/(alias|index|lanes|autoneg|description|admin_status|speed|mtu|fec)", _CHIP),
    (r"^BGP_GLOBALS/default/(load_balance|default_ipv|network_import|log_nbr|keepalive|holdtime)", _DEFAULT),
    (r"^BGP_(GLOBALS_AF/.*paths|PEER_GROUP|NEIGHBOR/.*(name|local_addr|admin_status)|NEIGHBOR_AF)", _DEFAULT),
    (r"^BUFFER_|^COMMUNITY_SET|^SCHEDULER|^SWITCH_HASH|^TC_TO_PRIORITY|^PFC_PRIORITY|^MAP_PFC", _WIDER),
    (
        r"^ROUTE_MAP/(TO-UP\|20|FROM-UP\|10/set_community)|^PREFIX/FABRIC\|10|^WRED|^PORT_QOS_MAP/\w+/pfc_to_pg",
        _NOTHING,
    ),
    # nodes
    (r"^NCCL_|^TORCH_|^GLOO", _NODE),
    (
        r"^#|^\[(Match|Link|Network|Address|Route|RoutingPolicyRule)\]$|^(DHCP|LLMNR|Multicast|LLDP|EmitLLDP|LinkLocal)",
        _DEFAULT,
    ),
    (r"^(Priority|Table|Family|OutgoingInterface|Destination)=", _WIDER),
    (r"^\s*(mlnx_qos.*(cable_len|dscp2prio|dcbx)|set -|#|strayed|awk )", _WIDER),
)


def reason(place: str) -> str | None:
    """Why an edit at a place changes nothing that the proofs speak of; None when it should be caught."""
    return next((why for pattern, why in HARMLESS if re.search(pattern, place)), None)


def blind_edit(path: str, text: str, chosen: Random) -> tuple[str, str]:
    """A random place of a file, and the text after a line, a value or a number there was taken out or changed."""
    return _blind_json(text, chosen) if path in {BGP, AGENT, SONIC} else _blind_lines(text, chosen)


def _blind_lines(text: str, chosen: Random) -> tuple[str, str]:
    lines = text.split("\n")
    at = chosen.choice([at for at, line in enumerate(lines) if line.strip() not in {"", "!"}])
    line = lines[at]
    header = next((each for each in reversed(lines[:at]) if each and each[0] not in " !"), "")
    is_inner = line.startswith(" ") and not text.startswith("#")
    numbers = list(re.finditer(r"\d+", line))
    if numbers and chosen.random() < 1 / 2:
        found = chosen.choice(numbers)
        lines[at] = f"{line[: found.start()]}{int(found[0]) + 1}{line[found.end() :]}"
    else:
        del lines[at]
    return f"{header} > {line.strip()}" if is_inner else line, "\n".join(lines)


def _blind_json(text: str, chosen: Random) -> tuple[str, str]:
    document: Any = json.loads(text)
    path: list[str] = []
    node = document
    while True:
        keys = list(node) if isinstance(node, dict) else list(range(len(node)))
        key = chosen.choice(keys)
        path.append(str(key))
        value = node[key]
        if not isinstance(value, dict | list) or not value or chosen.random() < 1 / 10:
            break
        node = value
    if isinstance(value, bool):
        node[key] = not value
    elif isinstance(value, int) and chosen.random() < 1 / 2:
        node[key] = value + 1
    else:
        del node[key]
    return "/".join(path), json.dumps(document)
