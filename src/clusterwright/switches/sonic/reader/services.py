"""Clients of a SONiC switch's services: SSH, SNMP and gNMI, each with its table of the control plane."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from clusterwright.facts.reader import SwitchService
from clusterwright.packets.boxes import DPORT, FAMILY, V4, V6, WHOLE
from clusterwright.packets.filters import Rule
from clusterwright.packets.ranges import values
from clusterwright.switches.sonic.reader.access_rules import CONTROL_PLANE, EXTERNAL_CLIENT
from clusterwright.switches.sonic.reader.document import tables_of
from clusterwright.switches.sonic.reader.lists import SonicLists

_FAMILIES = {4: V4, 6: V6}


def services(text: str) -> Iterator[SwitchService]:
    """The control plane's tables; without any rule in any of them nothing is dropped."""
    lists = SonicLists(text)
    document: Mapping[str, object] = tables_of(text)
    tables: dict[str, str] = {}
    for name, table in lists.tables.items():
        if table.get("type") == CONTROL_PLANE:
            tables |= dict.fromkeys(table.get("services", ()), name)
    is_on = any(lists.rules_of(name) for name in tables.values())
    gnmi = document.get("GNMI")
    listening = [("SSH", "tcp", 22)]
    if "SNMP_USER" in document:
        listening.append(("SNMP", "udp", 161))
    if isinstance(gnmi, Mapping):
        listening.append((EXTERNAL_CLIENT, "tcp", int(gnmi["gnmi"]["port"])))
    for service, protocol, port in listening:
        name = tables.get(service)
        rules = lists.rules_of(name) if name is not None and is_on else None
        line = lists.line(name) if name is not None else 0
        shown = "gNMI" if service == EXTERNAL_CLIENT else service
        for version in (4, 6):
            rules_of_service = None
            if rules is not None:
                rules_of_service = tuple(rule for rule in rules if _is_of(rule, version, service, port))
            yield SwitchService(
                name=shown, protocol=protocol, port=port, version=version, line=line, rules=rules_of_service
            )


def _is_of(rule: Rule, version: int, service: str, port: int) -> bool:
    """Whether caclmgrd applies a rule: a custom client has a port by the rules with its name alone."""
    is_named = service != EXTERNAL_CLIENT or all(
        match[DPORT] != WHOLE[DPORT] and values(port) & match[DPORT] for match in rule.matches
    )
    return is_named and any(match[FAMILY] & _FAMILIES[version] for match in rule.matches)
