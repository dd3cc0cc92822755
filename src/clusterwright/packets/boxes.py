"""Sets of packets as unions of boxes; a box is a product of integer sets, one for each field.

Union, intersection, difference and emptiness are exact. ``FAMILY`` distinguishes the two IP versions. Every set starts
from ``EVERYTHING``, which keeps IPv4 addresses within 32 bits.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from clusterwright.packets.ranges import Ranges, ranges, values

FIELDS = (
    "family",  # 4 or 6
    "iif",  # number of the incoming interface
    "oif",  # number of the outgoing interface
    "ct",  # connection tracking state, see CT_STATES
    "proto",  # IP protocol number
    "fragment",  # 0 whole, 1 first fragment, 2 a later one, which has no ports
    "origin",  # owner of the source address in the routing tables of the filtering machine, see ORIGINS
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
# Another machine's address, with a route back by the same interface or without; the interface's own address; an
# address of the machine's other interfaces.
ORIGINS = ("foreign", "unreachable", "own", "own elsewhere")
FOREIGN, UNREACHABLE, OWN, OWN_ELSEWHERE = range(4)
ICMP4, TCP, UDP, ICMP6 = 1, 6, 17, 58
_TOP = {FAMILY: 1, IIF: 1023, OIF: 1023, CT: 4, FRAGMENT: 2, ORIGIN: 3, SRC: (1 << 128) - 1}
_TOP |= {DST: (1 << 128) - 1, PROTO: 255, DPORT: 65535, SPORT: 65535, ICMP: 255, FLAGS: 255, HOPS: 255}
V4, V6 = values(0), values(1)
WHOLE: tuple[Ranges, ...] = tuple(ranges([(0, _TOP[index])]) for index in range(len(FIELDS)))
IPV4 = ranges([(0, (1 << 32) - 1)])

# Fields in which most pairs of rules differ come first.
_FIELDS_BY_SELECTIVITY = (FLAGS, SPORT, DPORT, ICMP, DST, PROTO, SRC, FAMILY, IIF, OIF, CT, FRAGMENT, ORIGIN, HOPS)
_MERGED_FIELDS = (FLAGS, SPORT, DPORT, ICMP, SRC, DST, PROTO)

Box = tuple[Ranges, ...]
Packet = tuple[int, ...]  # one value for each field

# Values of an ordinary first packet of a connection, which a witness has where the set contains them.
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
    sides = list(WHOLE)
    for name, field_values in fields.items():
        sides[FIELDS.index(name)] = field_values
    return tuple(sides)


def meet(a: Box, b: Box) -> Box | None:
    """The packets in both boxes, None when there are none."""
    sides = []
    for values_a, values_b, whole in zip(a, b, WHOLE, strict=True):
        if values_a is values_b or values_b is whole:
            sides.append(values_a)
        elif values_a is whole:
            sides.append(values_b)
        else:
            common = values_a & values_b
            if not common:
                return None
            sides.append(common)
    return tuple(sides)


def cut(a: Box, b: Box) -> list[Box]:
    """``a`` without ``b``, as disjoint boxes."""
    if meet(a, b) is None:
        return [a]
    pieces = []
    remainder = list(a)
    for index, (values_a, values_b) in enumerate(zip(a, b, strict=True)):
        if values_b is WHOLE[index] or values_a is values_b:
            continue
        outside = values_a - values_b
        if outside:
            remainder[index] = outside
            pieces.append(tuple(remainder))
            remainder[index] = values_a & values_b
    return pieces


@dataclass(frozen=True, slots=True)
class PacketSet:
    """A set of packets; its boxes may overlap."""

    boxes: tuple[Box, ...]

    def __and__(self, other: PacketSet) -> PacketSet:
        return PacketSet(tuple(common_boxes(self.boxes, other.boxes)))

    def __or__(self, other: PacketSet) -> PacketSet:
        return PacketSet((*self.boxes, *other.boxes))

    def __sub__(self, other: PacketSet) -> PacketSet:
        remaining = list(self.boxes)
        for removed in other.boxes:
            if not remaining:
                break
            pieces: list[Box] = []
            for candidate in remaining:
                pieces += cut(candidate, removed)
            remaining = pieces
        return PacketSet(tuple(remaining))

    def __bool__(self) -> bool:
        return bool(self.boxes)

    def __contains__(self, packet: Packet) -> bool:
        return any(all(value in field for value, field in zip(packet, box, strict=True)) for box in self.boxes)

    def witness(self) -> Packet:
        """A packet of the set, as ordinary as the set allows. Raises IndexError for the empty set."""
        if not self.boxes:
            raise IndexError("the empty set has no packet")
        return min(map(_witness, self.boxes[:64]), key=_oddness)

    def ordinary(self) -> PacketSet:
        """The same set, with boxes of ordinary packets first."""
        return PacketSet(tuple(sorted(self.boxes, key=lambda candidate: _oddness(_witness(candidate)))))

    def limited(self, limit: Box) -> PacketSet:
        """The packets of the set within a box."""
        return PacketSet(tuple(common_boxes(self.boxes, (limit,))))


NOTHING = PacketSet(())
EVERYTHING = PacketSet((box(family=V4, src=IPV4, dst=IPV4), box(family=V6)))


def union(sets: Iterable[PacketSet]) -> PacketSet:
    """All packets of these sets."""
    return PacketSet(tuple(chain.from_iterable(packets.boxes for packets in sets)))


def common_boxes(boxes: Iterable[Box], others: Sequence[Box]) -> list[Box]:
    """The packets in both unions of boxes."""
    common = []
    for a in boxes:
        for b in others:
            both = meet(a, b)
            if both is not None:
                common.append(both)
    return common


def merged(boxes: Iterable[Box]) -> list[Box]:
    """The same packets in fewer boxes: field by field, boxes with equal other fields are joined."""
    remaining = list(boxes)
    for field in _MERGED_FIELDS:
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


def are_disjoint(a: Box, b: Box) -> bool:
    """True when no packet is in both boxes."""
    for index in _FIELDS_BY_SELECTIVITY:
        values_a, values_b, whole = a[index], b[index], WHOLE[index]
        if values_a is values_b or values_a is whole or values_b is whole:
            continue
        if not values_a & values_b:
            return True
    return False


def _witness(packets: Box) -> Packet:
    return tuple(_choose(index, field_values) for index, field_values in enumerate(packets))


def _choose(field: int, field_values: Ranges) -> int:
    """A likely value of the field, or the least one."""
    for value in _LIKELY.get(field, ()):
        if value in field_values:
            return value
    return field_values.bounds[0][0]


def _oddness(packet: Packet) -> tuple[int, ...]:
    """Sort key of witnesses: ordinary first packets of a connection come first."""
    unlikely_fields = sum(packet[field] not in likely_values for field, likely_values in _LIKELY.items())
    protocols = _LIKELY[PROTO]
    rank = len(protocols)
    if packet[PROTO] in protocols:
        rank = protocols.index(packet[PROTO])
    return (packet[FRAGMENT], packet[ORIGIN], unlikely_fields, rank, *packet)
