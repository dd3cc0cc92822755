"""Settings of an EOS configuration outside its lists that take packets around them, or open the switch itself.

Lists on ports prove something only while packets take these ports and meet these lists. Everything here is looked for
by name; a line without a name here is unread, and then nothing is proven.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain

from clusterwright.facts.reader import LEASES, LOGINS, LOGS, NAMES, TIME, Fault, Planned, Server
from clusterwright.switches.eos.reader.interfaces import CHANNEL
from clusterwright.switches.eos.reader.lists import EosLists, read_eos_lists
from clusterwright.switches.eos.reader.request_sources import DEFAULT_VRF, RequestSources
from clusterwright.switches.eos.reader.sections import section, sections_with

_ELSEWHERE = "takes packets past the lists of their ports"
_FOLLOWED = "takes back what stands above it, and the lists and maps there no longer hold"
_OWN_ROUTES = "learns or brings routes that no flow asks for"
_SERVICE = "opens the switch itself to more than the flows to its management port"
# Sections and single lines at the margin.
_SECTIONS = (
    (r"(?:no|default) (?:ip|ipv6) (?:access-list|prefix-list) .*", _FOLLOWED),
    (r"(?:no|default) (?:route-map|router|interface|vrf) .*|default interface .*", _FOLLOWED),
    (r"interface \S*\d[-,]\S*", "changes several interfaces at once, which is not read here"),
    (r"ip(?:v6)? prefix-list \S+ (?:seq|permit|deny) .*", "adds to a prefix list on one line, which is not read here"),
    (r"router (?!bgp\b|bfd\b|general\b).*|ip default-gateway .*", _OWN_ROUTES),
    (r"monitor session .*|monitor capture .*|sflow destination .*", "sends copies of packets elsewhere"),
    (r"traffic-policies|policy-map type pbr .*|ip nat .*|patch panel|mpls (?:ip|static) ?.*", _ELSEWHERE),
    (r"(?:ip dhcp|dhcp) relay.*|ip forward-protocol .*", _ELSEWHERE),
    (r"management (?!(?:api (?:gnmi|http-commands)|ssh|security|console|accounts|defaults)\n).*", _SERVICE),
    (r"snmp-server (?:community .*|vrf default.*)", _SERVICE),
    (r"event-handler .*|schedule .*", "runs a program, and no proof reads what it does"),
)
# Lines within a section, whatever it is.
_LINES = (
    (r"(?:no|default) (?:(?:ip|ipv6) access-group|match|route-map) .*", _FOLLOWED),
    (r"(?:no|default) neighbor \S+ (?!shutdown|description).*", _FOLLOWED),
    (r"switchport (?:mode (?!access\n)|trunk|dot1q-tunnel|vlan translation).*", "lets hosts choose their VLAN"),
    (r"service-policy type pbr .*|traffic-policy .*|ip nat .*|(?:ip|ipv6) nat .*|xconnect .*", _ELSEWHERE),
    (r"ip directed-broadcast|ip (?:local-)?proxy-arp", _ELSEWHERE),
    (
        r"ip address dhcp|dhcp client .*|ipv6 address auto-config|ipv6 nd ra rx .*",
        "takes routes from any neighbour",
    ),
    (r"bgp listen range .*", "takes a session with any peer"),
    (r"authentication empty-passwords (?!deny).*|protocol (?:http|telnet)", _SERVICE),
)


def _pattern(begins: str, sides: tuple[tuple[str, str], ...]) -> re.Pattern[str]:
    alternatives = "|".join(f"(?P<w{index}>{pattern})" for index, (pattern, _) in enumerate(sides))
    return re.compile(rf"\n{begins}(?=[a-z])(?:{alternatives})(?=\n)")


# each begins with the end of the line before: a search for a fixed text is much faster than one for beginnings of lines
_AT_MARGIN = _pattern("", _SECTIONS)
_INSIDE = _pattern(" ++", _LINES)
_SERVICES = {
    "tacacs-server host": LOGINS,
    "radius-server host": LOGINS,
    "ntp server": TIME,
    "ip name-server": NAMES,
    "logging": LOGS,
}
_SERVER = re.compile(
    r"(?:(?P<asks>tacacs-server host|radius-server host|ntp server|ip name-server)(?: vrf \S+)?"
    r"|(?P<tells>logging)(?: vrf \S+)? host) (?P<server>\S+)"
)
_VRF = re.compile(r" vrf (\S+)")
_ASKS_GROUP = re.compile(r"\naaa authentication login default group (\S+) local(?=\n)")
_MEMBER = re.compile(r"^   server (\S+)", re.M)
_PEER = re.compile(r"\n   +neighbor ([0-9a-f.:]*[.:][0-9a-f.:]*) (?:remote-as|peer group) ")
_ANNOUNCED = re.compile(r"\n   +(network|aggregate-address) (\S+)")
_ADDRESS = re.compile(r"^   ip(?:v6)? address (?:virtual )?(\S+)", re.M)
_SNMP_LIST = re.compile("snmp-server ipv[46] access-list ")
_SNMP_IN_DEFAULT = frozenset({"snmp-server vrf default", "no snmp-server vrf default"})
_RELAY = re.compile(r"\n +(?:ip helper-address|ipv6 dhcp relay destination) (\S+)")
_TRANSPORT = re.compile(r"^   transport grpc (\S+)\n((?:      .*\n)*)", re.M)


def openings(text: str, device: str, declared: Planned | None) -> Iterator[Fault]:
    """Every line of a startup-config that opens a path around the lists, with its place in the text.

    Without ``declared``, ports, addresses and sessions are not compared with the plan.
    """
    lists = read_eos_lists(text)
    lined = f"\n{text}\n"
    for match in chain(_AT_MARGIN.finditer(lined), _INSIDE.finditer(lined)):
        reasons = _SECTIONS if match.re is _AT_MARGIN else _LINES
        index = int((match.lastgroup or "w0").removeprefix("w"))
        yield match.start(), f'"{match[0].strip()}" {reasons[index][1]}'
    yield from _accounts(text)
    has_vrf = section(text, "vrf instance MGMT") is not None
    yield from _telemetry(text, has_vrf)
    if has_vrf:
        yield from _services(text)
        yield from _vrfs(lists)
    if declared is not None:
        yield from _unplanned(device, lists, declared)
        yield from _sessions(lined, device, declared)


def servers(text: str) -> Iterator[Server]:
    """Servers trusted by the switch, for logins, names and time, or informed by it, and those of hosts' leases."""
    vrf = "MGMT" if section(text, "vrf instance MGMT") is not None else DEFAULT_VRF
    asked = _login_servers(text)
    sources = RequestSources(text)
    for statement in sections_with(text, "tacacs-server", "radius-server", "ntp", "ip", "logging"):
        named = _SERVER.match(statement.header)
        if named is None:
            continue
        what = _SERVICES[named["asks"] or named["tells"]]
        vrf_named = _VRF.search(statement.header)
        server_vrf = vrf_named[1] if vrf_named is not None else DEFAULT_VRF
        is_asked = server_vrf == vrf and (what != LOGINS or named["server"] in asked)
        source = sources.of(what, server_vrf, is_ipv6=":" in named["server"])
        yield Server(at=statement.start, what=what, address=named["server"], is_asked=is_asked, source=source)
    if "helper-address" in text or "dhcp relay" in text:
        for match in _RELAY.finditer(text):
            yield Server(match.start() + 1, LEASES, match[1])


