"""A known word with an argument that no reader knows is unread at its line, and ends no other answer.

Argument forms are those of SONiC's yang models, of NVUE's command reference and of FBOSS's structures, and forms that
no manual has.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
import yaml
from tests.plans import plan_of
from tests.proofs.test_values import SPECS, texts_of
from tests.switches.test_running_forms import TREES, places, reader_of

from clusterwright.facts.unread import Unread
from clusterwright.finding import VerifyError
from clusterwright.packets.tokens import Unreadable
from clusterwright.switches.registry import SYSTEMS

SONIC, NVUE = "etc/sonic/config_db.json", "etc/clusterwright/nvue.yaml"
AGENT, BGP = "etc/coop/agent.conf", "etc/coop/bgpcpp.conf"
SEED, TRIED = 37, 100
# By table, row and field: forms that the reader takes, and forms of the same page that it does not know.
SONIC_FORMS: tuple[tuple[str, str, tuple[str, ...], tuple[Any, ...]], ...] = (
    ("PORT", "mtu", ("1500", "9216"), ("", "auto", "9k")),
    ("PORT", "speed", ("100000",), ("auto", "100G")),
    ("BGP_NEIGHBOR", "local_addr", ("10.0.0.1", "fd00::1"), ("Ethernet0", "Loopback0", "Vlan10")),
    ("BGP_NEIGHBOR", "asn", ("65001",), ("external", "internal", "1.10")),
    ("BGP_PEER_GROUP", "holdtime", ("180",), ("none", "-1")),
    ("BGP_GLOBALS_AF", "max_ebgp_paths", ("64",), ("all",)),
    ("CABLE_LENGTH", "*", ("5m", "300m", "0m"), ("5", "5.5m", "16ft", "none")),
    ("DSCP_TO_TC_MAP", "*", ("3",), ("3,4", "best-effort")),
    ("PORT_QOS_MAP", "pfc_enable", ("3", "3,4", ""), ("3-4", "all", "9")),
    ("BUFFER_PROFILE", "xoff", ("196608",), ("dynamic", "192K")),
    ("PFC_WD", "detection_time", ("200",), ("auto",)),
    ("SCHEDULER", "weight", ("15",), ("15%",)),
    ("BGP_PEER_GROUP_AF", "route_map_in", (), ("TO-UP", {"name": "TO-UP"}, None)),
)
NVUE_FORMS: tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...] = (
    ("interface * link mtu", ("1500", "9216"), ("auto", "9k")),
    ("interface * link lanes", ("1", "8"), ("auto",)),
    ("qos egress-scheduler default-global traffic-class * bw-percent", ("50",), ("auto", "50%")),
    ("qos pfc default-global cable-length", ("100",), ("100m",)),
    ("router bgp autonomous-system", ("65001",), ("auto", "none", "1.10")),
    ("router bgp graceful-restart restart-time", ("120",), ("auto",)),
    ("system forwarding hash-seed", ("7",), ("auto",)),
    ("vrf default router bgp peer-group * timers hold", ("9",), ("auto", "none")),
    ("vrf default router bgp peer-group * bfd min-rx-interval", ("300",), ("auto", "300ms")),
    ("vrf default router bgp address-family * multipaths ebgp", ("64",), ("auto",)),
)
# By file and place, where `*` is any key or entry.
FBOSS_FORMS: tuple[tuple[str, str, tuple[Any, ...], tuple[Any, ...]], ...] = (
    (AGENT, "sw ports * maxFrameSize", (1500, 9412), ("9412", "auto", -1, 1.5, True, [], [9412])),
    (AGENT, "sw ports * logicalID", (900,), ("900", {}, [])),
    (AGENT, "sw ports * pfc tx", (True, False), (1, "true", [])),
    (AGENT, "sw ports * name", ("eth9/1/1",), (7, [])),
    (AGENT, "sw interfaces * ipAddresses *", ("fd00::1/64", "10.0.0.1/31"), (7, "dhcp", "10.0.0.1/33", "fd00::1/129")),
    (AGENT, "sw interfaces * vlanID", (4000,), ("4000", -1)),
    (AGENT, "sw aclTableGroup aclTables * aclEntries * dstIp", ("fd00::/8",), ("any", 7, [])),
    (AGENT, "sw aclTableGroup aclTables * aclEntries * l4DstPort", (22,), ("ssh", "22-23", [22])),
    (AGENT, "sw qosPolicies * qosMap trafficClassToQueueId *", (3,), ("3", "best-effort")),
    (AGENT, "sw loadBalancers * fieldSelection udfGroups *", ("roceQpn",), (7,)),
    (BGP, "local_as_4_byte", (65001,), ("65001", "1.10", -1)),
    (BGP, "router_id", ("10.0.0.1",), ("auto", 7)),
    (BGP, "peers * local_addr", ("fd00::1", "10.0.0.1"), ("eth1/1/1", "fd00::1/64", 7)),
    (BGP, "peers * remote_as_4_byte", (65001,), ("external", "65001")),
    (BGP, "peer_groups * bgp_peer_timers hold_time_seconds", (9,), ("9s", -1)),
    (BGP, "policies prefix_lists * prefixes * base_prefix", ("fd00::/8",), ("any", 7)),
    (BGP, "policies prefix_lists * prefixes * prefix_len_ranges * value", (64,), ("64", -1)),
    (BGP, "policies community_lists * members * community value", ("1:1",), (7, [])),
)
ODD: tuple[Any, ...] = (
    "",
    "abc",
    "-1",
    "1-2",
    "9" * 30,
    None,
    [],
    ["a"],
    {},
    {"a": "b"},
    "FD00:::1",
    "1.2.3.4/33",
    1.5,
)


@cache
def rendered(path: str) -> str:
    made = max(texts_of(plan_of(SPECS[path]), path), key=lambda made: len(made.content))
    return made.content.decode()


def router_reads(path: str, text: str) -> bool:
    router = reader_of(path).router
    assert callable(router)
    try:
        return router("switch", lambda asked: text if asked == path else "") is not None
    except VerifyError:
        return False


def unread_of(path: str, text: str) -> tuple[Unread, ...]:
    return reader_of(path).unread[path](text)


@pytest.mark.parametrize(("table", "field", "known", "unknown"), SONIC_FORMS)
def test_sonic(table: str, field: str, known: tuple[str, ...], unknown: tuple[Any, ...]) -> None:
    rows = json.loads(rendered(SONIC))[table]
    row = next(key for key, fields in rows.items() if field == "*" or field in fields)
    name = next(iter(rows[row])) if field == "*" else field
    for value in (*known, *unknown):
        tables = json.loads(rendered(SONIC))
        tables[table][row][name] = value
        text = json.dumps(tables, indent=2)
        left = unread_of(SONIC, text)
        assert router_reads(SONIC, text), value
        if value in known:
            assert left == (), value
        else:
            assert [each.text for each in left] == [f"{table} / {row} / {name}"], value
            assert f'"{name}"' in text.splitlines()[left[0].line - 1]


@pytest.mark.parametrize(
    ("table", "key"),
    [
        ("INTERFACE", "Ethernet0|dhcp"),
        ("INTERFACE", "Ethernet0|10.0.0.1/33"),
        ("LOOPBACK_INTERFACE", "Loopback0|10.0.0.1"),
        ("QUEUE", "Ethernet0|all"),
        ("ROUTE_MAP", "TO-UP"),
        ("PREFIX", "OWN|10|fd00::/64"),
        ("STATIC_ROUTE", "default|everywhere"),
    ],
)
def test_a_row_of_sonic_whose_key_no_reader_knows(table: str, key: str) -> None:
    tables = json.loads(rendered(SONIC))
    tables.setdefault(table, {})[key] = {}
    text = json.dumps(tables, indent=2)
    assert router_reads(SONIC, text)
    assert f"{table} / {key}" in [each.text for each in unread_of(SONIC, text)]


@pytest.mark.parametrize("value", ["text", 7, None, ["PORT"]])
def test_a_table_of_sonic_that_is_none(value: Any) -> None:
    tables = json.loads(rendered(SONIC))
    tables["CRM"] = value
    text = json.dumps(tables, indent=2)
    assert router_reads(SONIC, text)
    assert [each.text for each in unread_of(SONIC, text)] == ["CRM"]


@pytest.mark.parametrize(("words", "known", "unknown"), NVUE_FORMS)
def test_nvue(words: str, known: tuple[str, ...], unknown: tuple[str, ...]) -> None:
    document = yaml.load(rendered(NVUE), Loader=yaml.CBaseLoader)
    place = next(found for found in nvue_places(document[0]["set"], tuple(words.split()), ()))
    for value in (*known, *unknown):
        changed = json.loads(json.dumps(document))
        above = changed[0]["set"]
        for name in place[:-1]:
            above = above.setdefault(name, {})
        above[place[-1]] = value
        text = json.dumps(changed, indent=1)
        left = [each.text for each in unread_of(NVUE, text)]
        assert router_reads(NVUE, text), value
        assert (" / ".join(place) in left) is (value in unknown), (value, left)


@pytest.mark.parametrize(("path", "words", "known", "unknown"), FBOSS_FORMS)
def test_fboss(path: str, words: str, known: tuple[Any, ...], unknown: tuple[Any, ...]) -> None:
    place = next(document_places(json.loads(rendered(path)), tuple(words.split()), ()))
    for index, value in enumerate((*known, *unknown)):
        changed = json.loads(rendered(path))
        above = changed
        for key in place[:-1]:
            above = above[key]
        above[place[-1]] = value
        text = json.dumps(changed, indent=1)
        left = unread_of(path, text)
        assert bool(left) is (index >= len(known)), (value, left)
        for unread in left:
            assert unread.text == " / ".join(key for key in place if isinstance(key, str))
            assert unread.line > 0


def document_places(node: Any, words: tuple[str, ...], above: tuple[str | int, ...]) -> Iterator[tuple[str | int, ...]]:
    """Places of a document that words lead to."""
    if not words:
        yield above
    elif words[0] == "*":
        keys = range(len(node)) if isinstance(node, list) else node
        for key in keys:
            yield from document_places(node[key], words[1:], (*above, key))
    elif isinstance(node, dict) and words[0] in node:
        yield from document_places(node[words[0]], words[1:], (*above, words[0]))


def nvue_places(node: Any, words: tuple[str, ...], above: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Paths that exist but for their last word."""
    if len(words) == 1:
        yield (*above, words[0])
        return
    for name in [*node] if words[0] == "*" else [words[0]]:
        if isinstance(node.get(name), dict):
            yield from nvue_places(node[name], words[1:], (*above, name))


