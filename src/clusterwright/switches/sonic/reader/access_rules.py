"""Rows of ACL_RULE and services of ACL_TABLE that SONiC's programs apply otherwise than they read, or not at all.

orchagent makes the tables of ports (sonic-net/sonic-swss, orchagent/aclorch.cpp), caclmgrd those of the control plane
(sonic-net/sonic-host-services, scripts/caclmgrd).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

CONTROL_PLANE = "CTRLPLANE"
EXTERNAL_CLIENT = "EXTERNAL_CLIENT"
_SERVICES = frozenset({"SSH", "SNMP", EXTERNAL_CLIENT})
# orchagent refuses rules outside the chip's bounds, and reads leading zeros as octal; acl-loader writes 1 to 9999
# (sonic-net/sonic-utilities, acl_loader/main.py).
_PRIORITY = re.compile(r"[1-9][0-9]{0,3}")
_IPV4 = frozenset({"SRC_IP", "DST_IP"})
_IPV6 = frozenset({"SRC_IPV6", "DST_IPV6"})
_SERVICE_FIELDS = frozenset({"PRIORITY", "PACKET_ACTION", "SRC_IP", "SRC_IPV6", "L4_DST_PORT"})
_TARGETS = frozenset({"ACCEPT", "DROP"})  # of iptables
_PACKET_ACTIONS = frozenset({"FORWARD", "DROP"})
_TRANSPORT = frozenset(
    {"IP_PROTOCOL", "L4_SRC_PORT", "L4_SRC_PORT_RANGE", "L4_DST_PORT", "L4_DST_PORT_RANGE", "TCP_FLAGS"}
)
# Matches of the types that orchagent brings along (AclOrch::initDefaultTableTypes); a rule with another one is refused.
_BUILT_IN: Mapping[str, frozenset[str]] = {
    "L3": _IPV4 | _TRANSPORT | {"ETHER_TYPE", "ICMP_TYPE"},
    "L3V6": _IPV6 | _TRANSPORT | {"ICMPV6_TYPE"},
}
_WITHOUT_MATCH = frozenset({"PRIORITY", "PACKET_ACTION"})
Rules = Mapping[str, Mapping[str, Any]]
Place = tuple[str, ...]


def unfit_rules(document: Mapping[str, Mapping[str, Any]]) -> Iterator[Place]:
    """The keys of rules and services whose effect is another one, or unknown."""
    tables = document.get("ACL_TABLE", {})
    rules_of_table: dict[str, dict[str, Mapping[str, Any]]] = {}
    for key, rule in document.get("ACL_RULE", {}).items():
        name, _, _ = key.partition("|")
        rules_of_table.setdefault(name, {})[key] = rule
    yield from _services(tables)
    for name, table in tables.items():
        rules = rules_of_table.get(name, {})
        is_of_services = table.get("type") == CONTROL_PLANE
        unfit = _of_services(table, rules) if is_of_services else _of_ports(table, rules)
        for key in dict.fromkeys(unfit):
            yield "ACL_RULE", key


def _services(tables: Rules) -> Iterator[Place]:
    """Tables with an unknown service, or one of another table: caclmgrd joins their rules in the database's order."""
    rows = {name: table.get("services", ()) for name, table in tables.items() if table.get("type") == CONTROL_PLANE}
    count: Counter[str] = Counter()
    for services in rows.values():
        count.update(services)
    for name, services in rows.items():
        if not _SERVICES.issuperset(services) or any(count[service] > 1 for service in services):
            yield "ACL_TABLE", name, "services"


def _of_services(table: Mapping[str, Any], rules: Rules) -> Iterator[str]:
    """Rules of the control plane that caclmgrd ignores, or reads in another way.

    It takes protocol and port from the service, and for a client's own service the port of any rule for all of them.
    Rules are found by their priority, and sorted by it as text. All of a table are of one IP version.
    """
    priorities = Counter(rule.get("PRIORITY") for rule in rules.values())
    lengths = {len(str(priority)) for priority in priorities}
    versions = {bool(_IPV6 & rule.keys()) for rule in rules.values()}
    ports = {rule.get("L4_DST_PORT") for rule in rules.values()}
    has_port = EXTERNAL_CLIENT in table.get("services", ())
    is_ambiguous = len(lengths) > 1 or len(versions) > 1 or len(ports) > 1 or (None in ports) == has_port
    for key, rule in rules.items():
        is_known = _has_priority(rule) and rule.get("PACKET_ACTION") in _TARGETS and rule.keys() <= _SERVICE_FIELDS
        has_source = len(rule.keys() & {"SRC_IP", "SRC_IPV6"}) == 1
        if is_ambiguous or not is_known or not has_source or priorities[rule.get("PRIORITY")] > 1:
            yield key


def _of_ports(table: Mapping[str, Any], rules: Rules) -> Iterator[str]:
    """Rules of ports that orchagent refuses, and those of one priority that decide differently."""
    matches = _BUILT_IN.get(table.get("type", ""))
    actions_by_priority: dict[object, set[object]] = {}
    for rule in rules.values():
        actions_by_priority.setdefault(rule.get("PRIORITY"), set()).add(rule.get("PACKET_ACTION"))
    for key, rule in rules.items():
        is_known = _has_priority(rule) and rule.get("PACKET_ACTION") in _PACKET_ACTIONS
        has_other_match = matches is not None and not matches >= rule.keys() - _WITHOUT_MATCH
        if not is_known or has_other_match or len(actions_by_priority[rule.get("PRIORITY")]) > 1:
            yield key


def _has_priority(rule: Mapping[str, Any]) -> bool:
    return _PRIORITY.fullmatch(str(rule.get("PRIORITY"))) is not None