def _login_servers(text: str) -> frozenset[str]:
    """The servers of the group used for logins."""
    group = _ASKS_GROUP.search(f"\n{text}")
    if group is None:
        return frozenset()
    servers: set[str] = set()
    for group_section in sections_with(text, "aaa"):
        kind_and_name = (group_section.names("aaa group server") or " ").split(" ")
        if kind_and_name[1:] == [group[1]]:
            servers.update(_MEMBER.findall(group_section.body))
    return frozenset(servers)


def _accounts(text: str) -> Iterator[Fault]:
    """Open accounts: with neither a password nor a key for SSH."""
    statements = [section for section in sections_with(text, "username") if section.names("username")]
    names_with_key: set[str] = set()
    for statement in statements:
        words = statement.header.split()
        if words[2:3] in (["ssh-key"], ["sshkey"]):
            names_with_key.add(words[1])
    for statement in statements:
        _, name, *words = statement.header.split()
        if "nopassword" in words and name not in names_with_key:
            yield statement.start, f"the account {name} opens without a password and without a key"


def _vrfs(lists: EosLists) -> Iterator[Fault]:
    """Ports in another VRF than theirs."""
    for name, interface in lists.live.items():
        is_management = name.startswith("Management")
        is_in_management_vrf = "\n   vrf MGMT\n" in f"\n{interface.body}"
        if is_in_management_vrf is not is_management:
            vrf = "VRF MGMT" if is_in_management_vrf else "default VRF"
            yield interface.start, f"{name} is in the {vrf}, which joins the two networks"


