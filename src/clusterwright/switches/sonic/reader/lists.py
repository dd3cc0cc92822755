"""Reading ACL_TABLE and ACL_RULE of a SONiC config_db.json, as a port's treatment of incoming packets.

Rules are asked by falling priority; a table without a match lets a packet pass. Tables of a stage are independent: a
packet passes when every one lets it. Fields are those of sonic-acl.yang.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any

from clusterwright.facts.reader import IN, OUT
from clusterwright.packets.boxes import TCP, V4, V6, Box, box, meet
from clusterwright.packets.filters import ACCEPT, DROP, Chain, Rule, Ruleset, Table
from clusterwright.packets.ranges import Ranges, ranges, values
from clusterwright.packets.tokens import Unreadable
from clusterwright.packets.values import addresses
from clusterwright.switches.sonic.reader.access_rules import CONTROL_PLANE
from clusterwright.switches.sonic.reader.document import tables_of

_NOT_LATER = values(0, 1)
_ETHER_TYPES = {"0x0800": V4, "0x86dd": V6}
_WITHOUT_MEANING = frozenset({"PRIORITY", "PACKET_ACTION"})
_VERDICTS = {"FORWARD": ACCEPT, "ACCEPT": ACCEPT, "DROP": DROP}
_STAGES = {"ingress": IN, "egress": OUT}
_DEFAULT_STAGE = "ingress"  # sonic-acl.yang
# SONiC's built-in types that filter (orchagent, acltable.h); ACL_TABLE_TYPE defines others.
_BUILT_IN = frozenset({"L3", "L3V6", "L3V4V6", CONTROL_PLANE})
# orchagent reads leading zeros as octal (sonic-net/sonic-swss-common, converter.h: base 0).
_NUMBER = re.compile(r"0|[1-9][0-9]{0,4}")
# Without a mask orchagent compares all six flags, and it refuses others (aclorch.cpp).
_FLAGS = re.compile(r"(0x[0-3]?[0-9A-Fa-f])/(0x[0-3]?[0-9A-Fa-f])")
_FRONT = re.compile(r"Ethernet\d+|PortChannel\d+")
Fields = Mapping[str, str]


def bound_tables(tables: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The ports with tables, each with a direction; tables of the control plane have none."""
    for table in tables.values():
        if table.get("type") == CONTROL_PLANE:
            continue
        direction = _STAGES[table.get("stage", _DEFAULT_STAGE).lower()]
        for port in table.get("ports", ()):
            yield port, direction


def channels_of(tables: Mapping[str, Any]) -> dict[str, str]:
    """The channel of each member port."""
    channels: dict[str, str] = {}
    for key in tables.get("PORTCHANNEL_MEMBER", {}):
        channel, _, port = key.partition("|")
        channels[port] = channel
    return channels


