"""Settings of NVUE's file outside its lists: paths around them, openings of the switch, routes elsewhere."""

from __future__ import annotations

import re
from collections.abc import Iterator

from clusterwright.facts.reader import (
    LEASES,
    LOGINS,
    LOGS,
    NAMES,
    SNMP,
    SSH,
    TIME,
    Fault,
    Planned,
    RouteCheck,
    Server,
)
from clusterwright.facts.router import shown
from clusterwright.switches.nvue.reader.configuration import VRF, front_ports, is_up, relay_groups, statics
from clusterwright.switches.nvue.reader.objects import Object, begins
from clusterwright.switches.nvue.reader.relays import route_source
from clusterwright.switches.nvue.reader.releases import read_nvue_objects

_ELSEWHERE = "takes packets past the lists of their ports"
_COPIES = "sends copies of packets elsewhere"
_OPEN = {
    ("evpn",): _ELSEWHERE,
    ("mlag",): _ELSEWHERE,
    ("nve",): _ELSEWHERE,
    ("router", "nexthop"): _ELSEWHERE,
    ("router", "pbr"): _ELSEWHERE,
    ("system", "nat"): _ELSEWHERE,
    ("system", "port-mirror"): _COPIES,
    ("service", "snmp-server", "readonly-community"): "lets a client that knows the community read the switch",
    ("service", "snmp-server", "readonly-community-v6"): "lets a client that knows the community read the switch",
    ("vrf", VRF, "router", "bgp", "dynamic-neighbor"): "takes a session with any peer",
}
_MANAGEMENT, _ON = "mgmt", frozenset({"on", "enable", "enabled", "yes"})
_LOCAL = "local"
# NVIDIA, NVUE command reference, nv set system aaa authentication-order: local, tacacs and radius are read here.
_METHODS = frozenset({_LOCAL, "tacacs", "radius"})
_NO_HASH = frozenset({"", "<none>"})
_ADDRESS = re.compile(r"[0-9]+\.[0-9.]+|[0-9a-f]*:[0-9a-f:.]*")
_DEFAULT = {4: "0.0.0.0/0", 6: "::/0"}
_LineFault = tuple[int, str]  # a line, and its fault
_Named = tuple[Object, str, str, bool]  # place of a server, its service, its address, and whether requests go to it


def openings(text: str, device: str, planned: Planned | None) -> Iterator[Fault]:
    """Everything with a path around the lists, and everything unplanned. Raises Unreadable."""
    root = read_nvue_objects(text)
    faults = list(_openings(root))
    if planned is not None:
        faults += _unplanned(root, device, planned)
    for line, fault in faults:
        yield begins(text, line), fault


def routes(text: str, check_route: RouteCheck) -> Iterator[Fault]:
    """Static routes with a destination, and default routes of a gateway. Raises Unreadable."""
    root = read_nvue_objects(text)
    for prefix, hop, section in (*_static_routes(root), *_gateway_routes(root)):
        if fault := check_route(prefix, hop):
            yield begins(text, section.line), fault


def _static_routes(root: Object) -> Iterator[tuple[str, str, Object]]:
    """Prefix, next hop ("" without one) and statement of each static route that discards nothing."""
    for vrf, _ in root.items("vrf"):
        for prefix, section, is_discard in statics(root, vrf):
            if is_discard:
                continue
            for hop in [name for name, _ in section.items("via")] or [""]:
                yield prefix, hop, section


def _gateway_routes(root: Object) -> Iterator[tuple[str, str, Object]]:
    """The default route, next hop and statement of each interface's gateway."""
    for _, port in root.items("interface"):
        for gateway, section in port.items("ip", "gateway"):
            yield _DEFAULT[6 if ":" in gateway else 4], gateway, section


def _unplanned(root: Object, device: str, planned: Planned) -> Iterator[_LineFault]:
    """Unplanned ports, addresses and sessions."""
    linked = planned.linked.get(device, frozenset())
    yield from _unlinked(root, linked)
    for name, section in root.items("interface"):
        for address, place in section.items("ip", "address"):
            if _ADDRESS.match(address) and (fault := planned.misplaced(device, name, address)):
                yield place.line, fault
    for peer, section in root.items("vrf", VRF, "router", "bgp", "neighbor"):
        if _ADDRESS.fullmatch(peer) and (fault := planned.unmet(device, peer)):
            yield section.line, fault


def _unlinked(root: Object, linked: frozenset[str]) -> Iterator[_LineFault]:
    """Ports in service without a planned cable, by themselves or as members of bonds."""
    for name, section in front_ports(root):
        if is_up(section) and name not in linked:
            yield section.line, f"{name} is in service, and the plan has no cable there"
    for name, section in root.items("interface"):
        for port, place in section.items("bond", "member"):
            if port not in linked:
                yield place.line, f"{port} is a part of {name}, and the plan has no cable there"


def servers(text: str) -> Iterator[Server]:
    """Servers of names, time, logs and logins, and those for hosts' requests. Raises Unreadable."""
    root = read_nvue_objects(text)
    for section, what, server, is_asked in (*_services(root), *_login_servers(root), *_relays(root)):
        source = "" if what == LEASES else _source(root, server)
        yield Server(
            at=begins(text, section.line),
            what=what,
            address=server,
            is_asked=is_asked,
            source=source,
        )


def silent(text: str) -> Iterator[Fault]:
    """Services that are off, as SNMP is by default. Raises Unreadable."""
    root = read_nvue_objects(text)
    for name, field, usual, service in (("ssh-server", "state", "on", SSH), ("snmp-server", "enable", "off", SNMP)):
        settings = root.at("system" if service == SSH else "service", name)
        if settings.text(field, default=usual) not in _ON:
            yield begins(text, settings.at(field).line), service


