"""One form for several spellings: EOS prints `eq ssh` for `eq 22`, and readers know numbers alone.

A line stays a line, so that places in a text are places in its normal form. ``DEFAULTS`` are lines with EOS' default
behaviour, left out by ``show running-config``.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import product

from clusterwright.facts.address_form import OTHER_IPV6_FORM, in_plain_form

# Names that EOS prints for ports of TCP and UDP (its user manual, "ACLs": the numbers are IANA's); a name that differs
# between the two protocols has a number for each.
PORTS = {
    "echo": 7, "discard": 9, "daytime": 13, "ftp-data": 20, "ftp": 21, "ssh": 22, "telnet": 23, "smtp": 25, "time": 37,
    "whois": 43, "tacacs": 49, "domain": 53, "bootps": 67, "bootpc": 68, "tftp": 69, "gopher": 70, "finger": 79,
    "www": 80, "http": 80, "kerberos": 88, "pop2": 109, "pop3": 110, "sunrpc": 111, "ident": 113, "nntp": 119,
    "ntp": 123, "netbios-ns": 137, "netbios-dgm": 138, "netbios-ss": 139, "netbios-ssn": 139, "snmp": 161,
    "snmptrap": 162, "xdmcp": 177, "bgp": 179, "irc": 194, "ldap": 389, "https": 443, "microsoft-ds": 445,
    "isakmp": 500, "rip": 520, "dhcpv6-client": 546, "dhcpv6-server": 547, "rtsp": 554, "ldaps": 636, "ldp": 646,
    "msdp": 639, "nfs": 2049, "iscsi": 3260, "bfd": 3784, "bfd-echo": 3785, "non500-isakmp": 4500, "vxlan": 4789,
    "micro-bfd": 6784,
}  # fmt: skip
_PORTS_OF = {
    "tcp": PORTS | {"exec": 512, "login": 513, "cmd": 514, "lpd": 515},
    "udp": PORTS | {"biff": 512, "who": 513, "syslog": 514, "talk": 517},
}
# RFC 792 and RFC 4443: types that a whole message has, of any code.
_ICMP_OF = {
    "icmp": {"echo-reply": 0, "unreachable": 3, "redirect": 5, "echo": 8, "time-exceeded": 11, "parameter-problem": 12},
    "icmpv6": {
        "unreachable": 1, "packet-too-big": 2, "time-exceeded": 3, "parameter-problem": 4, "echo-request": 128,
        "echo-reply": 129,
    },
}  # fmt: skip
_LONGEST = {"ip": 32, "ipv6": 128}
_STEP = 10  # EOS numbers entries that have no number by tens

_ICMP_NAMES = "|".join(sorted(_ICMP_OF["icmp"] | _ICMP_OF["icmpv6"]))
_OTHER_FORMS = re.compile(
    r"[ \t\r]$|\bpeer-group\b|^   (?:permit|deny|remark) | (?:eq|range) [a-z]|(?:permit|deny) [^\n]*host "
    rf"| any (?:{_ICMP_NAMES})$|(?:router bgp|remote-as) \d+\.\d+|{OTHER_IPV6_FORM}",
    re.M,
)
_LIST = re.compile(r"(ip|ipv6) access-list (standard (?=\S))?\S+")
_ENTRY = re.compile(r"   (?:(\d+) )?(permit|deny|remark)(?= |$)")
_ASDOT = re.compile(r"(?<=remote-as )(\d+)\.(\d+)$|(?<=^router bgp )(\d+)\.(\d+)$")
_PEER_GROUP = re.compile(r"^(   neighbor \S+) peer-group(?= |$)")
# What people write freely, or what is no address though it looks like one.
_FREE_TEXT = re.compile(r" +(?:description|remark|\d+ remark|neighbor \S+ description) |username |alias |banner ")
_ADDRESSED = re.compile(
    r"(?:ipv6 (?:route|address)|   ipv6 address|   neighbor|      neighbor|      network|   seq|   \d+ (?:permit|deny)"
    r"|   network|ipv6 prefix-list|logging|ntp|tacacs-server|radius-server|ip name-server|   server|   ipv6 dhcp) "
)

OWN_QUEUES = frozenset(
    f"qos map traffic-class {number} to {word} {number}"
    for number, word in product(range(8), ("tx-queue", "uc-tx-queue"))
)
"""A traffic class has the transmit queue of its own number by itself (EOS user manual, "Quality of Service")."""
# By the sections that they stand in, lines that state what EOS does by itself (EOS user manual, each command's page).
DEFAULTS: tuple[tuple[re.Pattern[str], frozenset[str]], ...] = (
    (re.compile(r""), frozenset({"lldp run", "no aaa root", *OWN_QUEUES})),
    (
        re.compile(r"interface (?:Ethernet|Port-Channel)\S+"),
        frozenset(
            {
                "no shutdown",
                "switchport",
                "switchport mode access",
                "switchport access vlan 1",
                "mtu 1500",
                "lacp timer normal",
                "load-interval 300",
            }
        ),
    ),
    (re.compile(r"interface \S+"), frozenset({"no shutdown", "mtu 1500"})),
    (re.compile(r"management api http-commands"), frozenset({"protocol https", "no protocol http"})),
    (re.compile(r"router bgp \d+"), frozenset({"graceful-restart restart-time 300"})),
)


def is_default(section: str, line: str) -> bool:
    """Whether a line of a section, "" at the margin, states EOS' default."""
    return any(line in lines and begins.fullmatch(section) for begins, lines in DEFAULTS)