class SonicLists:
    """The ACL tables of a switch."""

    def __init__(self, text: str) -> None:
        self._text = text
        try:
            document = tables_of(text)
            self._tables = json.dumps([document.get(name) for name in ("ACL_TABLE_TYPE", "ACL_TABLE", "ACL_RULE")])
            self.tables = document.get("ACL_TABLE", {})
            self._channels = channels_of(document)
            self._types = document.get("ACL_TABLE_TYPE", {})
            self._rules: dict[str, list[tuple[int, Rule]]] = {}
            for key, fields in document.get("ACL_RULE", {}).items():
                table, _, _ = key.partition("|")
                self._rules.setdefault(table, []).append((int(fields["PRIORITY"]), self._rule(key, fields)))
            others: dict[str, str] = {}
            for name, table in self.tables.items():
                others |= {port: name for port, _ in bound_tables({name: table})}
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise Unreadable(0, f"the ACL tables do not read ({error!r})") from None
        for port, name in others.items():
            if not _FRONT.fullmatch(port):
                raise Unreadable(self.line(name), f"the table {name} is on {port}, and only front ports are read here")

    def bound(self) -> Iterator[tuple[str, str]]:
        """The ports with tables, each with a direction."""
        members: dict[str, list[str]] = {}
        for port, channel in self._channels.items():
            members.setdefault(channel, []).append(port)
        bound: set[tuple[str, str]] = set()
        for port, direction in bound_tables(self.tables):
            bound |= {(member, direction) for member in members.get(port, [port])}
        yield from sorted(bound)

    def faults(self) -> Iterator[tuple[int, str]]:
        """Tables not created by SONiC, so that everything passes: of no type, or on a member of a channel."""
        for name, table in self.tables.items():
            if (kind := table.get("type")) not in _BUILT_IN and (lack := self._lacking(kind, name)):
                yield self.line(name), f"the table {name} is of type {kind}, which {lack}: SONiC makes no filter of it"
            for port, _ in bound_tables({name: table}):
                if port in self._channels:
                    channel = self._channels[port]
                    yield self.line(name), f"the table {name} is on {port}, and {channel} is asked for tables"

    def _lacking(self, kind: str, table: str) -> str:
        """Missing parts of a type of the file's own for a table of this name, "" for a complete one."""
        table_type = self._types.get(kind)
        if table_type is None:
            return "is none that filters"
        ports = self.tables[table].get("ports", ())
        points = {_bind_point(port) for port in ports}
        if not table_type.get("MATCHES"):
            return "matches nothing"
        if "PACKET_ACTION" not in table_type.get("ACTIONS", ()):
            return "has no PACKET_ACTION"
        missing = sorted(points - set(table_type.get("BIND_POINTS", ())))
        return f"is bound to no {missing[0]}" if missing else ""

    def management_ports(self) -> tuple[str, ...]:
        """None: tables of the control plane check access to services, at any incoming port."""
        return ()

    def text(self, ports: Iterable[str]) -> str:
        """Everything with an effect on admission at these ports."""
        return f"{[self._channels.get(port, port) for port in ports]} {self._tables}"

    def line(self, key: str) -> int:
        """The line of a key, from 1; 0 without it."""
        offset = self._text.find(f'"{key}"')
        return self._text.count("\n", 0, offset) + 1 if offset >= 0 else 0

    def rules_of(self, table: str) -> tuple[Rule, ...]:
        """The rules of a table in their order of evaluation."""
        numbered_rules = sorted(self._rules.get(table, ()), key=lambda numbered_rule: -numbered_rule[0])
        return tuple(rule for _, rule in numbered_rules)

    def at(self, port: str, direction: str = IN) -> Ruleset:
        """Packets admitted by a port in one direction: those passed by every table of that stage bound to it."""
        bound_port = self._channels.get(port, port)
        chains: dict[str, Chain] = {}
        for name, table in self.tables.items():
            if (bound_port, direction) not in bound_tables({name: table}):
                continue
            line = self.line(name)
            chains[name] = Chain(
                name=name,
                line=line,
                rules=self.rules_of(name),
                hook=direction,
                priority=0,
                policy=ACCEPT,
                policy_line=line,
            )
        return Ruleset((Table(family="inet", name="", line=0, chains=chains),), flushes=True)

    def _rule(self, key: str, fields: Fields) -> Rule:
        line = self.line(key)
        table = self.tables.get(key.partition("|")[0], {})
        matches = self._types.get(table.get("type"), {}).get("MATCHES")
        for name in fields:
            if matches is not None and name not in matches and name not in _WITHOUT_MEANING:
                raise Unreadable(line, f"the table of rule {key} matches no {name}")
        try:
            match = _match(tuple(sorted((k, v) for k, v in fields.items() if k not in _WITHOUT_MEANING)))
        except ValueError as error:
            raise Unreadable(line, f"rule {key}: {error}") from None
        return Rule(line, () if match is None else (match,), _VERDICTS[fields["PACKET_ACTION"]], name=key)


@lru_cache(maxsize=1 << 14)
def _match(fields: tuple[tuple[str, str], ...]) -> Box | None:
    """The packets of a rule, None for none. Raises ValueError for an unknown field."""
    packets: Box | None = box()
    for name, text in fields:
        limit = _field(name, text)
        packets = meet(packets, limit) if packets is not None else None
    return packets


def _field(name: str, text: str) -> Box:
    side = "src" if name.startswith("SRC") else "dst"
    port = "sport" if "SRC" in name else "dport"
    if name == "ETHER_TYPE" and text.lower() in _ETHER_TYPES:
        return box(family=_ETHER_TYPES[text.lower()])
    if name in {"SRC_IP", "DST_IP"}:
        return box(family=V4, **{side: addresses(text, 4)})
    if name in {"SRC_IPV6", "DST_IPV6"}:
        return box(family=V6, **{side: addresses(text, 6)})
    if name in {"IP_PROTOCOL", "NEXT_HEADER"}:
        return box(proto=values(_number(text)))
    if name in {"L4_SRC_PORT", "L4_DST_PORT"}:
        return box(fragment=_NOT_LATER, **{port: values(_number(text))})
    if name in {"L4_SRC_PORT_RANGE", "L4_DST_PORT_RANGE"} and (port_range := re.fullmatch(r"([0-9]+)-([0-9]+)", text)):
        return box(fragment=_NOT_LATER, **{port: ranges([(_number(port_range[1]), _number(port_range[2]))])})
    if name == "TCP_FLAGS":
        return box(proto=values(TCP), fragment=_NOT_LATER, flags=_flags(text))
    if name in {"ICMP_TYPE", "ICMPV6_TYPE"}:
        return box(family=V4 if name == "ICMP_TYPE" else V6, fragment=_NOT_LATER, icmp=values(_number(text)))
    raise ValueError(f"{name} {text} is not known here")


def _bind_point(port: str) -> str:
    """The kind of port that a table type has to support for a port."""
    return "PORTCHANNEL" if port.startswith("PortChannel") else "PORT"


def _number(text: str) -> int:
    if _NUMBER.fullmatch(text) is None:
        raise ValueError(f"{text} is no number that is known here")
    return int(text)


def _flags(text: str) -> Ranges:
    match = _FLAGS.fullmatch(text)
    if match is None:
        raise ValueError(f"{text} is no value and mask of flags")
    flags, checked_bits = int(match[1], 16), int(match[2], 16)
    return values(*(bits for bits in range(256) if bits & checked_bits == flags & checked_bits))
