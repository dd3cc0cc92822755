"""Reading the ACL tables of FBOSS's agent.conf, as a port's treatment of incoming packets.

Names and numbers are those of facebook/fboss, switch_config.thrift. Tables are asked by falling priority, and within
one the denies stand before the permits (ApplyThriftConfig); TCP flags are compared as a whole, not one by one
(SaiAclTableManager, ``kTcpFlagsMask``).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property, lru_cache
from typing import Any

from clusterwright.facts.reader import IN
from clusterwright.packets.boxes import ICMP4, ICMP6, TCP, V4, V6, WHOLE, Box, box, meet
from clusterwright.packets.filters import ACCEPT, DROP, Rule, Ruleset, one_chain
from clusterwright.packets.ranges import Ranges, values
from clusterwright.packets.tokens import Unreadable
from clusterwright.packets.values import addresses
from clusterwright.spec.hardware.systems import filter_tables_of
from clusterwright.switches.fboss.reader.configuration import AGENT, LAYOUTS
from clusterwright.switches.fboss.reader.document import FileShape, document_of

FLAGS_MASK = 0x3F
_DENY, _PERMIT = 0, 1
_INGRESS = 0
_IP_TYPES = {0: WHOLE[0], 1: WHOLE[0], 2: V4, 3: V6}  # ANY, IP, IP4, IP6
_NOT_LATER = values(0, 1)
_WITHOUT_MEANING = frozenset({"name", "actionType"})
_ADDRESSES = frozenset({"srcIp", "dstIp"})
_PORT_KEYS = frozenset({"srcPort", "vlanID"})
_KEYS = frozenset({"srcIp", "dstIp", "proto", "l4SrcPort", "l4DstPort", "tcpFlagsBitMap", "icmpType", "ipType"})
# Qualifiers that a table needs for an entry (AclTableQualifier), and actions (AclTableActionType).
_QUALIFIERS = {
    "l4SrcPort": 4,
    "l4DstPort": 5,
    "proto": 6,
    "tcpFlagsBitMap": 7,
    "srcPort": 8,
    "ipType": 17,
    "vlanID": 23,
}
_BY_VERSION = {"srcIp": (2, 0), "dstIp": (3, 1), "icmpType": (11, 13)}
_PACKET_ACTION = 0
_USED = re.compile(r'(?:^|")enable_acl_table_group":\s*"true"')  # a part begins behind its first quote
Json = Mapping[str, Any]


class FbossLists:
    """The ACL group of a switch; ``ports`` maps a port's name to its logical id and VLAN."""

    def __init__(self, text: str) -> None:
        self._text = text
        try:
            document = document_of(text, LAYOUTS[AGENT])
            self._switch = document.value["sw"]
            self.ports = _ports(document.shape)
            if self._switch.get("acls"):
                raise Unreadable(self.line('"acls"'), "entries outside the table group are not known here")
            group = document.texts.get("aclTableGroup")
            self._group_text = json.dumps(self._switch.get("aclTableGroup")) if group is None else group
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise Unreadable(0, f"the ports or ACL tables do not read ({error!r})") from None
        self._is_used = _is_used(document.shape)  # else the agent ignores it

    @cached_property
    def _group(self) -> Any:
        """The table group, read at its first use: most are equal to another one and never used."""
        return self._switch.get("aclTableGroup")

    def text(self, ports: Iterable[str]) -> str:
        """Everything with an effect on admission at these ports."""
        return f"{self._is_used} {[self.ports.get(port) for port in ports]} {self._group_text}"

    def bound(self) -> Iterator[tuple[str, str]]:
        """Every port, inwards: one group of tables filters all of them."""
        yield from ((port, IN) for port in self.ports)

    def management_ports(self) -> tuple[str, ...]:
        """None: the Linux under the agent guards its port."""
        return ()

    def faults(self) -> Iterator[tuple[int, str]]:
        """Tables the chip would refuse, with their line: then none of the configuration is applied."""
        tables = self._group.get("aclTables", ()) if self._group and self._is_used else ()
        limits = filter_tables_of("fboss")
        for table in tables:
            size = len(table["aclEntries"])
            if size > limits.entries:
                line = self.line(f'"name": "{table["name"]}"')
                yield line, f"table {table['name']} has {size:,} entries, and the chip takes {limits.entries} in one"
            # an empty or missing list means everything that the chip supports
            if table.get("qualifiers") and (lacking := _compared(table["aclEntries"]).difference(table["qualifiers"])):
                what = f"qualifiers {', '.join(map(str, sorted(lacking)))}"
                yield self.line('"qualifiers"'), f"entries of table {table['name']} need its {what}, which it has not"
            if table.get("actionTypes") and _PACKET_ACTION not in table["actionTypes"]:
                yield self.line('"actionTypes"'), f"table {table['name']} has no packet action, so it drops nothing"
        if len(tables) > limits.tables:
            yield self.line('"aclTables"'), f"there are {len(tables)} tables, and the chip takes {limits.tables}"

    @cached_property
    def _entries(self) -> list[tuple[Json, Rule]]:
        """The entries in their order of evaluation. Raises Unreadable."""
        group = self._group if self._is_used else None
        try:
            if group and group["stage"] != _INGRESS:
                raise Unreadable(self.line('"stage"'), "the group's stage is not ingress")
            tables = sorted(group["aclTables"], key=lambda row: -int(row["priority"])) if group else []
            entries: list[Json] = []
            for table in tables:
                entries += sorted(table["aclEntries"], key=lambda row: int(row["actionType"]))
            return [(entry, self._rule(entry)) for entry in entries]
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise Unreadable(self.line('"aclTableGroup"'), f"the ACL tables do not read ({error!r})") from None

    @cached_property
    def _beginning(self) -> tuple[int, int]:
        """Offset and line of the table group in the text: those of the text without one."""
        offset = max(0, self._text.find('"aclTableGroup"'))
        return offset, self._text.count("\n", 0, offset) + 1

    def line(self, needle: str) -> int:
        """The line of a text, from 1; 0 without it."""
        start, first = self._beginning
        offset = self._text.find(needle, start)
        return first + self._text.count("\n", start, offset) if offset >= 0 else 0

    def at(self, port: str, direction: str = IN) -> Ruleset:
        """Packets admitted by a port: without a matching entry, everything."""
        if direction != IN:
            return one_chain(direction, (), 0, ACCEPT)  # nothing here filters outwards
        number, vlan = self.ports.get(port, (None, None))
        rules: list[Rule] = []
        for entry, rule in self._entries:
            is_of_port = entry.get("srcPort", number) == number
            is_of_vlan = entry.get("vlanID", vlan) == vlan
            if is_of_port and is_of_vlan:
                rules.append(rule)
        return one_chain(IN, tuple(rules), self.line(f'"{port}"'), ACCEPT)

    def _rule(self, entry: Json) -> Rule:
        line = self.line(f'"{entry["name"]}"')
        unknown = set(entry) - _KEYS - _PORT_KEYS - _WITHOUT_MEANING
        if unknown:
            raise Unreadable(line, f"{', '.join(sorted(unknown))} in entry {entry['name']} is not known here")
        verdict = {_DENY: DROP, _PERMIT: ACCEPT}[entry["actionType"]]
        conditions = json.dumps({key: value for key, value in entry.items() if key in _KEYS}, sort_keys=True)
        return Rule(line=line, matches=(_match(conditions),), verdict=verdict, name=entry["name"])


