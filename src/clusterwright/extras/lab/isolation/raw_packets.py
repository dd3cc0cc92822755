"""Packets as bytes: IPv4 and IPv6 with TCP, UDP and ICMP, whole and in fragments, with valid checksums."""

from __future__ import annotations

import struct
from dataclasses import dataclass

ICMP4, TCP, UDP, ICMP6 = 1, 6, 17, 58
SYN, RST, ACK = 0x02, 0x04, 0x10
ECHO = {4: 8, 6: 128}
UNREACHABLE = {4: 3, 6: 1}
_HOPS = 64
_FRAGMENT_HEADER = 44  # of IPv6
_FIRST_BYTES = 32  # of the payload of IP in the first of two fragments: a whole TCP header and some more
_WINDOW = 1024


@dataclass(frozen=True, slots=True)
class RawPacket:
    """Fields of a packet: ``source`` and ``target`` are addresses as numbers, ``flags`` are TCP's, ``icmp`` the type.

    ``content`` is the payload of TCP, UDP or ICMP; ``sequence`` is TCP's number. A ``fragmented`` one is sent in two.
    """

    version: int
    source: int
    target: int
    protocol: int
    sport: int
    dport: int
    flags: int
    icmp: int
    sequence: int
    content: bytes
    fragmented: bool


def wire(packet: RawPacket) -> list[bytes]:
    """The packet from its IP header on, or its two fragments."""
    payload = _transport(packet)
    if not packet.fragmented:
        return [_header(packet, packet.protocol, len(payload), 0, last=True) + payload]
    first, later = payload[:_FIRST_BYTES], payload[_FIRST_BYTES:]
    return [_fragment(packet, 0, first, last=False), _fragment(packet, _FIRST_BYTES, later, last=True)]


def reset_of(segment: bytes) -> tuple[int, int, int] | None:
    """Source port, target port and acknowledged number of a TCP reset; None for other segments."""
    if len(segment) < 20 or segment[13] & RST == 0:
        return None
    sport, dport, _, acknowledged = struct.unpack_from("!HHII", segment)
    return sport, dport, acknowledged


def _fragment(packet: RawPacket, offset: int, part: bytes, *, last: bool) -> bytes:
    if packet.version == 4:
        return _header(packet, packet.protocol, len(part), offset, last=last) + part
    field = offset | (0 if last else 1)  # the offset counts eight bytes from its fourth bit on: the same number
    extension = struct.pack("!BBHI", packet.protocol, 0, field, packet.sequence & 0xFFFFFFFF)
    return _header(packet, _FRAGMENT_HEADER, 8 + len(part), 0, last=True) + extension + part


def _header(packet: RawPacket, following: int, length: int, offset: int, *, last: bool) -> bytes:
    if packet.version == 6:
        head = struct.pack("!IHBB", 6 << 28, length, following, _HOPS)
        return head + packet.source.to_bytes(16, "big") + packet.target.to_bytes(16, "big")
    field = offset // 8 | (0 if last else 0x2000)
    identity = packet.sequence & 0xFFFF or 1  # the kernel would replace 0
    ends = packet.source.to_bytes(4, "big") + packet.target.to_bytes(4, "big")
    head = struct.pack("!BBHHHBBH", 0x45, 0, 20 + length, identity, field, _HOPS, following, 0)
    return head[:10] + struct.pack("!H", _checksum(head + ends)) + ends


def _transport(packet: RawPacket) -> bytes:
    content = packet.content
    if packet.protocol == TCP:
        words = (packet.sport, packet.dport, packet.sequence, 1, 0x50, packet.flags, _WINDOW, 0, 0)
        text, checksum_offset = struct.pack("!HHIIBBHHH", *words) + content, 16
    elif packet.protocol == UDP:
        text, checksum_offset = struct.pack("!HHHH", packet.sport, packet.dport, 8 + len(content), 0) + content, 6
    else:
        rest = struct.pack("!HH", packet.sport, 1) if packet.icmp in ECHO.values() else bytes(4)
        code = 0 if packet.icmp in ECHO.values() else {4: 3, 6: 4}[packet.version]  # port unreachable
        text, checksum_offset = struct.pack("!BBH", packet.icmp, code, 0) + rest + content, 2
    summed = _checksum((b"" if packet.protocol == ICMP4 else _pseudo(packet, len(text))) + text)
    if packet.protocol == UDP:
        summed = summed or 0xFFFF
    return text[:checksum_offset] + struct.pack("!H", summed) + text[checksum_offset + 2 :]


def _pseudo(packet: RawPacket, length: int) -> bytes:
    size = 4 if packet.version == 4 else 16
    ends = packet.source.to_bytes(size, "big") + packet.target.to_bytes(size, "big")
    return ends + struct.pack("!II", length, packet.protocol)


def _checksum(text: bytes) -> int:
    """RFC 1071."""
    if len(text) % 2:
        text += b"\0"
    total: int = sum(struct.unpack(f"!{len(text) // 2}H", text))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF
