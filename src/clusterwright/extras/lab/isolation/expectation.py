"""The declared fate of a packet: its arrival, or the filter that stops it.

Every filter is assumed to work as documented (docs/isolation.md), by the model of the isolation proof.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from clusterwright.extras.lab.isolation.members import Member, Stage
from clusterwright.extras.lab.isolation.raw_packets import UNREACHABLE, RawPacket
from clusterwright.packets.boxes import (
    CT,
    DPORT,
    DST,
    ESTABLISHED,
    FAMILY,
    FIELDS,
    FLAGS,
    FOREIGN,
    FRAGMENT,
    HOPS,
    ICMP,
    ICMP4,
    ICMP6,
    IIF,
    INVALID,
    NEW,
    OIF,
    ORIGIN,
    OWN,
    OWN_ELSEWHERE,
    PROTO,
    SPORT,
    SRC,
    TCP,
    UDP,
    Packet,
    PacketSet,
    box,
)
from clusterwright.packets.ranges import values
from clusterwright.proofs.isolation.expected import node_input, node_output
from clusterwright.proofs.isolation.nodes import RUNNING, NodeFilter

_NO_INTERFACE = 1023
_HOPS = 64
_Change = Mapping[int, int]
OUTPUT, LISTS, INPUT = "output", "lists", "input"
EVERY_PLACE = frozenset({OUTPUT, LISTS, INPUT})


@dataclass(frozen=True, slots=True)
class Trip:
    """A packet from one member to another.

    ``past_filter`` for one that bypasses the sender's own rules, ``is_answer`` for an answer to a permitted request.
    """

    sender: Member
    receiver: Member
    packet: RawPacket
    past_filter: bool = False
    is_answer: bool = False


class PacketExpectation:
    """The expected fate of packets with filters at these ``places`` only.

    ``phase`` is the file of rules loaded by the nodes.
    """

    def __init__(self, stage: Stage, phase: str, places: frozenset[str] = EVERY_PLACE) -> None:
        self.stage = stage
        self.phase = phase
        self.places = places
        self._sets: dict[tuple[int, str], PacketSet] = {}
        self._narrow: dict[tuple[int, int, int, int, int], PacketSet] = {}

    def stopped_at(self, trip: Trip) -> str | None:
        """The first place expected to stop a packet; None for a packet expected to arrive."""
        for name, permitted, change in self._places(trip):
            for packet in _packets_at_place(trip.packet, change):
                if packet not in self._near(permitted, packet):
                    return name
        return None

    def is_checked(self, trip: Trip) -> bool:
        """Whether any place on the path has a filter."""
        return next(self._places(trip), None) is not None

    def _near(self, permitted: PacketSet, packet: Packet) -> PacketSet:
        """The part of a set with such packets, cached: many packets differ in their ports only."""
        key = (id(permitted), packet[FAMILY], packet[PROTO], packet[SRC], packet[DST])
        if key not in self._narrow:
            family, proto, src, dst = (values(ranges) for ranges in key[1:])
            self._narrow[key] = permitted.limited(box(family=family, proto=proto, src=src, dst=dst))
        return self._narrow[key]

    def _places(self, trip: Trip) -> Iterator[tuple[str, PacketSet, _Change]]:
        sender, receiver = trip.sender, trip.receiver
        state = NEW
        if trip.is_answer:
            state = ESTABLISHED
        elif _is_error(trip.packet):
            state = INVALID
        node_filter = sender.at(self.phase)
        if node_filter is not None and not trip.past_filter and OUTPUT in self.places:
            leaving = {
                CT: state,
                IIF: _NO_INTERFACE,
                OIF: self._interface(sender),
                ORIGIN: self._origin(sender, trip.packet),
                FRAGMENT: 0,  # connection tracking reassembles fragments
            }
            yield f"{sender.name} output", self._node(node_filter, "output"), leaving
        if LISTS in self.places:
            yield from self._lists(sender, receiver)
        node_filter = receiver.at(self.phase)
        if node_filter is not None and INPUT in self.places:
            is_own = self._origin(receiver, trip.packet) != FOREIGN
            arriving = {
                CT: state,
                OIF: _NO_INTERFACE,
                IIF: self._interface(receiver),
                ORIGIN: OWN if is_own else FOREIGN,
                FRAGMENT: 0,
            }
            yield f"{receiver.name} input", self._node(node_filter, "input"), arriving

    def _lists(self, sender: Member, receiver: Member) -> Iterator[tuple[str, PacketSet, _Change]]:
        if sender.edge is not None:
            port = sender.cable.b.port if sender.cable else ""
            yield f"{sender.edge.device} {port} in", sender.edge.wanted, {}
        for outside, which in ((sender, "inward"), (receiver, "outward")):
            border = self.stage.border_of(outside) if outside.is_outside else None
            border_filter = getattr(border, which) if border is not None else None
            if border is not None and border_filter is not None:
                yield f"{border.switch} border {border.name} {which}", border_filter.wanted, {}
        if receiver.own_list is not None:
            yield f"{receiver.name} {receiver.own_list.ports[0]} in", receiver.own_list.wanted, {}

    def _node(self, node_filter: NodeFilter, hook: str) -> PacketSet:
        key = (id(node_filter), hook)
        if key not in self._sets:
            make = node_input if hook == "input" else node_output
            boots = self.phase != RUNNING
            self._sets[key] = make(
                self.stage.declared, node_filter.zones, node_filter.nics, self.stage.numbers, boots=boots
            )
        return self._sets[key]

    def _interface(self, member: Member) -> int:
        return self.stage.numbers.of(member.interface).bounds[0][0]

    def _origin(self, member: Member, packet: RawPacket) -> int:
        if packet.source == member.addresses.get(packet.version):
            return OWN
        device, _ = self.stage.declared.addresses.get((packet.version, packet.source), ("", ""))
        return OWN_ELSEWHERE if device == member.name else FOREIGN


def _is_error(packet: RawPacket) -> bool:
    return packet.protocol in {ICMP4, ICMP6} and packet.icmp == UNREACHABLE[packet.version]


def _packets_at_place(packet: RawPacket, change: _Change) -> Iterator[Packet]:
    """The packets seen by a place: the whole packet, or its fragments at a place without reassembly."""
    number = packet.protocol
    fields = [0] * len(FIELDS)
    fields[FAMILY] = int(packet.version == 6)
    fields[IIF] = fields[OIF] = _NO_INTERFACE
    fields[PROTO], fields[SRC], fields[DST], fields[HOPS] = number, packet.source, packet.target, _HOPS
    later = list(fields)
    if number in {TCP, UDP}:
        fields[SPORT], fields[DPORT] = packet.sport, packet.dport
        fields[FLAGS] = packet.flags
    else:
        fields[ICMP] = packet.icmp
    parts = [fields]
    if packet.fragmented and FRAGMENT not in change:
        fields[FRAGMENT], later[FRAGMENT] = 1, 2
        parts.append(later)
    for part in parts:
        yield tuple(change.get(field_index, value) for field_index, value in enumerate(part))
