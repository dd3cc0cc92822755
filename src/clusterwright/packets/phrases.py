"""Packets, addresses and ports in words for people."""

from __future__ import annotations

import socket

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
_SYN = 2
_ORIGIN_WORDS = (
    "a source that is no address of the interface",
    "a source that no route leads back to",
    "a source that is the receiver's own",
    "a source that is another interface's",
)
_USUAL_HOPS = frozenset({64})


def address(version: int, number: int) -> str:
    """An address as people write it."""
    family, size = (socket.AF_INET, 4) if version == 4 else (socket.AF_INET6, 16)
    return socket.inet_ntop(family, number.to_bytes(size, "big"))


def version_of(packet: Packet) -> int:
    """4 or 6."""
    return 4 if packet[FAMILY] == 0 else 6


def packet_phrase(packet: Packet, usual_origin: int) -> str:
    """A packet as ``TCP SYN 10.0.0.1:49152 to 10.0.0.2:22``, with its unusual fields.

    ``usual_origin`` is the origin of an honest packet at the machine that judges it.
    """
    version = version_of(packet)
    number = packet[PROTO]
    words = _NAMES.get(number, f"protocol {number}")
    if number == TCP and packet[FRAGMENT] != 2:
        words += " " + "+".join(name for at, name in enumerate(_FLAG_NAMES) if packet[FLAGS] >> at & 1)
    if number in {ICMP4, ICMP6}:
        words += f" type {packet[ICMP]}"
    ends = []
    for side, port in ((SRC, SPORT), (DST, DPORT)):
        text = address(version, packet[side])
        if number in _WITH_PORTS and packet[FRAGMENT] != 2:
            text = f"[{text}]:{packet[port]}" if version == 6 else f"{text}:{packet[port]}"
        ends.append(text)
    odd = [
        *([f"{CT_STATES[packet[CT]]} to connection tracking"] if packet[CT] not in {NEW, UNTRACKED} else []),
        *(["a later fragment"] if packet[FRAGMENT] == 2 else ["a first fragment"] if packet[FRAGMENT] else []),
        *([_ORIGIN_WORDS[packet[ORIGIN]]] if packet[ORIGIN] != usual_origin else []),
        *([f"hop limit {packet[HOPS]}"] if number == ICMP6 and packet[HOPS] not in _USUAL_HOPS else []),
    ]
    return f"{words} {' to '.join(ends)}" + (f" ({', '.join(odd)})" if odd else "")


def count(number: int, what: str) -> str:
    """``1 node``, ``8 nodes``, ``2 switches``."""
    ending = "" if number == 1 else "es" if what.endswith("ch") else "s"
    return f"{number:,} {what}{ending}"


def idle_phrase(where: str, idle: Idle) -> str:
    """Why a rule decides about nothing."""
    rule = f"rule {idle.name}" if idle.name else "this rule"
    if not idle.by:
        return f"{where}: {rule} can match no packet."
    by = f"line {idle.by}" + (f" ({idle.by_name})" if idle.by_name else "")
    return f"{where}: {rule} never decides: {by} hides it."
