"""Zones, the flows that are allowed between them, where they meet the outside, and what was promised about them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from ipaddress import IPv4Address, IPv4Interface, IPv4Network, IPv6Address, IPv6Interface, IPv6Network

from clusterwright.spec.authentication import SessionAuthentication
from clusterwright.spec.document import Path

Network = IPv4Network | IPv6Network
Address = IPv4Address | IPv6Address
AddressWithLength = IPv4Interface | IPv6Interface

INTERNET = "internet"
BOOT = "boot"
MANAGEMENT = "management"
# Outside the cluster and the owner's own: what may send into an isolated zone.
OWNERS = frozenset({"production", "ingest-gateway", "services", "management", "boot"})


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

    ``protocol`` is ``tcp``, ``udp``, ``icmp`` or ``any``. ``ports`` are inclusive ranges of destination ports, empty
    for every port (and for protocols without). ``owner`` answers for it; ``expires`` is the last day on which it is
    wanted, None for no end. A flow stays open beyond that day until the spec drops it: rendering knows no clock.
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
