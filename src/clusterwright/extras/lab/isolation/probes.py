"""The matrix of packets: between all pairs of members, of every kind with different treatment by filters."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from ipaddress import ip_address
from itertools import product

from clusterwright.extras.lab.isolation.expectation import PacketExpectation, Trip
from clusterwright.extras.lab.isolation.members import Member, Stage
from clusterwright.extras.lab.isolation.raw_packets import (
    ACK,
    ECHO,
    ICMP4,
    ICMP6,
    SYN,
    TCP,
    UDP,
    UNREACHABLE,
    RawPacket,
    wire,
)
from clusterwright.packets.phrases import address
from clusterwright.proofs.isolation.declared import DeclaredFlow
from clusterwright.proofs.isolation.nodes import RUNNING

SEQUENCE = 0x10000000  # the number of the first probe's first byte in TCP
SPACE = 256  # between two probes' numbers in TCP
_MARK = b"clusterwright"
_PADDING = 40  # bytes, so that a fragmented packet has two parts
_NUMBERS = {"tcp": TCP, "udp": UDP}
_DISCARD = 9  # a port outside of any sensible flow
_UNUSED = {4: int(ip_address("169.254.9.9")), 6: int(ip_address("100::9"))}  # RFC 6890: never a source on a network
PORT, FRAGMENTS, SPOOFED, ECHO_REQUEST = "port", "fragments", "spoofed source", "ICMP echo"
ERROR, REPLY, ANSWER, OTHER = (
    "ICMP error of no flow",
    "reply without a request",
    "established reply",
    "other IP version",
)


@dataclass(frozen=True, slots=True)
class Probe:
    """A packet to send: its ``kind``, and the filter expected to stop it in ``stopped`` ("" for one to arrive)."""

    number: int
    kind: str
    trip: Trip
    stopped: str

    @property
    def content(self) -> bytes:
        """The mark of this probe's packets."""
        return mark(self.number)


def mark(number: int) -> bytes:
    """The content of one probe's packets."""
    return _MARK + number.to_bytes(6, "big")


def number_in(content: bytes) -> int | None:
    """The number of a received packet's probe; None for a packet without a mark."""
    mark_offset = content.find(_MARK)
    if mark_offset < 0:
        return None
    start = mark_offset + len(_MARK)
    return int.from_bytes(content[start : start + 6], "big")


def matrix(stage: Stage, expectation: PacketExpectation, first: int, port: int) -> Iterator[Probe]:
    """Every packet of the matrix with a filter on its path, numbered from ``first``.

    ``port`` is the first of the ports without a service; each packet between two members has its own in both
    directions, so that connection tracking assigns none to another packet's connection.
    """
    number = first
    place = {member.name: index for index, member in enumerate(stage.members)}
    for sender, receiver in _pairs(stage, expectation):
        pair_port = port + 2 * (place[sender.name] < place[receiver.name])
        for index, (kind, packet) in enumerate(_packets(stage, expectation.phase, sender, receiver, port)):
            filter_choices = (False, True) if sender.at(expectation.phase) is not None else (False,)
            for past_filter in filter_choices:
                marked = _marked(packet, number, pair_port + 4 * index + past_filter, kind)
                trip = Trip(sender=sender, receiver=receiver, packet=marked, past_filter=past_filter)
                if expectation.is_checked(trip):
                    yield Probe(number=number, kind=kind, trip=trip, stopped=expectation.stopped_at(trip) or "")
                    number += 1


def answer_of(probe: Probe, number: int, expectation: PacketExpectation) -> Probe:
    """The answer to an arrived datagram."""
    request = probe.trip.packet
    packet = RawPacket(
        version=request.version,
        source=request.target,
        target=request.source,
        protocol=request.protocol,
        sport=request.dport,
        dport=request.sport,
        flags=0,
        icmp=0,
        sequence=0,
        content=mark(number),
        fragmented=False,
    )
    trip = Trip(probe.trip.receiver, probe.trip.sender, packet, is_answer=True)
    return Probe(number=number, kind=ANSWER, trip=trip, stopped=expectation.stopped_at(trip) or "")


def unfiltered_pairs(stage: Stage) -> list[tuple[Member, Member]]:
    """Senders outside and receivers inside without a filter between them, on an undeclared path."""
    outside = [member for member in stage.members if member.is_outside]
    inside = [member for member in stage.members if not member.is_outside]
    return [(sender, receiver) for sender, receiver in product(outside, inside) if _is_open(stage, sender, receiver)]


def _is_open(stage: Stage, sender: Member, receiver: Member) -> bool:
    border = stage.border_of(sender)
    return (border is None or border.inward is None) and receiver.running is None and receiver.own_list is None


def _pairs(stage: Stage, expectation: PacketExpectation) -> Iterator[tuple[Member, Member]]:
    for sender in stage.members:
        for receiver in stage.members:
            is_pair = sender is not receiver and not (sender.is_outside and receiver.is_outside)
            if expectation.phase != RUNNING:
                is_pair = is_pair and (sender.booting is not None or receiver.booting is not None)
            if is_pair and not (sender.is_outside and _is_open(stage, sender, receiver)):
                yield sender, receiver


