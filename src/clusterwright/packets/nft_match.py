"""The matching half of nftables rules: expressions, each as the packets that it takes."""

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
    meet,
)
from clusterwright.packets.filters import InterfaceNumbers
from clusterwright.packets.ranges import Ranges, values
from clusterwright.packets.tokens import Reader, Unreadable, shown
from clusterwright.packets.values import FIELD_OF, TCP_FLAGS, value_of

Element = TypeVar("Element")
Named = Mapping[str, tuple[Sequence[str], Sequence[Element]]]
"""Sets or maps of a table by name: the kinds of their fields, and their elements."""
Sets = Named[tuple[Ranges, ...]]
# What may be compared with one set; an interface's number with none that is known here.
_COMPARED = {"dst4": "src4", "dst6": "src6", "sport": "dport", "oif": "iif"}
WITH_PORTS = {"tcp": values(TCP), "udp": values(UDP), "sctp": values(132), "dccp": values(33), "udplite": values(136)}
_NOT_LATER = values(0, 1)
_REACHABLE = WHOLE[ORIGIN] - values(UNREACHABLE)
# What an expression compares, and what a packet must be for it to be compared at all.
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
# What a question to the routing table says of a packet's source, by its answer.
_ORIGIN: Mapping[str, Mapping[str, Ranges]] = {
    "fib saddr type": {"local": values(OWN, OWN_ELSEWHERE)},
    "fib saddr . oif type": {"local": values(OWN)},
    "fib saddr . iif type": {"local": values(OWN)},
    "fib saddr . iif oif": {"missing": values(UNREACHABLE), "0": values(UNREACHABLE), "exists": _REACHABLE},
}


class MatchReader:
    """Reads expressions of one table, whose sets it knows."""

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
        kind, needs = keys[0]
        at = FIELD_OF[kind]
        taken = Ranges(())
        for candidate in matched:
            taken |= candidate[at]
        return _limited([needs], at, WHOLE[at] - taken)

    def keys(self) -> list[tuple[str, Box]]:
        """The fields that a match or a verdict map compares, joined by dots."""
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
        if self.reader.take("{"):
            elements = []
            if self.reader.peek() == "}":
                raise Unreadable(self.reader.line, "there are no elements: nft loads none of the file")
            while not self.reader.take("}"):
                self.reader.take("\n")
                elements.append(self.element([kind for kind, _ in keys]))
                self.reader.take("\n")
                if self.reader.peek() != "}":
                    self.reader.expect(",")
                self.reader.take("\n")
            return elements
        elements = [self.element([kind for kind, _ in keys])]
        while self.reader.peek() == "," and keys[0][0] == "ct":  # states are bits, and nft has lists of bits alone
            self.reader.next()
            elements.append(self.element([kind for kind, _ in keys]))
        return elements

    def named(self, keys: list[tuple[str, Box]], elements_by_name: Named[Element], what: str) -> Sequence[Element]:
        """The elements of the set or map that the next word names."""
        line, word = self.reader.line, self.reader.peek()
        self.reader.next()
        kinds, elements = elements_by_name.get(word[1:] if word.startswith("@") else "", ((), ()))
        if not kinds:
            raise Unreadable(line, f"there is no {what} {shown(word.removeprefix('@'))} above")
        if list(kinds) != [_COMPARED.get(kind, kind) for kind, _ in keys]:
            raise Unreadable(line, f"the elements of {shown(word[1:])} are of another type: nft loads none of the file")
        return elements

    def element(self, kinds: list[str]) -> tuple[Ranges, ...]:
        """One element of a set: values joined by dots."""
        values_read = []
        for at, kind in enumerate(kinds):
            if at:
                self.reader.expect(".")
            word = self.reader.next()
            try:
                values_read.append(value_of(kind, word.text, self.interfaces.of))
            except ValueError as error:
                raise Unreadable(word.line, str(error)) from None
        return tuple(values_read)

    def boxes(self, keys: list[tuple[str, Box]], elements: list[tuple[Ranges, ...]]) -> list[Box]:
        """The packets whose fields have one of these values."""
        needs: list[Box] = [WHOLE]
        for _, need in keys:
            common = (meet(candidate, need) for candidate in needs)
            needs = [both for both in common if both is not None]
        if len(keys) == 1:
            taken = Ranges(())
            for (only,) in elements:
                taken |= only
            return _limited(needs, FIELD_OF[keys[0][0]], taken)
        boxes = []
        for element in elements:
            left = needs
            for (kind, _), wanted in zip(keys, element, strict=True):
                left = _limited(left, FIELD_OF[kind], wanted)
            boxes += left
        return boxes

    def _origin(self) -> Ranges:
        """What the routing table says of the source: whether the address is the machine's own, and where it leads."""
        line = self.reader.line
        tokens = [self.reader.next().text for _ in range(2)]
        while self.reader.take("."):
            tokens += [".", self.reader.next().text]
        question = " ".join((*tokens, self.reader.next().text))
        negated = self.reader.take("!=")
        self.reader.take("==")
        value = self.reader.next().text
        if question not in _ORIGIN or value not in _ORIGIN[question]:
            raise Unreadable(line, f"{shown(f'{question} {value}')} is an expression that is not known here")
        origins = _ORIGIN[question][value]
        return WHOLE[ORIGIN] - origins if negated else origins

    def _fragments(self) -> list[Box]:
        line = self.reader.line
        words = " ".join(self.reader.next().text for _ in range(6))
        wanted = {
            "ip frag-off & 0x1fff != 0": values(2),
            "ip frag-off & 0x1fff == 0": values(0, 1),
            "ip frag-off & 0x3fff != 0": values(1, 2),
        }
        if words not in wanted:
            raise Unreadable(line, f"{shown(words)} is an expression that is not known here")
        return [box(family=V4, fragment=wanted[words])]

    def _flags(self) -> list[Box]:
        """``tcp flags & MASK == VALUE``, or with ``!=``."""
        self.reader.next()
        self.reader.next()
        self.reader.expect("&")
        mask = self._bits()
        negated = self.reader.expect("==", "!=") == "!="
        wanted = self._bits()
        taken = values(*(flags for flags in range(256) if (flags & mask == wanted) is not negated))
        return _limited([box(proto=values(TCP), fragment=_NOT_LATER)], FLAGS, taken)

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


def _limited(boxes: list[Box], at: int, wanted: Ranges) -> list[Box]:
    limited = []
    for candidate in boxes:
        both = candidate[at] & wanted
        if both:
            limited.append((*candidate[:at], both, *candidate[at + 1 :]))
    return limited
