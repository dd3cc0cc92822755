"""Reading an MLNX-OS configuration outside its filter: unknown lines, openings of the switch, logins.

Its commands are executed from the top, so that the last one about a thing holds.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from ipaddress import ip_network

from clusterwright.facts.reader import LOGS, NAMES, SNMP, SSH, TIME, Fault, Login, Planned, RouteCheck, Server
from clusterwright.facts.unread import Unread

PATH = "var/opt/tms/text-configs/clusterwright"
_SNMP = r"snmp-server user \S+ v3"
# Read by the filter's reader, or below.
_READ = (
    r"(?:no )?(?:ip|ipv6) filter .*|(?:no )?interface mgmt\d+ dhcp|interface mgmt\d+ ip address [0-9.]+ /\d+"
    r"|interface mgmt\d+ ipv6 (?:enable|address [0-9a-f:]+/\d+)|ip route [0-9.]+ /?[0-9.]+ [0-9.]+"
    r"|ip default-gateway [0-9.]+|ipv6 route [0-9a-f:]+/\d+ [0-9a-f:]+|ip name-server \S+|ntp server \S+|logging \S+"
    r"|(?:no )?(?:ib sm|telnet-server enable|web http enable|snmp-server communities enable)|no snmp-server enable"
    r"|username \S+ (?:capability \S+|disable password|password [07] \S.*|nopassword)"
    rf'|ssh client user \S+ authorized-key sshv2 ".*"|{_SNMP} (?:enable|auth sha \S.* priv aes-\d+ \S.*)'
)
# Without influence on any claim, and why.
_IDLE = {
    "words for people, and names": r"hostname \S+|ip domain-list \S+",
    "states what else is asked for": r"ipv6 enable|ntp enable|no ntp server \S+ disable|logging \S+ trap \w+",
    "the filter says who reaches it": r"ssh server (?:enable|min-version 2)|(?:no )?web enable|snmp-server enable",
    "takes from the user what it names": rf"{_SNMP} (?:capability monitor|require-privacy)",
}
_KNOWN = re.compile("|".join((_READ, *_IDLE.values())))
# First words of unknown lines that could touch claims about isolation and management alone.
_TOUCHES = re.compile(
    r"(?:no )?(?:interface mgmt|ip|ipv6|aaa|username|ssh|snmp-server|web|telnet-server|ntp|logging|hostname)\b.*"
)
_MANAGER = "no ib sm"
_MUST_STAND = {
    "no telnet-server enable": "telnet is not switched off, and carries passwords in clear",
    "no web http enable": "HTTP is not switched off, and carries passwords in clear",
    "no snmp-server communities enable": "SNMP's communities are not off: a client that knows one reads the switch",
}
_PORT = re.compile(r"^interface (mgmt\d+) (?:ip|ipv6) address (\S+)", re.M)
_SERVICES = {"ip name-server": NAMES, "ntp server": TIME, "logging": LOGS}
# A line with more words has a setting of a server, and names the server too.
_SERVER = re.compile(r"^(?:no )?(ip name-server|ntp server|logging) (\S+)( (?:disable|trap \w+))?$", re.M)
_ACCOUNT = re.compile(r"^username (\S+) (?:(disable password|password .*|nopassword)|.*)$", re.M)
_USER = re.compile(r"^snmp-server user (\S+) v3 (\S+)", re.M)
_ROUTE = re.compile(
    r"^(?:ip (?:default-gateway|route (?P<to>\S+) /?(?P<mask>\S+))|ipv6 route (?P<six>\S+)) (?P<via>\S+)", re.M
)
_LOGIN = re.compile(
    r"^(?:username (?P<account>\S+) (?P<opens>.*)"
    r'|ssh client user (?P<keyed>\S+) authorized-key sshv2 "(?P<key>\S+ \S+).*"'
    r"|snmp-server user (?P<snmp>\S+) .*)$",
    re.M,
)


def unread(text: str) -> tuple[Unread, ...]:
    """Lines of unknown effect, and settings for the switch to manage the subnet itself."""
    places: list[Unread] = []
    for number, line in enumerate(text.split("\n"), 1):
        is_comment = line.startswith("##")
        if is_comment or not line.strip() or _KNOWN.fullmatch(line):
            continue
        claims: frozenset[str] = frozenset()
        if _TOUCHES.fullmatch(line):
            claims = frozenset({"isolation", "management"})
        places.append(Unread(file=PATH, line=number, text=line, claims=claims))
    managers = re.findall(r"^(?:no )?ib sm$", text, re.M)
    if managers[-1:] != [_MANAGER]:
        reason = "whether a subnet manager of its own runs: no last line says `no ib sm`"
        places.append(Unread(file=PATH, line=0, text=reason))
    return tuple(places)


def openings(text: str, device: str, planned: Planned | None) -> Iterator[Fault]:
    """Access to the switch in clear, and routes from others."""
    last_lines = _last_lines(text)
    for required, what in _MUST_STAND.items():
        offset, line = last_lines.get(required.removeprefix("no "), (0, ""))
        if line != required:
            yield offset, what
    for user, words in _users(text).items():
        if "require-privacy" not in words:
            offset = text.find(f"snmp-server user {user} ")
            yield offset, f"the SNMP user {user} may ask in clear: privacy is not required"
    yield from _accounts_without_password_line(text)
    ports = {match[1]: match.start() for match in _PORT.finditer(text)}
    for port, offset in ports.items():
        _, line = last_lines.get(f"interface {port} dhcp", (0, ""))
        if line != f"no interface {port} dhcp":
            yield offset, f"{port} takes an address and routes from any server"
    if planned is not None:
        for match in _PORT.finditer(text):
            if fault := planned.misplaced(device, match[1], match[2]):
                yield match.start(), fault


def _last_lines(text: str) -> dict[str, Fault]:
    """The last line of each command with its offset, by the command without ``no``."""
    last_lines: dict[str, Fault] = {}
    for match in re.finditer(r"^(?!##)\S.*$", text, re.M):
        last_lines[match[0].removeprefix("no ")] = (match.start(), match[0])
    return last_lines


def _accounts_without_password_line(text: str) -> Iterator[Fault]:
    accounts = list(_ACCOUNT.finditer(text))
    names_with_password_line = {account[1] for account in accounts if account[2]}
    for account in accounts:
        if account[1] not in names_with_password_line:
            yield account.start(), f"whether {account[1]} has a password is not said: the one from before stays"


def servers(text: str) -> Iterator[Server]:
    """Servers of names, time and logs."""
    has_time = re.search(r"^ntp enable$", text, re.M) is not None
    sources = {":" in port[2]: port[2].partition("/")[0] for port in _PORT.finditer(text)}
    for server in _SERVER.finditer(text):
        is_asked = server[3] is None and (has_time or server[1] != "ntp server")
        source = sources.get(":" in server[2], "")  # mgmt0 alone has addresses
        yield Server(
            at=server.start(),
            what=_SERVICES[server[1]],
            address=server[2],
            is_asked=is_asked,
            source=source,
        )


def silent(text: str) -> Iterator[Fault]:
    """Services not switched on by a last line."""
    for command, service in (("ssh server enable", SSH), ("snmp-server enable", SNMP)):
        commands = re.findall(rf"^(?:no )?{command}$", text, re.M)
        if commands[-1:] != [command]:
            yield text.find(f"no {command}"), service
    for user, words in _users(text).items():
        if not words >= {"enable", "auth"}:
            yield text.find(f"snmp-server user {user} "), SNMP


def _users(text: str) -> dict[str, set[str]]:
    """The users of SNMP, with the first words of their settings."""
    users: dict[str, set[str]] = {}
    for user, word in _USER.findall(text):
        users.setdefault(user, set()).add(word)
    return users


def logins(path: str, text: str) -> Iterator[Login]:
    """Every account, its means of login, and every user of SNMP."""
    for match in _LOGIN.finditer(text):
        opens = match["opens"] or ""
        yield Login(
            at=match.start(),
            name=match["account"] or match["keyed"] or match["snmp"],
            is_snmp=match["snmp"] is not None,
            key=match["key"] or "",
            has_password=opens.startswith(("password", "nopassword")),
            is_admin=opens.startswith("capability ") and opens != "capability monitor",
        )


def routes(text: str, check_route: RouteCheck) -> Iterator[Fault]:
    """Default routes and static ones."""
    for match in _ROUTE.finditer(text):
        if match["six"]:
            destination = match["six"]
        elif match["to"]:
            destination = str(ip_network(f"{match['to']}/{match['mask']}"))
        else:
            destination = "default"
        if fault := check_route(destination, match["via"]):
            yield match.start(), fault