def _packets(stage: Stage, phase: str, sender: Member, receiver: Member, port: int) -> Iterator[tuple[str, RawPacket]]:
    """Each kind of packet between two members; the sender's port is 0."""
    flows = [flow for flow in stage.declared.flows if flow.protocol in _NUMBERS and flow.ports is not None]
    for version in sorted(set(sender.addresses) & set(receiver.addresses)):
        ends = (version, sender.addresses[version], receiver.addresses[version])
        usual = version == stage.twin.version
        for protocol in _NUMBERS:
            for dport in _ports(flows, protocol, neighbours=usual):
                yield PORT if usual else OTHER, _segment(*ends, protocol, dport=dport)
        yield ECHO_REQUEST, _icmp(*ends, ECHO[version])
        if phase != RUNNING:
            continue
        yield ERROR, _icmp(*ends, UNREACHABLE[version])
        for flow in flows:
            low = flow.ports.bounds[0][0] if flow.ports is not None else 0
            yield FRAGMENTS, _segment(*ends, flow.protocol, dport=low, fragmented=True)
            yield REPLY, _segment(*ends, flow.protocol, sport=low, dport=port, flags=ACK)
        for protocol in _NUMBERS:
            yield FRAGMENTS, _segment(*ends, protocol, dport=_DISCARD, fragmented=True)
        for source in _false_sources(stage, version, sender, receiver):
            for flow in _opening(stage, flows, source, receiver):
                low = flow.ports.bounds[0][0] if flow.ports is not None else 0
                yield SPOOFED, _segment(version, source, ends[2], flow.protocol, dport=low)


def _ports(flows: Sequence[DeclaredFlow], protocol: str, *, neighbours: bool) -> list[int]:
    """The first and last port of each range of the flows and, with ``neighbours``, the ports beside them."""
    ports = set()
    for flow in flows:
        if flow.protocol == protocol and flow.ports is not None:
            for low, high in flow.ports.bounds:
                ports |= {low - 1, low, high, high + 1} if neighbours else {low}
    return sorted(port for port in ports | {_DISCARD} if 0 < port < 65536)


def _false_sources(stage: Stage, version: int, sender: Member, receiver: Member) -> list[int]:
    """Addresses of all other members with the receiver, and an unused one."""
    others = [member.addresses[version] for member in stage.members if version in member.addresses]
    return sorted({*others, _UNUSED[version]} - {sender.addresses[version]})


def _opening(stage: Stage, flows: Sequence[DeclaredFlow], source: int, receiver: Member) -> list[DeclaredFlow]:
    """Flows useful to a forged source: the first of the address's owner, and the first of any zone."""
    owner_zones: tuple[str, ...] = ()
    for member in stage.members:
        if source in member.addresses.values():
            owner_zones = member.zones
            break
    to_receiver = [flow for flow in flows if flow.target in receiver.zones]
    from_owner = [flow for flow in to_receiver if flow.source in owner_zones]
    return list(dict.fromkeys([*from_owner[:1], *(to_receiver or flows)[:1]]))


def _segment(
    version: int,
    source: int,
    target: int,
    protocol: str,
    *,
    sport: int = 0,
    dport: int = 0,
    flags: int = SYN,
    fragmented: bool = False,
) -> RawPacket:
    flags = flags if protocol == "tcp" else 0
    return RawPacket(
        version=version,
        source=source,
        target=target,
        protocol=_NUMBERS[protocol],
        sport=sport,
        dport=dport,
        flags=flags,
        icmp=0,
        sequence=0,
        content=b"",
        fragmented=fragmented,
    )


def _icmp(version: int, source: int, target: int, kind: int) -> RawPacket:
    return RawPacket(
        version=version,
        source=source,
        target=target,
        protocol=ICMP4 if version == 4 else ICMP6,
        sport=0,
        dport=0,
        flags=0,
        icmp=kind,
        sequence=0,
        content=b"",
        fragmented=False,
    )


def _marked(packet: RawPacket, number: int, port: int, kind: str) -> RawPacket:
    """The packet with its probe's mark and its own port."""
    sport, dport = (packet.sport, port) if kind == REPLY else (port, packet.dport)
    sequence = (SEQUENCE + number * SPACE) & 0xFFFFFFFF
    content = mark(number)
    if packet.fragmented:
        content += bytes(_PADDING)
    if kind == ERROR:  # about a datagram allegedly sent by the receiver
        ends = (packet.version, packet.target, packet.source)
        content = wire(RawPacket(*ends, UDP, port, _DISCARD, 0, 0, sequence, content, False))[0]
    return RawPacket(
        *(packet.version, packet.source, packet.target, packet.protocol, sport, dport, packet.flags, packet.icmp),
        *(sequence, content, packet.fragmented),
    )


def probe_phrase(probe: Probe) -> str:
    """A probe as text: ``TCP 10.0.0.1:20000 to 10.0.0.2:22``."""
    packet = probe.trip.packet
    ends = [address(packet.version, end) for end in (packet.source, packet.target)]
    name = {TCP: "TCP", UDP: "UDP", ICMP4: "ICMP", ICMP6: "ICMPv6"}[packet.protocol]
    if packet.protocol in {TCP, UDP}:
        shown = [f"[{end}]" if packet.version == 6 else end for end in ends]
        text = f"{name} {shown[0]}:{packet.sport} to {shown[1]}:{packet.dport}"
    else:
        text = f"{name} type {packet.icmp} {ends[0]} to {ends[1]}"
    past = ", past its own filter" if probe.trip.past_filter else ""
    return f"{text} ({probe.kind}{past}), sent by {probe.trip.sender.name}, for {probe.trip.receiver.name}"