@pytest.mark.parametrize("path", [SONIC, NVUE, AGENT, BGP])
def test_no_argument_is_passed_over_in_silence_or_ends_a_reader_in_pythons_words(path: str) -> None:
    chosen = random.Random(f"{SEED} {path}")
    document = TREES[path](rendered(path))
    of_fields = {tuple(re.sub(r".*[\d|].*", "*", str(key)) for key in place): place for place in places(document, ())}
    for place in chosen.sample(sorted(of_fields.values(), key=str), min(TRIED, len(of_fields))):
        odd = chosen.choice(ODD)
        changed = json.loads(json.dumps(document))
        above = changed
        for key in place[:-1]:
            above = above[key]
        if above[place[-1]] == odd or "<secret" in json.dumps(above[place[-1]]):
            continue  # whatever stands in a secret's place counts as right
        above[place[-1]] = odd
        text = reader_of(path).normal_form(json.dumps(changed, indent=1))
        try:
            is_told = bool(unread_of(path, text))
            is_told = is_told or not router_reads(path, text)
            is_told = is_told or bool([*SYSTEMS[reader_of(path).system].differing[path](rendered(path), text)])
        except (ValueError, Unreadable):
            is_told = True  # the file does not read, and no claim of it is proven
        assert is_told, (place, odd)
