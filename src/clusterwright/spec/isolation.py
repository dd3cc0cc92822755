"""Zones, the flows that are allowed between them, where they meet the outside, and what was promised about them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from ipaddress import IPv4Address, IPv4Interface, IPv4Network, IPv6Address, IPv6Interface, IPv6Network

from clusterwright.spec.authentication import SessionAuthentication
from clusterwright.spec.text.document import Path

Network = IPv4Network | IPv6Network
Address = IPv4Address | IPv6Address
AddressWithLength = IPv4Interface | IPv6Interface

INTERNET = "internet"
BOOT = "boot"
MANAGEMENT = "management"
# Outside the cluster and the owner's own: what may send into an isolated zone.
OWNERS = frozenset({"production", "ingest-gateway", "services", "management", "boot"})
# The protocols of a flow whose packets name ports: `icmp` has types, and `any` takes in protocols without ports.
WITH_PORTS = frozenset({"tcp", "udp"})


@dataclass(frozen=True, slots=True)
class Zone:
    """A set of addresses that rules speak of: the networks of node groups on a fabric, and prefixes outside.

    ``kind`` says what it is (``compute``, ``production``, ``internet``, ...); an ``isolated`` zone has no flow with a
    zone of kind ``internet``.
    """

    name: str
    kind: str
    isolated: bool
    nodes: tuple[str, ...]
    fabrics: tuple[str, ...]
    prefixes: tuple[Network, ...]
    path: Path


@dataclass(frozen=True, slots=True)
class Flow:
    """Traffic that is allowed from one zone to another; everything else is denied.

    ``protocol`` is ``tcp``, ``udp``, ``icmp`` or ``any``. ``ports`` are inclusive ranges of destination ports in order
    and without overlap, empty for every port (and for protocols without). ``owner`` answers for it; ``expires`` is the
    last day on which it is wanted, None for no end. A flow stays open beyond that day until the spec drops it:
    rendering knows no clock.
    """

    name: str
    source: str
    target: str
    protocol: str
    ports: tuple[tuple[int, int], ...]
    reason: str
    owner: str | None
    expires: date | None
    path: Path

    def opens(self, protocol: str, low: int, high: int | None = None) -> bool:
        """True when it lets a protocol (``tcp`` or ``udp``) reach port ``low``, or every port from there to ``high``.

        ``ports`` hold no overlap and no neighbours, so that ports in a row lie within one of them.
        """
        last = low if high is None else high
        inside = not self.ports or any(first <= low and last <= end for first, end in self.ports)
        return self.protocol in (protocol, "any") and inside


@dataclass(frozen=True, slots=True)
class Border:
    """A BGP session with a network outside, over one port of one switch; ``zones`` are what lies behind it."""

    name: str
    device: str
    port: str
    speed_gbps: int
    address: AddressWithLength
    neighbour: Address
    asn: int
    zones: tuple[str, ...]
    authentication: SessionAuthentication | None
    path: Path


@dataclass(frozen=True, slots=True)
class Promise:
    """What the owner has promised: ``name`` as people call it (P1), ``promise`` which of the known ones it is."""

    name: str
    promise: str
    says: str
    path: Path


def joined(ports: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """The same ports in the fewest inclusive ranges, in order: a port that is written twice is one port."""
    found: list[tuple[int, int]] = []
    for low, high in sorted(ports):
        if found and low <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(found[-1][1], high))
        else:
            found.append((low, high))
    return tuple(found)
