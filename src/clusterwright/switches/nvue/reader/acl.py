"""Reading the lists of NVUE (`acl`), common to Cumulus Linux and NVOS, and their bindings.

Rules are matched in the order of their numbers; an unmatched packet passes. Lists of one port and direction are matched
in the order of their names.
"""

from __future__ import annotations

from collections.abc import Iterable

from clusterwright.packets.boxes import ICMP4, ICMP6, TCP, UDP, V4, V6, box
from clusterwright.packets.filters import ACCEPT, DROP, Rule
from clusterwright.packets.ranges import EMPTY, Ranges, ranges, values
from clusterwright.packets.tokens import Unreadable
from clusterwright.packets.values import addresses
from clusterwright.switches.nvue.reader.objects import Object

_FAMILIES = {"ipv4": (V4, 4), "ipv6": (V6, 6)}
_PROTOCOLS = {"tcp": TCP, "udp": UDP, "icmp": ICMP4, "icmpv6": ICMP6}
_VERDICTS = {"permit": ACCEPT, "deny": DROP}
_FLAGS = {"fin": 1, "syn": 2, "rst": 4, "psh": 8, "ack": 16, "urg": 32}
_NOT_LATER = values(0, 1)
ANY = "ANY"


def acl_rules(section: Object) -> tuple[Rule, ...]:
    """The rules of a list, in order. Raises Unreadable at a line of unknown meaning."""
    kind = section.text("type")
    if kind not in _FAMILIES:
        raise Unreadable(section.line, f'"{kind}" is no type of a list that is known here')
    numbered = list(section.items("rule"))
    if not all(number.isdecimal() for number, _ in numbered):
        raise Unreadable(section.line, "a rule of this list has no number")
    return tuple(_rule(kind, rule) for _, rule in sorted(numbered, key=lambda numbered_rule: int(numbered_rule[0])))


def _rule(kind: str, section: Object) -> Rule:
    verdicts = [_VERDICTS.get(word) for word in section.at("action").below]
    if len(verdicts) != 1 or verdicts[0] is None or section.below.keys() - {"remark", "action", "match"}:
        raise Unreadable(section.line, "this rule does not simply permit or deny")
    family, version = _FAMILIES[kind]
    fields: dict[str, Ranges] = {"family": family}
    try:
        for word, below in section.items("match"):
            if word != "ip":
                raise ValueError(word)
            for name, value in below.items():
                fields |= _fields(name, value, version)
    except (ValueError, KeyError) as error:
        raise Unreadable(section.line, f"this rule matches on what is not known here ({error})") from None
    return Rule(line=section.line, matches=(box(**fields),), verdict=verdicts[0])


def _fields(name: str, section: Object, version: int) -> dict[str, Ranges]:
    if name in {"source-ip", "dest-ip"}:
        if section.value == ANY:
            return {}
        field = "src" if name == "source-ip" else "dst"
        return {field: addresses(section.value, version)}
    if name == "protocol":
        return {"proto": values(_PROTOCOLS[section.value])}
    if name in {"icmp-type", "icmpv6-type"}:
        return {"icmp": values(int(section.value)), "fragment": _NOT_LATER}
    if name in {"tcp", "udp"}:
        return _ports(section)
    raise ValueError(name)


def _ports(section: Object) -> dict[str, Ranges]:
    fields: dict[str, Ranges] = {"fragment": _NOT_LATER}
    for name, below in section.items():
        if name in {"source-port", "dest-port"}:
            if not below.below:
                raise ValueError(f"{name} without a number")
            if ANY not in below.below:
                field = "sport" if name == "source-port" else "dport"
                fields[field] = _numbers(below.below)
        elif name == "flags":
            mask = sum(_FLAGS[flag] for flag in section.at("mask").below)
            flags = sum(_FLAGS[flag] for flag in below.below)
            fields["flags"] = values(*(bits for bits in range(256) if bits & mask == flags))
        elif name != "mask":
            raise ValueError(name)
    return fields


def _numbers(names: Iterable[str]) -> Ranges:
    numbers = EMPTY
    for name in names:
        low, _, high = name.partition("-")
        numbers |= ranges([(int(low), int(high or low))])
    return numbers
