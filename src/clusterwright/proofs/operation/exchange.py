"""An exchange between a switch and a server or client: a request, and the answer to its source."""

from __future__ import annotations

import socket
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache

from clusterwright.packets.boxes import ESTABLISHED, NEW, TCP, V4, V6, Box, PacketSet, box
from clusterwright.packets.phrases import address
from clusterwright.packets.ranges import Ranges, values

# SYN; then ACK alone, with SYN, FIN, PSH, and with the last two.
_OPENS, _GOES_ON = values(2), values(16, 17, 18, 24, 25)
_WHOLE_PACKETS = values(0)


@dataclass(frozen=True, slots=True)
class Exchange:
    """One kind of exchange over a fabric.

    ``switches`` are addresses of switches, ``peers`` those at the other end. ``port`` is the servers' for requests of
    switches (``is_request``), else the switches'.
    """

    service: str
    fabric: str
    version: int
    protocol: int
    port: int
    is_request: bool
    switches: Ranges
    peers: Ranges

    @property
    def title(self) -> str:
        """The exchange in a few words, with one of its peers."""
        peer = address(self.version, self.peers.bounds[0][0])
        return f"{peer} is asked for {self.service}" if self.is_request else f"{peer} asks for {self.service}"

    def of(self, switches: Ranges, peers: Ranges) -> Exchange:
        """The same exchange between some of its addresses."""
        return replace(self, switches=self.switches & switches, peers=self.peers & peers)

    def from_switches(self, **fields: Ranges) -> list[Box]:
        """Packets from the switches."""
        return self._packets(is_first=self.is_request, source=self.switches, target=self.peers, fields=fields)

    def to_switches(self, **fields: Ranges) -> list[Box]:
        """Packets to the switches."""
        return self._packets(is_first=not self.is_request, source=self.peers, target=self.switches, fields=fields)

    def _packets(self, *, is_first: bool, source: Ranges, target: Ranges, fields: dict[str, Ranges]) -> list[Box]:
        """Packets in one direction: that of the request with ``is_first``."""
        if not source or not target:
            return []
        port = "dport" if is_first else "sport"
        common = {
            "family": V4 if self.version == 4 else V6,
            "proto": values(self.protocol),
            "src": source,
            "dst": target,
            "fragment": _WHOLE_PACKETS,
            port: values(self.port),
            **fields,
        }
        flags = {"flags": _GOES_ON} if self.protocol == TCP else {}
        packets = [box(**common, **flags, ct=values(ESTABLISHED))]
        if is_first:
            opening = {"flags": _OPENS} if self.protocol == TCP else {}
            packets.append(box(**common, **opening, ct=values(NEW)))
        return packets


def packets_of(boxes: Iterable[Box]) -> PacketSet:
    """Packets as a set."""
    return PacketSet(tuple(boxes))


@lru_cache(maxsize=1 << 14)
def numbered(text: str) -> tuple[int, int] | None:
    """IP version and number of an address, with or without the length of its network; None for other text."""
    version = 6 if ":" in text else 4
    try:
        packed = socket.inet_pton(socket.AF_INET6 if version == 6 else socket.AF_INET, text.partition("/")[0])
    except OSError:
        return None
    return version, int.from_bytes(packed, "big")
