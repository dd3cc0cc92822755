"""Rows of config_db.json that SONiC's programs take in another way than they read leave every claim open."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from tests.plans import plan_of
from tests.switches.test_sonic import config

from clusterwright.packets.tokens import Unreadable
from clusterwright.switches.sonic.reader.lists import SonicLists
from clusterwright.switches.sonic.reader.normal_form import normal_form
from clusterwright.switches.sonic.reader.openings import unread

Tables = dict[str, dict[str, Any]]
ACCEPT = {"PACKET_ACTION": "ACCEPT", "SRC_IP": "10.0.0.0/8"}
NEIGHBOUR = "default|fd00:1ab:b:fffe::"


def put(table: str, row: str, **fields: Any) -> Callable[[Tables], None]:
    """An edit that sets fields of a row, which may be a new one."""

    def edit(tables: Tables) -> None:
        tables.setdefault(table, {}).setdefault(row, {}).update(fields)

    return edit


def second_rule_of_ssh(**fields: str) -> Callable[[Tables], None]:
    return put("ACL_RULE", "SSH_SOURCES|RULE_2", **{**ACCEPT, "PRIORITY": "9998", **fields})


def second_table_of_ssh(tables: Tables) -> None:
    second = {"type": "CTRLPLANE", "services": ["SSH"]}
    tables["ACL_TABLE"] = {"FIRST": second, **tables["ACL_TABLE"]}
    tables["ACL_RULE"]["FIRST|RULE_1"] = {**ACCEPT, "PRIORITY": "9999"}


def without_action(tables: Tables) -> None:
    row = next(key for key in tables["PREFIX"] if key.startswith("FABRIC|10|"))
    tables["PREFIX"][row] = {}


def renamed(table: str, old: str, new: str) -> Callable[[Tables], None]:
    def edit(tables: Tables) -> None:
        tables[table][new] = tables[table].pop(old)

    return edit


def other_map(tables: Tables) -> None:
    tables["PORT_QOS_MAP"]["Ethernet0,Ethernet8"] = {**tables["PORT_QOS_MAP"]["Ethernet0"], "pfc_enable": ""}


CASES: dict[str, tuple[Callable[[Tables], None], str]] = {
    "two rows for a port's classes": (other_map, "PORT_QOS_MAP / Ethernet0,Ethernet8"),
    "the switch's own map": (put("PORT_QOS_MAP", "global", dscp_to_tc_map="OTHER"), "PORT_QOS_MAP / global"),
    "classes of no port": (put("PORT_QOS_MAP", "ethernet0", pfc_enable=""), "PORT_QOS_MAP / ethernet0"),
    "a queue in two rows": (
        put("QUEUE", "Ethernet0,Ethernet8|2", scheduler="scheduler.control"),
        "QUEUE / Ethernet0,Ethernet8|2",
    ),
    "a range of one": (renamed("BUFFER_PG", "Ethernet0|2", "Ethernet0|2-2"), "BUFFER_PG / Ethernet0|2-2"),
    "a class by two numbers": (put("TC_TO_QUEUE_MAP", "CLASSES", **{"02": "0"}), "TC_TO_QUEUE_MAP / CLASSES / 02"),
    "the watchdog's other interval": (
        put("FLEX_COUNTER_TABLE", "PFCWD", POLL_INTERVAL="60000"),
        "FLEX_COUNTER_TABLE / PFCWD",
    ),
    "a prefix of no action": (without_action, "PREFIX / FABRIC|10|fd00:1ab:b:ffff::/64|64..127"),
    "an action in another case": (
        put("PREFIX", "FABRIC|10|fd00:1ab:b:ffff::/64|64..127", action="Deny"),
        "PREFIX / FABRIC|10|fd00:1ab:b:ffff::/64|64..127 / action",
    ),
    "a number of two rules": (
        put("PREFIX", "FABRIC|40|fd00:1ab:b::/56|56..60", action="deny"),
        "PREFIX / FABRIC|40|fd00:1ab:b::/56|56..60",
    ),
    "a number with zeros": (put("ROUTE_MAP", "TO-UP|010", route_operation="deny"), "ROUTE_MAP / TO-UP|010"),
    "a number too high for FRR": (put("ROUTE_MAP", "TO-UP|70000", route_operation="deny"), "ROUTE_MAP / TO-UP|70000"),
    "a term without an operation": (put("ROUTE_MAP", "TO-UP|5"), "ROUTE_MAP / TO-UP|5"),
    "two policies": (
        put("BGP_PEER_GROUP_AF", "default|UP|ipv6_unicast", route_map_in=["FROM-UP", "TO-UP"]),
        "BGP_PEER_GROUP_AF / default|UP|ipv6_unicast / route_map_in",
    ),
    "a network of another family": (
        put("BGP_GLOBALS_AF_NETWORK", "default|ipv4_unicast|fd00:1ab:b::/64"),
        "BGP_GLOBALS_AF_NETWORK / default|ipv4_unicast|fd00:1ab:b::/64",
    ),
    "a priority below the chip's": (
        put("ACL_RULE", "HOSTS_V6|9999-everything-else", PRIORITY="-1"),
        "ACL_RULE / HOSTS_V6|9999-everything-else",
    ),
    "a drop beside a permit": (
        put("ACL_RULE", "HOSTS_V6|9999-everything-else", PRIORITY="9978"),
        "ACL_RULE / HOSTS_V6|9999-everything-else",
    ),
    "iptables' word at a port": (
        put("ACL_RULE", "HOSTS_V6|0005-rdma", PACKET_ACTION="ACCEPT"),
        "ACL_RULE / HOSTS_V6|0005-rdma",
    ),
    "a type without the match": (put("ACL_TABLE", "HOSTS_V6", type="L3V6"), "ACL_RULE / HOSTS_V6|0005-rdma"),
    "orchagent's word for a service": (
        put("ACL_RULE", "SSH_SOURCES|RULE_1", PACKET_ACTION="FORWARD"),
        "ACL_RULE / SSH_SOURCES|RULE_1",
    ),
    "a protocol that caclmgrd ignores": (second_rule_of_ssh(IP_PROTOCOL="17"), "ACL_RULE / SSH_SOURCES|RULE_2"),
    "a port that caclmgrd ignores": (second_rule_of_ssh(L4_DST_PORT="23"), "ACL_RULE / SSH_SOURCES|RULE_2"),
    "one priority of two sources": (second_rule_of_ssh(PRIORITY="9999"), "ACL_RULE / SSH_SOURCES|RULE_2"),
    "priorities sorted as text": (second_rule_of_ssh(PRIORITY="999"), "ACL_RULE / SSH_SOURCES|RULE_2"),
    "both IP versions": (
        put("ACL_RULE", "SSH_SOURCES|RULE_2", PRIORITY="9998", PACKET_ACTION="ACCEPT", SRC_IPV6="::/0"),
        "ACL_RULE / SSH_SOURCES|RULE_2",
    ),
    "another port of gNMI": (
        put("ACL_RULE", "GNMI_SOURCES|RULE_2", **ACCEPT, PRIORITY="9998", L4_DST_PORT="22"),
        "ACL_RULE / GNMI_SOURCES|RULE_2",
    ),
    "two tables of a service": (second_table_of_ssh, "ACL_TABLE / FIRST / services"),
    "all services": (put("ACL_TABLE", "SSH_SOURCES", services=["SSH", "ANY"]), "ACL_TABLE / SSH_SOURCES / services"),
}


def places(text: str) -> list[str]:
    return [place.text for place in unread(normal_form(text))]


@pytest.mark.parametrize("name", CASES)
def test_what_is_taken_in_another_way_is_unread(name: str) -> None:
    edit, place = CASES[name]
    tables = config(plan_of("lab-sonic"))
    edit(tables)
    assert place in places(json.dumps(tables, indent=2))


@pytest.mark.parametrize("twin", [f"{NEIGHBOUR}3", NEIGHBOUR.replace("b:fffe", "B:FFFE") + "3", NEIGHBOUR + "0003"])
def test_a_key_that_stands_twice_is_unread(twin: str) -> None:
    tables = config(plan_of("lab-sonic"))
    text = json.dumps(tables, indent=2)
    row = json.dumps({**tables["BGP_NEIGHBOR"][f"{NEIGHBOUR}3"], "asn": "65000"})
    doubled = text.replace('"BGP_NEIGHBOR": {', f'"BGP_NEIGHBOR": {{"{twin}": {row},', 1)
    assert places(text) == []
    assert places(doubled) == [f"{NEIGHBOUR}3"]


def test_ports_of_one_row_are_read_one_by_one() -> None:
    tables = config(plan_of("lab-sonic"))
    row = tables["PORT_QOS_MAP"].pop("Ethernet0")
    del tables["PORT_QOS_MAP"]["Ethernet8"]
    tables["PORT_QOS_MAP"]["Ethernet0,Ethernet8"] = row
    assert places(json.dumps(tables, indent=2)) == []


@pytest.mark.parametrize(
    ("rule", "field", "value"),
    [
        ("0005-rdma", "IP_PROTOCOL", "017"),
        ("0005-rdma", "L4_DST_PORT", "4_791"),
        ("0009-steps", "L4_DST_PORT_RANGE", "061000-63999"),
        ("0000-neighbour-discovery", "ICMPV6_TYPE", "0135"),
        ("0012-rendezvous-replies", "TCP_FLAGS", "0x10"),
    ],
)
def test_a_number_that_orchagent_reads_as_another_one_is_refused(rule: str, field: str, value: str) -> None:
    tables = config(plan_of("lab-sonic"))
    tables["ACL_RULE"][f"HOSTS_V6|{rule}"][field] = value
    with pytest.raises(Unreadable):
        SonicLists(json.dumps(tables, indent=2))