def _unplanned(device: str, lists: EosLists, declared: Planned) -> Iterator[Fault]:
    """Ports in service without a planned cable, and unplanned addresses."""
    planned = declared.linked.get(device, frozenset())
    for name, interface in lists.live.items():
        if name not in planned and not name.startswith(("Loopback", "Vlan", "Management", CHANNEL)):
            yield interface.start, f"{name} is in service, and the plan has no cable there"
        for address in _ADDRESS.findall(interface.body):
            if address != "dhcp" and (fault := declared.misplaced(device, name, address)):
                yield interface.start, fault


def _sessions(lined: str, device: str, declared: Planned) -> Iterator[Fault]:
    """BGP sessions with addresses outside planned links, and announcements of unplanned networks."""
    checked_peers: set[str] = set()
    for match in _PEER.finditer(lined):
        peer = match[1]
        if peer not in checked_peers and (fault := declared.unmet(device, peer)):
            yield match.start(), fault
        checked_peers.add(peer)
    for match in _ANNOUNCED.finditer(lined):
        if not declared.knows(match[2]):
            yield match.start(), f'"{match[1]} {match[2]}" announces addresses of no zone and no fabric'


def _services(text: str) -> Iterator[Fault]:
    """Services outside the management VRF, without a list."""
    yield from _snmp_in_default_vrf(text)
    for name, header, closed in (
        ("SSH", "management ssh", "\n   shutdown\n"),
        ("eAPI", "management api http-commands", "\n   vrf default\n      shutdown\n"),
    ):
        body = section(text, header)
        if body is None and name == "SSH":
            yield 0, "SSH answers in the default VRF, as it does by itself: there is no `management ssh` to end that"
        if body is not None and closed not in f"\n{body.body}":
            yield body.start, f"{name} answers in the default VRF too, where its lists are not asked"


def _snmp_in_default_vrf(text: str) -> Iterator[Fault]:
    """SNMP, by default on in the default VRF, unless a line decides that."""
    statements = [*sections_with(text, "snmp-server"), *sections_with(text, "no")]
    if any(statement.header in _SNMP_IN_DEFAULT for statement in statements):
        return
    for statement in statements:
        if statement.names("snmp-server") and not _SNMP_LIST.match(statement.header):
            yield statement.start, "SNMP answers in the default VRF too, where its lists are not asked"
            return


def _telemetry(text: str, has_vrf: bool) -> Iterator[Fault]:
    """Transports of gNMI in the wrong VRF, and those with too little authentication of collectors."""
    gnmi = section(text, "management api gnmi")
    if gnmi is None:
        return
    start = gnmi.start + len(gnmi.header) + 1
    for transport in _TRANSPORT.finditer(gnmi.body):
        offset, what = start + transport.start(), f"gNMI's transport {transport[1]}"
        if has_vrf and "      vrf MGMT\n" not in transport[2]:
            yield offset, f"{what} answers in the default VRF, where its lists are not asked"
        profile = re.search(r"^      ssl profile (\S+)$", transport[2], re.M)
        if profile is None:
            yield offset, f"{what} answers without TLS"
        elif not re.search(rf"^   ssl profile {re.escape(profile[1])}\n(?: {{6}}.*\n)*? {{6}}trust cert", text, re.M):
            yield offset, f"{what} asks no client for a certificate"
        if "      authorization requests\n" not in transport[2]:
            yield offset, f"{what} lets every accepted client change the switch"