@lru_cache(maxsize=128)
def normal_form(text: str) -> str:
    """The same lines, each in the readers' form; most texts are in it already."""
    if _OTHER_FORMS.search(text) is None:
        return text
    lines: list[str] = []
    access_list, number = None, 0
    for raw in text.split("\n"):
        line = raw.rstrip(" \t\r")
        if not line.startswith(" "):
            access_list, number = _LIST.fullmatch(line), 0
        entry = _ENTRY.match(line) if access_list is not None else None
        if access_list is not None and entry is not None:
            number = int(entry[1]) if entry[1] else number + _STEP
            lines.append(_with_addresses(_entry(access_list, number, entry, line)))
        else:
            lines.append(_with_addresses(_statement(line)))
    return "\n".join(lines)


def _entry(access_list: re.Match[str], number: int, entry: re.Match[str], line: str) -> str:
    """An entry of an access list with its number."""
    words = line[entry.end(2) :].split()
    if entry[2] != "remark":
        words = _entry_words(access_list[1], words, is_standard=bool(access_list[2]))
    return " ".join((f"   {number} {entry[2]}", *words))


def _statement(line: str) -> str:
    """Any other line; comments stay as they are."""
    return line if line.startswith("!") else _PEER_GROUP.sub(r"\1 peer group", _ASDOT.sub(_as_number, line))


def _with_addresses(line: str) -> str:
    """The line with addresses as RFC 5952 writes them, except in free text."""
    return in_plain_form(line) if _ADDRESSED.match(line) and not _FREE_TEXT.match(line) else line


def _as_number(match: re.Match[str]) -> str:
    """65536.1 as EOS counts it too (RFC 5396: asdot)."""
    high, low = (int(part) for part in match.groups() if part is not None)
    return str(high << 16 | low) if high < 1 << 16 and low < 1 << 16 else match[0]


def _entry_words(version: str, words: list[str], *, is_standard: bool) -> list[str]:
    """The words of an entry behind its action, with numbers for names and prefixes for hosts."""
    protocol = version if is_standard else words[0] if words else ""
    names = _PORTS_OF.get(protocol, {})
    types = _ICMP_OF.get(protocol, {})
    entry_words: list[str] = []
    for index, word in enumerate(words):
        before = words[index - 1] if index else ""
        if before == "host":
            entry_words[-1] = f"{word}/{_LONGEST[version]}"
        elif names and word in names and ("eq" in words[:index] or "range" in words[:index]):
            entry_words.append(str(names[word]))
        elif types and word in types and index == len(words) - 1:
            entry_words.append(str(types[word]))
        else:
            entry_words.append(word)
    return entry_words
