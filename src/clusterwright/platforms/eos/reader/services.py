"""Who may speak to an EOS switch: SSH, eAPI, SNMP and gNMI, each with the list of its sources."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from clusterwright.packets.boxes import DST, WHOLE
from clusterwright.packets.filters import Rule
from clusterwright.packets.tokens import Unreadable
from clusterwright.packets.values import everywhere
from clusterwright.platforms.eos.reader.lists import EosLists, read_eos_lists
from clusterwright.platforms.reader import SwitchService

_WORDS = {"ip": 4, "ipv4": 4, "ipv6": 6}
_LETTERS = {4: "ip", 6: "ipv6"}
# each begins with the end of the line before: a search for a fixed text is much faster than one for beginnings of lines
_SSH = re.compile(r"\nmanagement ssh\n((?:   .*\n)*)")
_EAPI = re.compile(r"\nmanagement api http-commands\n((?:   .*\n)*)")
_GNMI = re.compile(r"\nmanagement api gnmi\n((?:   .*\n)*)")
_SNMP = re.compile(r"\nsnmp-server vrf MGMT\n()")
_SSH_LIST = re.compile(r"^   (ip|ipv6) access-group (\S+) vrf MGMT in$", re.M)
_API_LIST = re.compile(r"^      (ip|ipv6) access-group (\S+)$", re.M)
_SNMP_LIST = re.compile(r"\nsnmp-server (ipv4|ipv6) access-list (\S+) vrf MGMT$", re.M)
_GNMI_PORT = re.compile(r"^      port (\d+)$", re.M)


def services(text: str) -> Iterator[SwitchService]:
    """The services that are switched on. Raises Unreadable for a list that asks for more than sources."""
    lists = read_eos_lists(text)
    lined = f"\n{text}"
    asked: Iterable[tuple[str, str, int, re.Pattern[str], re.Pattern[str]]] = (
        ("SSH", "tcp", 22, _SSH, _SSH_LIST),
        ("eAPI", "tcp", 443, _EAPI, _API_LIST),
        ("SNMP", "udp", 161, _SNMP, _SNMP_LIST),
        ("gNMI", "tcp", 6030, _GNMI, _API_LIST),
    )
    for name, protocol, usual, section, named in asked:
        begins = section.search(lined)
        if begins is None:
            continue
        body = begins[1] or lined
        number = _GNMI_PORT.search(body) if name == "gNMI" else None
        port = int(number[1]) if number is not None else usual
        bound = {_WORDS[word]: own for word, own in named.findall(body)}
        line = text.count("\n", 0, begins.start()) + 1
        for version in (4, 6):
            if (name, version) != ("gNMI", 6):  # EOS names no list for it; the port's own one judges it
                yield SwitchService(name, protocol, port, version, line, _asked(lists, version, bound.get(version)))


def _asked(lists: EosLists, version: int, name: str | None) -> tuple[Rule, ...] | None:
    """The rules of a list; None where there is no list, or none of that name, which lets everybody in."""
    key = (_LETTERS[version], name or "")
    rules = lists.sources.get(key, lists.lists.get(key))
    for rule in rules or ():
        if any(each[DST] != WHOLE[DST] and each[DST] != everywhere(version) for each in rule.matches):
            raise Unreadable(rule.line, f"list {name} is asked about sources, and names a destination")
    return rules
