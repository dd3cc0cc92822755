"""Sets of packets: unions of boxes, where a box is a product of integer sets, one for each field.

Union, intersection, difference and emptiness are exact. Both IP versions live in one space: ``FAMILY`` tells them
apart, and every set starts from ``EVERYTHING``, which keeps IPv4 addresses within 32 bits.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import chain

from clusterwright.packets.ranges import Ranges, ranges, values

FIELDS = (
    "family",  # 4 or 6
    "iif",  # number of the interface it comes in by
    "oif",  # and of the one it leaves by
    "ct",  # connection tracking state, see CT_STATES
    "proto",  # IP protocol number
    "fragment",  # 0 whole, 1 first fragment, 2 a later one, which has no ports
    "origin",  # whose the source address is, as the machine itself sees it, see ORIGINS
    "src",
    "dst",
    "dport",
    "sport",
    "icmp",  # type, of ICMP and ICMPv6
    "flags",  # of TCP, FIN in the lowest bit
    "hops",  # TTL or hop limit
)
(FAMILY, IIF, OIF, CT, PROTO, FRAGMENT, ORIGIN, SRC, DST, DPORT, SPORT, ICMP, FLAGS, HOPS) = range(len(FIELDS))
NEW, ESTABLISHED, RELATED, INVALID, UNTRACKED = range(5)
CT_STATES = ("new", "established", "related", "invalid", "untracked")
# Another machine's, reached back by the same interface or not; the interface's own; another interface's of the machine.
ORIGINS = ("foreign", "unreachable", "own", "own elsewhere")
FOREIGN, UNREACHABLE, OWN, OWN_ELSEWHERE = range(4)
ICMP4, TCP, UDP, ICMP6 = 1, 6, 17, 58
_TOP = {FAMILY: 1, IIF: 1023, OIF: 1023, CT: 4, FRAGMENT: 2, ORIGIN: 3, SRC: (1 << 128) - 1}
_TOP |= {DST: (1 << 128) - 1, PROTO: 255, DPORT: 65535, SPORT: 65535, ICMP: 255, FLAGS: 255, HOPS: 255}
V4, V6 = values(0), values(1)
WHOLE: tuple[Ranges, ...] = tuple(ranges([(0, _TOP[at])]) for at in range(len(FIELDS)))
IPV4 = ranges([(0, (1 << 32) - 1)])

# The order in which fields are compared where most pairs differ, and in which boxes are joined.
_TELLING = (FLAGS, SPORT, DPORT, ICMP, DST, PROTO, SRC, FAMILY, IIF, OIF, CT, FRAGMENT, ORIGIN, HOPS)
_MERGED_BY = (FLAGS, SPORT, DPORT, ICMP, SRC, DST, PROTO)

Box = tuple[Ranges, ...]
Packet = tuple[int, ...]  # one value for each field

# What a witness shows where a set leaves the choice: an ordinary first packet of a connection.
_LIKELY: Mapping[int, tuple[int, ...]] = {
    CT: (NEW,),
    PROTO: (TCP, UDP, ICMP6, ICMP4),
    SPORT: (49152,),
    DPORT: (22, 443),
    ICMP: (128, 8),
    FLAGS: (2, 16),
    HOPS: (64,),
}


def box(**fields: Ranges) -> Box:
    """The box with these fields limited, by their names in ``FIELDS``."""
    made = list(WHOLE)
    for name, wanted in fields.items():
        made[FIELDS.index(name)] = wanted
    return tuple(made)


def meet(a: Box, b: Box) -> Box | None:
    """The packets in both boxes, None when there are none."""
    made = []
    for one, other, whole in zip(a, b, WHOLE, strict=True):
        if one is other or other is whole:
            made.append(one)
        elif one is whole:
            made.append(other)
        else:
            both = one & other
            if not both:
                return None
            made.append(both)
    return tuple(made)


def cut(a: Box, b: Box) -> list[Box]:
    """``a`` without ``b``, as disjoint boxes."""
    if meet(a, b) is None:
        return [a]
    pieces = []
    remainder = list(a)
    for at, (one, other) in enumerate(zip(a, b, strict=True)):
        if other is WHOLE[at] or one is other:
            continue
        outside = one - other
        if outside:
            remainder[at] = outside
            pieces.append(tuple(remainder))
            remainder[at] = one & other
    return pieces


@dataclass(frozen=True, slots=True)
class PacketSet:
    """A set of packets; its boxes may overlap."""

    boxes: tuple[Box, ...]

    def __and__(self, other: PacketSet) -> PacketSet:
        common = (meet(a, b) for a in self.boxes for b in other.boxes)
        return PacketSet(tuple(part for part in common if part is not None))

    def __or__(self, other: PacketSet) -> PacketSet:
        return PacketSet((*self.boxes, *other.boxes))

    def __sub__(self, other: PacketSet) -> PacketSet:
        left = list(self.boxes)
        for taken in other.boxes:
            if not left:
                break
            left = [piece for remaining in left for piece in cut(remaining, taken)]
        return PacketSet(tuple(left))

    def __bool__(self) -> bool:
        return bool(self.boxes)

    def __contains__(self, packet: Packet) -> bool:
        return any(all(value in field for value, field in zip(packet, box, strict=True)) for box in self.boxes)

    def witness(self) -> Packet:
        """A packet of the set, as ordinary as the set allows. Raises IndexError for the empty set."""
        return min((_witness(box) for box in self.boxes[:64]), key=_oddness) if self.boxes else _witness(())

    def ordinary(self) -> PacketSet:
        """The same set, with the boxes first whose packets look most ordinary."""
        return PacketSet(tuple(sorted(self.boxes, key=lambda candidate: _oddness(_witness(candidate)))))

    def limited(self, limit: Box) -> PacketSet:
        """The packets that also lie in one box."""
        return PacketSet(tuple(both for box in self.boxes if (both := meet(box, limit)) is not None))


NOTHING = PacketSet(())
EVERYTHING = PacketSet((box(family=V4, src=IPV4, dst=IPV4), box(family=V6)))


def union(sets: Iterable[PacketSet]) -> PacketSet:
    """All packets of these sets."""
    return PacketSet(tuple(box for one in sets for box in one.boxes))


def merged(boxes: Iterable[Box]) -> list[Box]:
    """The same packets in fewer boxes: those that differ in one field alone become one, field after field."""
    remaining = list(boxes)
    for field in _MERGED_BY:
        if len(remaining) == 1:
            break
        groups: dict[Box, list[Ranges]] = {}
        for candidate in remaining:
            rest = (*candidate[:field], *candidate[field + 1 :])
            groups.setdefault(rest, []).append(candidate[field])
        remaining = []
        for rest, values_of_field in groups.items():
            union_of_values = values_of_field[0]
            if len(values_of_field) > 1:
                union_of_values = ranges(chain.from_iterable(part.bounds for part in values_of_field))
            remaining.append((*rest[:field], union_of_values, *rest[field:]))
    return remaining


def apart(a: Box, b: Box) -> bool:
    """True when no packet is in both boxes; the fields that tell rules apart most often are asked first."""
    return any(
        a[at] is not b[at] and a[at] is not WHOLE[at] and b[at] is not WHOLE[at] and not a[at] & b[at]
        for at in _TELLING
    )


def _witness(packets: Box) -> Packet:
    if not packets:
        raise IndexError("the empty set has no packet")
    return tuple(_choose(at, field) for at, field in enumerate(packets))


def _choose(at: int, field: Ranges) -> int:
    return next((value for value in _LIKELY.get(at, ()) if value in field), field.bounds[0][0])


def _oddness(packet: Packet) -> tuple[int, ...]:
    """Orders witnesses: first those that look most like an ordinary first packet."""
    likely = sum(packet[at] not in wanted for at, wanted in _LIKELY.items())
    rank = _LIKELY[PROTO].index(packet[PROTO]) if packet[PROTO] in _LIKELY[PROTO] else len(_LIKELY[PROTO])
    return (packet[FRAGMENT], packet[ORIGIN], likely, rank, *packet)