def _services(root: Object) -> Iterator[_Named]:
    is_apart = _is_apart(root)
    for service, what in (("dns", NAMES), ("ntp", TIME), ("syslog", LOGS)):
        for name, vrf in root.items("service", service):
            is_asked = (name == _MANAGEMENT) is is_apart and vrf.text("state", default="enabled") in _ON
            for server, section in vrf.items("server"):
                yield section, what, server, is_asked


def unknown_methods(root: Object) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Methods of logins without a reader, such as LDAP: their accounts are unknown."""
    for number, method in root.items("system", "aaa", "authentication-order"):
        if method.value not in _METHODS or not number.isdecimal():
            yield method.line, ("system", "aaa", "authentication-order", number)


def _methods_before_local(root: Object) -> frozenset[str]:
    """The methods of authentication before the switch's own accounts."""
    numbered = [(number, method.value) for number, method in root.items("system", "aaa", "authentication-order")]
    methods = [value for number, value in sorted(numbered, key=_number_of) if number.isdecimal()]
    if _LOCAL in methods:
        methods = methods[: methods.index(_LOCAL)]
    return frozenset(methods)


def _number_of(numbered: tuple[str, str]) -> int:
    return int(numbered[0]) if numbered[0].isdecimal() else 0


def _login_servers(root: Object) -> Iterator[_Named]:
    methods = _methods_before_local(root)
    for method, default in (("radius", "on"), ("tacacs", "off")):
        servers = root.at("system", "aaa", method)
        is_on = servers.text("enable", default=default) in _ON
        is_in_management_vrf = servers.text("vrf", default=VRF) == _MANAGEMENT
        is_asked = method in methods and is_on and is_in_management_vrf is _is_apart(root)
        for name, server in servers.items("server"):
            host = server.at("host")
            if host.line:
                yield host, LOGINS, host.value, is_asked
            else:
                yield server, LOGINS, name, is_asked


def _relays(root: Object) -> Iterator[_Named]:
    relay = root.at("service", "dhcp-relay", "default")
    relayed = dict(relay.at("server").below)
    for _, servers, _ in relay_groups(relay):
        relayed |= servers
    for server, section in relayed.items():
        yield section, LEASES, server, True
    for _, port in root.items("service", "dhcp-relay6", "default", "interface", "upstream"):
        yield port.at("server-address"), LEASES, port.text("server-address"), True


def _source(root: Object, server: str) -> str:
    """Source address for a server: of the management port, alone in its VRF, or of the routes to it.

    "" if neither has one of the server's IP version.
    """
    if not _is_apart(root):
        source = route_source(root, "ipv6" if ":" in server else "ipv4")
        return "" if source is None else shown(source)
    for name, port in root.items("interface"):
        if not name.startswith("eth") or port.text("ip", "vrf", default=VRF) != _MANAGEMENT:
            continue
        for address, _ in port.items("ip", "address"):
            if (":" in address) == (":" in server):
                return address.partition("/")[0]
    return ""


def _is_apart(root: Object) -> bool:
    """Whether a management port is on a network of its own."""
    for name, section in root.items("interface"):
        if name.startswith("eth") and section.at("ip", "address").below:
            return True
    return False


def _openings(root: Object) -> Iterator[_LineFault]:
    for path, reason in _OPEN.items():
        node = root.at(*path)
        if node.line:
            yield node.line, f"{' '.join(path)} {reason}"
    yield from _open_ports(root)
    yield from _open_services(root)
    for user, section in root.items("service", "snmp-server", "username"):
        if section.at("auth-none").line:
            yield section.line, f"the SNMP user {user} proves nothing"
    for user, section in root.items("system", "aaa", "user"):
        if section.text("hashed-password") in _NO_HASH:
            yield section.line, f"the account {user} has no password that is hashed: anybody may be it"


def _open_services(root: Object) -> Iterator[_LineFault]:
    """Services outside the management port, without its lists, and root."""
    ssh, api = root.at("system", "ssh-server"), root.at("system", "api")
    is_apart, is_on = _is_apart(root), ssh.text("state", default="enabled") in _ON
    if is_apart and is_on and ssh.at("vrf").below.keys() != {_MANAGEMENT}:
        yield ssh.at("vrf").line or ssh.line, "SSH answers in another VRF than mgmt, where no list is asked"
    if ssh.text("permit-root-login") in _ON:
        yield ssh.at("permit-root-login").line, "root may log in over SSH, and is no operator's account"
    for address, section in api.items("listening-address"):
        if address not in {"localhost", "127.0.0.1", "::1"}:
            yield section.line, f"the API answers at {address}, and not to the switch itself alone"
    for address, section in root.items("service", "snmp-server", "listening-address"):
        if is_apart and section.text("vrf") != _MANAGEMENT and address not in {"localhost", "localhost-v6"}:
            yield section.line, f"SNMP answers at {address} in another VRF than mgmt, where no list is asked"


def _open_ports(root: Object) -> Iterator[_LineFault]:
    for name, section in root.items("interface"):
        if name.startswith("eth") and section.text("ip", "vrf", default=VRF) == VRF:
            yield section.line, f"{name} is in the default VRF, which joins the two networks"
        for word in ("tunnel", "vlan-subinterface"):
            if section.at(word).line:
                yield section.at(word).line, f"{name}: {word} {_ELSEWHERE}"
        if section.at("ip", "address", "dhcp").line:
            yield section.at("ip", "address", "dhcp").line, f"{name} takes an address from any DHCP server"
        for domain, bridge in section.items("bridge", "domain"):
            if bridge.below.keys() - {"access"}:
                yield bridge.line, f"{name}: the port lets hosts choose their VLAN in {domain}"
