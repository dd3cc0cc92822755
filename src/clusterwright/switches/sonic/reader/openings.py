"""Settings of SONiC's config_db.json outside its tables that take packets around them.

Names are those of sonic-buildimage's yang models.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from clusterwright.facts.reader import GNMI, LEASES, LOGINS, LOGS, NAMES, SNMP, TIME, Fault, Login, Planned, Server
from clusterwright.facts.unread import Unread
from clusterwright.spec.hardware.platforms import platforms
from clusterwright.switches.sonic.reader import known
from clusterwright.switches.sonic.reader.document import place_of, tables_of
from clusterwright.switches.sonic.reader.features import SYSTEM, runs
from clusterwright.switches.sonic.reader.request_sources import request_source

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
    "SNMP_COMMUNITY": "lets a client that knows the community read the switch",
    "BGP_PEER_RANGE": "takes a session with any peer",
    "BGP_GLOBALS_LISTEN_PREFIX": "takes a session with any peer",
    **dict.fromkeys(_AROUND.split(), _ELSEWHERE),
}
_SERVERS = {
    "TACPLUS_SERVER": LOGINS,
    "RADIUS_SERVER": LOGINS,
    "NTP_SERVER": TIME,
    "SYSLOG_SERVER": LOGS,
    "DNS_NAMESERVER": NAMES,
}
_METHODS = {"TACPLUS_SERVER": "tacacs+", "RADIUS_SERVER": "radius"}
_ASKED = (
    ("GNMI", "gnmi", "client_auth", "true", "gNMI asks no client for a certificate"),
    ("GNMI", "gnmi", "user_auth", "cert", "gNMI takes callers by other means than their certificate"),
    ("SSH_SERVER", "POLICIES", "permit_root_login", "no", "root is no operator's account"),
    ("SSH_SERVER", "POLICIES", "password_authentication", "false", "the factory's account opens with its password"),
)
# Fields of a port that its machine decides, and which program takes a wrong one.
_PORT_FIELDS = {
    "alias": "LLDP announces another port",
    "index": "xcvrd asks another cage for its module",
    "subport": "xcvrd tells other lanes of the module to carry it",
}
Json = Mapping[str, Any]


def openings(text: str, device: str, declared: Planned | None) -> Iterator[Fault]:
    """Everything in a config_db.json with a path around its tables, with its place in the text."""
    document: Mapping[str, Json] = tables_of(text)
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
    yield from _services(text, document)
    if declared is not None:
        yield from _unplanned(text, document, device, declared)


def _exchanged(text: str, document: Mapping[str, Json]) -> Iterator[Fault]:
    """Ports with lanes of another: then neither the plan nor the file describes the cable there."""
    localhost = document.get("DEVICE_METADATA", {}).get("localhost", {})
    sku = localhost.get("hwsku", "")
    machine = platforms().get((SYSTEM, sku))
    if machine is not None and machine.machine not in (None, localhost.get("platform", machine.machine)):
        what = f"a {sku} is a {machine.machine}, and the switch takes itself for a {localhost['platform']}"
        yield place_of(text, "DEVICE_METADATA", "localhost", "platform"), what
    published = _published_ports(sku)
    owner: dict[str, str] = {}
    for port, fields in document.get("PORT", {}).items():
        lanes = fields.get("lanes", "")
        if published is not None:
            yield from _unpublished(text, port, fields, published.get((port, lanes), ()), sku)
        for lane in lanes.split(","):
            if owner.setdefault(lane, port) != port:
                yield place_of(text, "PORT", port), f"{port} and {owner[lane]} have the same lane {lane}"
                break


def _unpublished(
    text: str, port: str, fields: Json, published: tuple[Mapping[str, str], ...], sku: str
) -> Iterator[Fault]:
    """A port's differences from its vendor's data; ``published`` are the ports of its name and lanes."""
    if not published:
        lanes = fields.get("lanes", "")
        what = f"{port} has the lanes {lanes}, which are not its own on a {sku}: its cable is elsewhere"
        yield place_of(text, "PORT", port), what
        return
    for field, reader in _PORT_FIELDS.items():
        value = str(fields.get(field, "0" if field == "subport" else ""))
        published_values = sorted({row[field] for row in published})
        if value not in published_values:
            expected = " or ".join(published_values)
            what = f"{port} has the {field} {value or 'none'}, and {expected} on a {sku}: {reader}"
            yield place_of(text, "PORT", port), what


@lru_cache(maxsize=64)
def _published_ports(sku: str) -> Mapping[tuple[str, str], tuple[Mapping[str, str], ...]] | None:
    """The vendor's data on a machine's ports, by name and lanes; None for an unknown machine."""
    machine = platforms().get((SYSTEM, sku))
    if machine is None:
        return None
    ports: dict[tuple[str, str], list[Mapping[str, str]]] = {}
    for (name, _), port in machine.ports.items():
        row = {"alias": port.alias, "index": str(port.number), "subport": str(port.subport)}
        ports.setdefault((name, ",".join(map(str, port.lanes))), []).append(row)
    return {key: tuple(rows) for key, rows in ports.items()}


def _services(text: str, document: Mapping[str, Json]) -> Iterator[Fault]:
    """Services with too little authentication of callers, with any list of sources."""
    for table, row, field, required, reason in _ASKED:
        settings = document.get(table, {}).get(row, {})
        is_on = table == "SSH_SERVER" or document.get(table)  # SSH is on by default, with weak settings
        if not is_on or settings.get(field) == required:
            continue
        place = text.find(f'"{table}"')
        if field in settings:
            place = text.find(f'"{field}"', place)
        value = settings.get(field, "not said")
        yield place, f"{table}: {field} is {value} and ought to be {required}: {reason}"
    login = document.get("AAA", {}).get("authentication", {})
    if str(login.get("failthrough", "")).lower() == "true":
        what = "whom the central servers refuse may log in with a local password (AAA failthrough)"
        yield place_of(text, "AAA", "authentication", "failthrough"), what
    for name, client in document.get("GNMI_CLIENT_CERT", {}).items():
        if client.get("role") != ["gnmi_readonly"]:
            yield place_of(text, "GNMI_CLIENT_CERT", name), f"the collector {name} may change the switch"
    for name, user in document.get("SNMP_USER", {}).items():
        if user.get("SNMP_USER_TYPE", "").lower() != "priv":
            yield place_of(text, "SNMP_USER", name), f"the SNMP user {name} proves nothing"


def _unplanned(text: str, document: Mapping[str, Json], device: str, declared: Planned) -> Iterator[Fault]:
    """Unplanned ports, addresses and sessions."""
    planned = declared.linked.get(device, frozenset())
    for port, fields in document.get("PORT", {}).items():
        if fields.get("admin_status") == "up" and port not in planned:
            yield text.find(f'"{port}"'), f"{port} is in service, and the plan has no cable there"
    for table in ("INTERFACE", "PORTCHANNEL_INTERFACE", "VLAN_INTERFACE", "LOOPBACK_INTERFACE", "MGMT_INTERFACE"):
        for key in document.get(table, {}):
            port, bar, address = key.partition("|")
            if bar and (fault := declared.misplaced(device, port, address)):
                yield text.find(f'"{key}"'), fault
    for key in document.get("BGP_NEIGHBOR", {}):
        peer = key.rpartition("|")[2]
        if (":" in peer or "." in peer) and (fault := declared.unmet(device, peer)):
            yield text.find(f'"{key}"'), fault


def servers(text: str) -> Iterator[Server]:
    """Servers of logins, time, logs and names, and those for hosts' requests."""
    document: Mapping[str, Json] = tables_of(text)
    has_vrf = document.get("MGMT_VRF_CONFIG", {}).get("vrf_global", {}).get("mgmtVrfEnabled") == "true"
    vrf = "mgmt" if has_vrf else "default"
    login_methods = document.get("AAA", {}).get("authentication", {}).get("login", "").split(",")
    time = document.get("NTP", {}).get("global", {})
    for table, service in _SERVERS.items():
        for server, fields in document.get(table, {}).items():
            vrf_row = time if table == "NTP_SERVER" else fields
            is_asked = vrf_row.get("admin_state") != "disabled" and fields.get("admin_state") != "disabled"
            if table != "DNS_NAMESERVER":  # SONiC has no VRF for these
                is_asked = is_asked and vrf_row.get("vrf", "default") == vrf
            if table in _METHODS:
                is_asked = is_asked and _METHODS[table] in login_methods
            source = request_source(document, table, server, is_apart=has_vrf)
            yield Server(
                at=place_of(text, table, server),
                what=service,
                address=server,
                is_asked=is_asked,
                source=source,
            )
    for table, field in (("VLAN", "dhcp_servers"), ("DHCP_RELAY", "dhcpv6_servers")):
        for fields in document.get(table, {}).values():
            for server in fields.get(field, ()):
                yield Server(place_of(text, table, server), LEASES, server)


def snmp_users(path: str, text: str) -> Iterator[Login]:
    """Users of SNMP; accounts are those of the Linux."""
    document: Mapping[str, Json] = tables_of(text)
    for name, user in document.get("SNMP_USER", {}).items():
        is_admin = user.get("SNMP_USER_PERMISSION", "").lower() != "ro"
        yield Login(place_of(text, "SNMP_USER", name), name, is_snmp=True, is_admin=is_admin)


def silent(text: str) -> Iterator[Fault]:
    """Services that do not run, or run by default on some images alone."""
    document: Mapping[str, Json] = tables_of(text)
    for name, service in (("snmp", SNMP), ("gnmi", GNMI)):
        if not runs(document, name):
            yield text.find(f'"{name}"', text.find('"FEATURE"')), service


def unread(text: str) -> tuple[Unread, ...]:
    """Tables, rows and fields of a config_db.json of unknown effect."""
    return tuple(known.unread(text, frozenset(_OPEN)))
