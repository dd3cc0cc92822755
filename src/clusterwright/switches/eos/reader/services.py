"""Clients of an EOS switch's services: SSH, eAPI, SNMP and gNMI, each with the list of its sources."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from clusterwright.facts.reader import SwitchService
from clusterwright.packets.boxes import DST, WHOLE
from clusterwright.packets.filters import Rule
from clusterwright.packets.tokens import Unreadable
from clusterwright.packets.values import everywhere
from clusterwright.switches.eos.reader.lists import EosLists, read_eos_lists
from clusterwright.switches.eos.reader.sections import EosSection, section, sections_with

_WORDS = {"ip": 4, "ipv4": 4, "ipv6": 6}
_LETTERS = {4: "ip", 6: "ipv6"}
_SSH_LIST = re.compile(r"^   (ip|ipv6) access-group (\S+) vrf MGMT in$", re.M)
_API_LIST = re.compile(r"^      (ip|ipv6) access-group (\S+)$", re.M)
_SNMP_LIST = re.compile(r"^snmp-server (ipv4|ipv6) access-list (\S+) vrf MGMT$", re.M)
_GNMI_PORT = re.compile(r"^      port (\d+)$", re.M)


def services(text: str) -> Iterator[SwitchService]:
    """The active services. Raises Unreadable for a list with other conditions than sources."""
    lists = read_eos_lists(text)
    known_services: Iterable[tuple[str, str, int, str, re.Pattern[str]]] = (
        ("SSH", "tcp", 22, "management ssh", _SSH_LIST),
        ("eAPI", "tcp", 443, "management api http-commands", _API_LIST),
        ("SNMP", "udp", 161, "snmp-server vrf MGMT", _SNMP_LIST),
        ("gNMI", "tcp", 6030, "management api gnmi", _API_LIST),
    )
    for name, protocol, usual, header, named in known_services:
        begins = section(text, header)
        if begins is None and name == "SNMP":
            begins = _snmp_by_default(text)
        if begins is None:
            continue
        port, lines = usual, begins.body
        versions: tuple[int, ...] = (4, 6)
        if name == "SNMP":
            # The lines that bind SNMP's lists are sections of their own.
            lines = "\n".join(statement.header for statement in sections_with(text, "snmp-server"))
        if name == "gNMI":
            configured_port = _GNMI_PORT.search(begins.body)
            if configured_port is not None:
                port = int(configured_port[1])
            versions = (4,)  # over IPv6 EOS has no list for it, and the port's own list filters it
        bound = {_WORDS[word]: list_name for word, list_name in named.findall(lines)}
        for version in versions:
            yield SwitchService(
                name=name,
                protocol=protocol,
                port=port,
                version=version,
                line=begins.line,
                rules=_source_rules(lists, version, bound.get(version)),
            )


def _snmp_by_default(text: str) -> EosSection | None:
    """The first line about SNMP: without another VRF on the switch, it answers in the default VRF."""
    if section(text, "vrf instance MGMT") is not None or section(text, "no snmp-server vrf default") is not None:
        return None
    return next(iter(sections_with(text, "snmp-server")), None)


def _source_rules(lists: EosLists, version: int, name: str | None) -> tuple[Rule, ...] | None:
    """The rules of a list; None without a list, or for a missing one: then every source is admitted."""
    key = (_LETTERS[version], name or "")
    rules = lists.sources.get(key, lists.lists.get(key))
    for rule in rules or ():
        if any(match[DST] != WHOLE[DST] and match[DST] != everywhere(version) for match in rule.matches):
            raise Unreadable(rule.line, f"list {name} is asked about sources, and names a destination")
    return rules
