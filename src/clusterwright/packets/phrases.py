"""Packets, addresses and ports in words for people."""

from __future__ import annotations

import socket
from collections.abc import Iterator

from clusterwright.packets.boxes import (
    CT,
    CT_STATES,
    DPORT,
    DST,
    FAMILY,
    FLAGS,
    FRAGMENT,
    HOPS,
    ICMP,
    ICMP4,
    ICMP6,
    NEW,
    ORIGIN,
    PROTO,
    SPORT,
    SRC,
    TCP,
    UDP,
    UNTRACKED,
    Packet,
)
from clusterwright.packets.passage import Idle

_NAMES = {ICMP4: "ICMP", TCP: "TCP", UDP: "UDP", ICMP6: "ICMPv6"}
_FLAG_NAMES = ("FIN", "SYN", "RST", "PSH", "ACK", "URG", "ECE", "CWR")
_WITH_PORTS = frozenset({TCP, UDP, 33, 132, 136})
_LATER_FRAGMENT = 2
_ORIGIN_WORDS = (
    "a source that is no address of the interface",
    "a source that no route leads back to",
    "a source that is the receiver's own",
    "a source that is another interface's",
)
_USUAL_HOPS = frozenset({64})


def address(version: int, number: int) -> str:
    """An address in its usual text form."""
    family, size = (socket.AF_INET, 4) if version == 4 else (socket.AF_INET6, 16)
    return socket.inet_ntop(family, number.to_bytes(size, "big"))


def version_of(packet: Packet) -> int:
    """The IP version, 4 or 6."""
    return 4 if packet[FAMILY] == 0 else 6


def packet_phrase(packet: Packet, usual_origin: int) -> str:
    """A packet as ``TCP SYN 10.0.0.1:49152 to 10.0.0.2:22``, with its unusual fields.

    ``usual_origin`` is the origin of a legitimate packet at the filtering machine.
    """
    protocol = packet[PROTO]
    words = _NAMES.get(protocol, f"protocol {protocol}")
    if protocol == TCP and packet[FRAGMENT] != _LATER_FRAGMENT:
        words += " " + "+".join(name for bit, name in enumerate(_FLAG_NAMES) if packet[FLAGS] >> bit & 1)
    if protocol in {ICMP4, ICMP6}:
        words += f" type {packet[ICMP]}"
    phrase = f"{words} {_endpoint(packet, SRC, SPORT)} to {_endpoint(packet, DST, DPORT)}"
    unusual = list(_unusual_fields(packet, usual_origin))
    if unusual:
        phrase += f" ({', '.join(unusual)})"
    return phrase


def _endpoint(packet: Packet, address_field: int, port_field: int) -> str:
    version = version_of(packet)
    host = address(version, packet[address_field])
    if packet[PROTO] not in _WITH_PORTS or packet[FRAGMENT] == _LATER_FRAGMENT:
        return host
    if version == 6:
        host = f"[{host}]"
    return f"{host}:{packet[port_field]}"


def _unusual_fields(packet: Packet, usual_origin: int) -> Iterator[str]:
    if packet[CT] not in {NEW, UNTRACKED}:
        yield f"{CT_STATES[packet[CT]]} to connection tracking"
    if packet[FRAGMENT] == _LATER_FRAGMENT:
        yield "a later fragment"
    elif packet[FRAGMENT]:
        yield "a first fragment"
    if packet[ORIGIN] != usual_origin:
        yield _ORIGIN_WORDS[packet[ORIGIN]]
    if packet[PROTO] == ICMP6 and packet[HOPS] not in _USUAL_HOPS:
        yield f"hop limit {packet[HOPS]}"


def count(number: int, noun: str) -> str:
    """``1 node``, ``8 nodes``, ``2 switches``."""
    if number == 1:
        return f"1 {noun}"
    ending = "es" if noun.endswith("ch") else "s"
    return f"{number:,} {noun}{ending}"


def idle_phrase(where: str, idle: Idle) -> str:
    """The reason why a rule decides on no packet."""
    rule = f"rule {idle.name}" if idle.name else "this rule"
    if not idle.by:
        return f"{where}: {rule} can match no packet."
    hiding_line = f"line {idle.by}"
    if idle.by_name:
        hiding_line += f" ({idle.by_name})"
    return f"{where}: {rule} never decides: {hiding_line} hides it."
