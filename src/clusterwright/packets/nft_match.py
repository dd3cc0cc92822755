"""Match expressions of nftables rules as sets of packets."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TypeVar

from clusterwright.packets.boxes import (
    FLAGS,
    ICMP4,
    ICMP6,
    ORIGIN,
    OWN,
    OWN_ELSEWHERE,
    TCP,
    UDP,
    UNREACHABLE,
    V4,
    V6,
    WHOLE,
    Box,
    box,
    common_boxes,
)
from clusterwright.packets.filters import InterfaceNumbers
from clusterwright.packets.ranges import Ranges, values
from clusterwright.packets.tokens import Reader, Unreadable, shown
from clusterwright.packets.values import FIELD_OF, TCP_FLAGS, value_of

Element = TypeVar("Element")
Named = Mapping[str, tuple[Sequence[str], Sequence[Element]]]
"""Sets or maps of a table by name: the kinds of their fields, and their elements."""
Sets = Named[tuple[Ranges, ...]]
# Kinds of fields by the kind of the set that they are compared with; no set here holds interface numbers.
_COMPARED = {"dst4": "src4", "dst6": "src6", "sport": "dport", "oif": "iif"}
WITH_PORTS = {"tcp": values(TCP), "udp": values(UDP), "sctp": values(132), "dccp": values(33), "udplite": values(136)}
_NOT_LATER = values(0, 1)
_REACHABLE = WHOLE[ORIGIN] - values(UNREACHABLE)
# By expression the kind of the compared field, and the packets that have this field.
_KEYS: Mapping[tuple[str, ...], tuple[str, Box]] = {
    ("iif",): ("index in", WHOLE),
    ("iifname",): ("iif", WHOLE),
    ("oif",): ("index out", WHOLE),
    ("oifname",): ("oif", WHOLE),
    ("meta", "iif"): ("index in", WHOLE),
    ("meta", "iifname"): ("iif", WHOLE),
    ("meta", "oif"): ("index out", WHOLE),
    ("meta", "oifname"): ("oif", WHOLE),
    ("meta", "l4proto"): ("proto", WHOLE),
    ("meta", "nfproto"): ("family", WHOLE),
    ("ct", "state"): ("ct", WHOLE),
    ("ip", "saddr"): ("src4", box(family=V4)),
    ("ip", "daddr"): ("dst4", box(family=V4)),
    ("ip", "protocol"): ("proto", box(family=V4)),
    ("ip", "ttl"): ("hops", box(family=V4)),
    ("ip6", "saddr"): ("src6", box(family=V6)),
    ("ip6", "daddr"): ("dst6", box(family=V6)),
    ("ip6", "hoplimit"): ("hops", box(family=V6)),
    ("icmp", "type"): ("icmp", box(family=V4, proto=values(ICMP4), fragment=_NOT_LATER)),
    ("icmpv6", "type"): ("icmpv6", box(family=V6, proto=values(ICMP6), fragment=_NOT_LATER)),
    **{
        (name, side): (side, box(proto=number, fragment=_NOT_LATER))
        for name, number in WITH_PORTS.items()
        for side in ("sport", "dport")
    },
    ("th", "sport"): ("sport", box(fragment=_NOT_LATER)),
    ("th", "dport"): ("dport", box(fragment=_NOT_LATER)),
}
_FIRST = frozenset(key[0] for key in _KEYS) | {"fib"}
# By ``fib`` expression and its result, the origins of the packet's source.
_ORIGIN: Mapping[str, Mapping[str, Ranges]] = {
    "fib saddr type": {"local": values(OWN, OWN_ELSEWHERE)},
    "fib saddr . oif type": {"local": values(OWN)},
    "fib saddr . iif type": {"local": values(OWN)},
    "fib saddr . iif oif": {"missing": values(UNREACHABLE), "0": values(UNREACHABLE), "exists": _REACHABLE},
}


class MatchReader:
    """Reads expressions of one table with these sets."""

    def __init__(self, reader: Reader, interfaces: InterfaceNumbers, sets: Sets) -> None:
        self.reader = reader
        self.interfaces = interfaces
        self.sets = sets

    def at_match(self) -> bool:
        """True when the next word begins an expression."""
        return self.reader.peek() in _FIRST

    def match(self) -> list[Box]:
        """The packets of one expression. Raises Unreadable."""
        first = self.reader.peek()
        if first == "fib":
            return [box(origin=self._origin())]
        if (first, self.reader.peek(1)) == ("ip", "frag-off"):
            return self._fragments()
        if (first, self.reader.peek(1)) == ("tcp", "flags"):
            return self._flags()
        keys = self.keys()
        line = self.reader.line
        negated = self.reader.take("!=")
        is_compared = negated or self.reader.take("==")
        if is_compared and self.reader.peek(1) == ",":
            raise Unreadable(line, "nft compares with all of these bits at once, which no packet has")
        matched = self.boxes(keys, self._elements(keys))
        if not negated:
            return matched
        if len(keys) > 1:
            raise Unreadable(line, 'a concatenation with "!=" is not known here')
        kind, packets_with_field = keys[0]
        field = FIELD_OF[kind]
        matched_values = Ranges(())
        for candidate in matched:
            matched_values |= candidate[field]
        return _limited([packets_with_field], field, WHOLE[field] - matched_values)

    def keys(self) -> list[tuple[str, Box]]:
        """The fields compared by a match or a verdict map, joined by dots."""
        keys_read = [self._key()]
        while self.reader.take("."):
            keys_read.append(self._key())
        return keys_read

    def _key(self) -> tuple[str, Box]:
        line, first = self.reader.line, self.reader.peek()
        self.reader.next()
        if (first,) in _KEYS:
            return _KEYS[(first,)]
        pair = (first, self.reader.peek())
        if pair not in _KEYS:
            raise Unreadable(line, f"{shown(' '.join(pair).strip())} is an expression that is not known here")
        self.reader.next()
        return _KEYS[pair]

    def _elements(self, keys: list[tuple[str, Box]]) -> list[tuple[Ranges, ...]]:
        if self.reader.peek().startswith("@"):
            return list(self.named(keys, self.sets, "set"))
        kinds = [kind for kind, _ in keys]
        if self.reader.take("{"):
            return self._anonymous_set(kinds)
        elements = [self.element(kinds)]
        while self.reader.peek() == "," and kinds[0] == "ct":  # states are bits, and nft has lists only of bits
            self.reader.next()
            elements.append(self.element(kinds))
        return elements

    def _anonymous_set(self, kinds: list[str]) -> list[tuple[Ranges, ...]]:
        elements = []
        if self.reader.peek() == "}":
            raise Unreadable(self.reader.line, "there are no elements: nft loads none of the file")
        while not self.reader.take("}"):
            self.reader.take("\n")
            elements.append(self.element(kinds))
            self.reader.take("\n")
            if self.reader.peek() != "}":
                self.reader.expect(",")
            self.reader.take("\n")
        return elements

    def named(self, keys: list[tuple[str, Box]], elements_by_name: Named[Element], noun: str) -> Sequence[Element]:
        """The elements of the set or map named by the next word."""
        line, word = self.reader.line, self.reader.peek()
        self.reader.next()
        kinds, elements = elements_by_name.get(word[1:] if word.startswith("@") else "", ((), ()))
        if not kinds:
            raise Unreadable(line, f"there is no {noun} {shown(word.removeprefix('@'))} above")
        if list(kinds) != [_COMPARED.get(kind, kind) for kind, _ in keys]:
            raise Unreadable(line, f"the elements of {shown(word[1:])} are of another type: nft loads none of the file")
        return elements

    def element(self, kinds: list[str]) -> tuple[Ranges, ...]:
        """One element of a set: values joined by dots."""
        values_read = []
        for index, kind in enumerate(kinds):
            if index:
                self.reader.expect(".")
            word = self.reader.next()
            try:
                values_read.append(value_of(kind, word.text, self.interfaces.of))
            except ValueError as error:
                raise Unreadable(word.line, str(error)) from None
        return tuple(values_read)

    def boxes(self, keys: list[tuple[str, Box]], elements: list[tuple[Ranges, ...]]) -> list[Box]:
        """The packets with one of these values in the compared fields."""
        comparable: list[Box] = [WHOLE]
        for _, packets_with_field in keys:
            comparable = common_boxes(comparable, [packets_with_field])
        if len(keys) == 1:
            values_of_all = Ranges(())
            for (values_of_element,) in elements:
                values_of_all |= values_of_element
            return _limited(comparable, FIELD_OF[keys[0][0]], values_of_all)
        boxes = []
        for element in elements:
            matched = comparable
            for (kind, _), values_of_field in zip(keys, element, strict=True):
                matched = _limited(matched, FIELD_OF[kind], values_of_field)
            boxes += matched
        return boxes

    def _origin(self) -> Ranges:
        """The origins of a source by a ``fib`` expression."""
        line = self.reader.line
        tokens = [self.reader.next().text for _ in range(2)]
        while self.reader.take("."):
            tokens += [".", self.reader.next().text]
        expression = " ".join((*tokens, self.reader.next().text))
        negated = self.reader.take("!=")
        self.reader.take("==")
        result = self.reader.next().text
        if expression not in _ORIGIN or result not in _ORIGIN[expression]:
            raise Unreadable(line, f"{shown(f'{expression} {result}')} is an expression that is not known here")
        origins = _ORIGIN[expression][result]
        return WHOLE[ORIGIN] - origins if negated else origins

    def _fragments(self) -> list[Box]:
        line = self.reader.line
        words = " ".join(self.reader.next().text for _ in range(6))
        fragments = {
            "ip frag-off & 0x1fff != 0": values(2),
            "ip frag-off & 0x1fff == 0": values(0, 1),
            "ip frag-off & 0x3fff != 0": values(1, 2),
        }
        if words not in fragments:
            raise Unreadable(line, f"{shown(words)} is an expression that is not known here")
        return [box(family=V4, fragment=fragments[words])]

    def _flags(self) -> list[Box]:
        """``tcp flags & MASK == VALUE``, or with ``!=``."""
        self.reader.next()
        self.reader.next()
        self.reader.expect("&")
        mask = self._bits()
        negated = self.reader.expect("==", "!=") == "!="
        bits = self._bits()
        matched = values(*(flags for flags in range(256) if (flags & mask == bits) is not negated))
        return _limited([box(proto=values(TCP), fragment=_NOT_LATER)], FLAGS, matched)

    def _bits(self) -> int:
        inside = self.reader.take("(")
        bits = 0
        while True:
            word = self.reader.next()
            if word.text in TCP_FLAGS:
                bits |= TCP_FLAGS[word.text]
            elif re.fullmatch(r"0x[0-9a-fA-F]+|0|[1-9]\d*", word.text, re.A):
                bits |= int(word.text, 0)
            else:
                raise Unreadable(word.line, f"{shown(word.text)} is no flag of TCP")
            if not (self.reader.take("|") or (inside and self.reader.take(","))):
                break
        if inside:
            self.reader.expect(")")
        return bits


def _limited(boxes: list[Box], field: int, field_values: Ranges) -> list[Box]:
    """The boxes with only these values in one field."""
    limited = []
    for candidate in boxes:
        common = candidate[field] & field_values
        if common:
            limited.append((*candidate[:field], common, *candidate[field + 1 :]))
    return limited