def _compared(entries: Iterable[Json]) -> set[int]:
    """The qualifiers in entries."""
    qualifiers: set[int] = set()
    for entry in entries:
        for key, value in entry.items():
            if key in _QUALIFIERS:
                qualifiers.add(_QUALIFIERS[key])
            elif key in _BY_VERSION:
                is_ipv6 = entry.get("proto") == ICMP6 if key == "icmpType" else ":" in value
                qualifiers.add(_BY_VERSION[key][is_ipv6])
    return qualifiers


@lru_cache(maxsize=1 << 14)
def _match(text: str) -> Box:
    """The packets of an entry."""
    entry = json.loads(text)
    for key, value in entry.items():
        expected_type = str if key in _ADDRESSES else int
        if type(value) is not expected_type:
            raise TypeError("an entry has text for a number, or a number for text")
    fields: dict[str, Ranges] = {"family": _IP_TYPES[entry.get("ipType", 0)]}
    number = entry.get("proto")
    if number is not None:
        fields["proto"] = values(number)
    packets = box(**fields)
    for key, name in (("srcIp", "src"), ("dstIp", "dst")):
        if key in entry:
            version = 6 if ":" in entry[key] else 4
            limit = box(family=V6 if version == 6 else V4, **{name: addresses(entry[key], version)})
            packets = _both(packets, limit)
    for key, name in (("l4SrcPort", "sport"), ("l4DstPort", "dport")):
        if key in entry:
            packets = _both(packets, box(fragment=_NOT_LATER, **{name: values(entry[key])}))
    if "tcpFlagsBitMap" in entry:
        flags = values(*(bits for bits in range(256) if bits & FLAGS_MASK == entry["tcpFlagsBitMap"] & FLAGS_MASK))
        packets = _both(packets, box(proto=values(TCP), fragment=_NOT_LATER, flags=flags))
    if "icmpType" in entry:
        family = {ICMP4: V4, ICMP6: V6}[entry["proto"]]
        packets = _both(packets, box(family=family, fragment=_NOT_LATER, icmp=values(entry["icmpType"])))
    return packets


def _both(box_a: Box, box_b: Box) -> Box:
    """The packets in both boxes. Raises ValueError for boxes without a common packet."""
    packets = meet(box_a, box_b)
    if packets is None:
        raise ValueError("an entry asks for both IP versions at once")
    return packets


@lru_cache(maxsize=256)
def _is_used(shape: FileShape) -> bool:
    return any(_USED.search(part) for part in (shape.around, *shape.forms))


@lru_cache(maxsize=256)
def _ports(shape: FileShape) -> Mapping[str, tuple[int, int | None]]:
    """The logical id and VLAN of each port, by name in order. Raises KeyError, TypeError or AttributeError."""
    switch = shape.outline["sw"]
    vlans = {row["logicalPort"]: row["vlanID"] for row in switch.get("vlanPorts") or ()}
    rows = sorted(switch.get("ports") or (), key=lambda row: str(row["name"]))
    return {row["name"]: (row["logicalID"], vlans.get(row["logicalID"], row.get("ingressVlan"))) for row in rows}
