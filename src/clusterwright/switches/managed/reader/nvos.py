"""Reading an NVOS startup.yaml outside its lists: unknown objects, openings of the switch, its routes.

Its objects are NVUE's, as its lists are: those are read by NVUE's readers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from clusterwright.facts.reader import LOGS, NAMES, SSH, TIME, Fault, Planned, RouteCheck, Server
from clusterwright.packets.boxes import DST, FAMILY, ICMP, ICMP6, PROTO, V4, V6, WHOLE, box
from clusterwright.packets.filters import ACCEPT, Rule
from clusterwright.packets.phrases import address
from clusterwright.packets.ranges import Ranges, values
from clusterwright.switches.nvue.reader.interfaces import unknown_interfaces
from clusterwright.switches.nvue.reader.lists import LIST_OBJECTS, NvueLists
from clusterwright.switches.nvue.reader.objects import Object, begins
from clusterwright.switches.nvue.reader.unread import KnownObjects
from clusterwright.switches.nvue.reader.yaml_text import read_objects

PATH = "etc/nvue.d/startup.yaml"
_ISOLATION = frozenset({"isolation", "management"})
# Lists, logins, openings and routes read the first ones; the others touch no claim: descriptions, and services
# filtered by the management port's lists.
_KNOWN = """
interface * acl * inbound control-plane
interface * acl * outbound control-plane
interface * ip address *
interface * ip dhcp-client state
interface * ip gateway *
system aaa user * hashed-password
system aaa user * password
system aaa user * role
system aaa user * ssh authorized-key * key
system aaa user * ssh authorized-key * type
system dns server *
system ntp server *
system snmp-server state
system syslog server *
acl * rule * remark
interface * description
system hostname
system message *
system ntp state
system ssh-server state
system timezone
"""
KNOWN = KnownObjects(
    PATH,
    (*LIST_OBJECTS, *filter(None, _KNOWN.splitlines())),
    {
        "acl": _ISOLATION,
        "interface eth0": _ISOLATION,
        "interface lo": _ISOLATION,
        "system": _ISOLATION,
        "service": _ISOLATION,
    },
    lambda root, _: unknown_interfaces(root),
    read_objects,
)


def openings(text: str, device: str, planned: Planned | None) -> Iterator[Fault]:
    """Access to the switch by a community, and routes from others.

    Without a plan no address is compared. Raises Unreadable.
    """
    root = read_objects(text)
    snmp = root.at("system", "snmp-server", "state")
    if snmp.value != "disabled":
        yield begins(text, snmp.line), "SNMP is not switched off, and NVOS answers it by a word in clear"
    for name, interface in root.items("interface"):
        client = interface.at("ip", "dhcp-client", "state")
        if interface.at("ip", "address").below and client.value != "disabled":
            line = client.line or interface.line
            yield begins(text, line), f"{name} takes an address and routes from any server"
        for bound_address, place in interface.items("ip", "address"):
            if planned is not None and (fault := planned.misplaced(device, name, bound_address)):
                yield begins(text, place.line), fault


def servers(text: str) -> Iterator[Server]:
    """Servers of names, time and logs. Raises Unreadable."""
    root = read_objects(text)
    for service, what in (("dns", NAMES), ("ntp", TIME), ("syslog", LOGS)):
        is_on = root.at("system", service).text("state", default="enabled") == "enabled"
        for server, entry in root.items("system", service, "server"):
            source = _source(root, server)
            yield Server(
                at=begins(text, entry.line),
                what=what,
                address=server,
                is_asked=is_on,
                source=source,
            )


def _source(root: Object, server: str) -> str:
    """The management port's address of the server's IP version, "" without one."""
    for name, port in root.items("interface"):
        if not name.startswith("eth"):
            continue
        for source, _ in port.items("ip", "address"):
            if (":" in source) == (":" in server):
                return source.partition("/")[0]
    return ""


def silent(text: str) -> Iterator[Fault]:
    """SSH, if it is off. Raises Unreadable."""
    state = read_objects(text).at("system", "ssh-server", "state")
    if state.value == "disabled":
        yield begins(text, state.line), SSH


def routes(text: str, check_route: RouteCheck) -> Iterator[Fault]:
    """NVOS's gateway is a default route of its port: the port's outward lists decide its destinations."""
    root, lists = read_objects(text), NvueLists(text)
    for port, interface in root.items("interface"):
        for hop, gateway in interface.items("ip", "gateway"):
            rules = lists.at(port, "out").tables[0].chains[""].rules
            for rule in rules:
                if rule.verdict != ACCEPT:
                    continue
                for destination in _destinations(rule):
                    if fault := check_route(destination, hop):
                        yield begins(text, rule.line), f"the gateway's way out: {fault}"
            default_route = "::/0" if ":" in hop else "0.0.0.0/0"
            ends_everything = _is_ended(rules, V4) and _is_ended(rules, V6)
            if not ends_everything and check_route(default_route, hop):
                what = f"the gateway makes a default route, and no list of {port} ends it outwards: it leads everywhere"
                yield begins(text, gateway.line), what


def _destinations(rule: Rule) -> Iterator[str]:
    """The prefixes that a rule matches; neighbour discovery has none, for it stays on the link."""
    for match in rule.matches:
        is_neighbour_discovery = match[PROTO] == values(ICMP6) and match[ICMP] != WHOLE[ICMP]
        if is_neighbour_discovery:
            continue
        version = 4 if match[FAMILY] == V4 else 6
        for low, high in match[DST].bounds:
            if match[DST] is WHOLE[DST]:
                yield f"{address(version, low)}/0"
            else:
                yield _prefix(version, low, high)


def _is_ended(rules: Iterable[Rule], family: Ranges) -> bool:
    """Whether some rule denies all packets of an IP version."""
    everything = box(family=family)
    return any(rule.verdict != ACCEPT and everything in rule.matches for rule in rules)


def _prefix(version: int, low: int, high: int) -> str:
    address_bits = 32 if version == 4 else 128
    return f"{address(version, low)}/{address_bits - (high - low).bit_length()}"
