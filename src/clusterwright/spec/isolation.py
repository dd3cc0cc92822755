"""Zones, the flows permitted between them, their borders to the outside, and promises about them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from ipaddress import IPv4Address, IPv4Interface, IPv4Network, IPv6Address, IPv6Interface, IPv6Network
from typing import Annotated, Any

from clusterwright.spec.ethernet import SessionAuthentication
from clusterwright.spec.reading import BAD_PREFIX, NO_ADDRESS, NO_NEIGHBOUR, Reading
from clusterwright.spec.structuring import By, Key
from clusterwright.spec.text.document import Path

Network = IPv4Network | IPv6Network
Address = IPv4Address | IPv6Address
AddressWithLength = IPv4Interface | IPv6Interface
Prefix = Annotated[Network, By(Reading.network)]
"""A network in its text form."""

INTERNET = "internet"
BOOT = "boot"
MANAGEMENT = "management"
# Zones of the owner outside of the cluster, permitted to send into an isolated zone.
OWNERS = frozenset({"production", "ingest-gateway", "services", "management", "boot"})
# Protocols of a flow with ports: `icmp` has types, and `any` includes protocols without ports.
WITH_PORTS = frozenset({"tcp", "udp"})

ROCE_PORT = 4791
"""UDP port of RoCE v2 (IANA)."""


@dataclass(frozen=True, slots=True)
class Zone:
    """A set of addresses for flows: the networks of node groups on a fabric, and prefixes outside.

    ``kind`` is its role (``compute``, ``production``, ``internet``, ...); an ``isolated`` zone has no flow with a zone
    of kind ``internet``.
    """

    name: str
    kind: str
    isolated: bool
    nodes: tuple[str, ...]
    fabrics: tuple[str, ...]
    prefixes: tuple[Prefix, ...]
    path: Path


def _ports(reading: Reading, items: Any, path: Path) -> tuple[tuple[int, int], ...]:
    return joined(reading.ranges(items, path, 65535))


@dataclass(frozen=True, slots=True)
class Flow:
    """Permitted traffic from one zone to another; everything else is denied.

    ``protocol`` is ``tcp``, ``udp``, ``icmp`` or ``any``. ``ports`` are inclusive ranges of destination ports in order
    and without overlap, empty for every port (and for protocols without). ``owner`` is responsible for it; ``expires``
    is the last day of its need, None for no end. A flow stays open beyond that day until it is removed from the spec:
    rendering has no clock.
    """

    name: str
    source: Annotated[str, Key("from")]
    target: Annotated[str, Key("to")]
    protocol: str
    ports: Annotated[tuple[tuple[int, int], ...], By(_ports)]
    reason: str
    owner: str | None
    expires: Annotated[date | None, By(Reading.day)]
    path: Path

    @property
    def is_rdma(self) -> bool:
        """True for RoCE v2 itself, which is permitted on RoCE fabrics only and has no replies."""
        return self.protocol == "udp" and self.ports == ((ROCE_PORT, ROCE_PORT),)

    def opens(self, protocol: str, low: int, high: int | None = None) -> bool:
        """True if it permits a protocol (``tcp`` or ``udp``) to port ``low``, or to every port from there to ``high``.

        ``ports`` have no overlaps and no adjacent ranges, so consecutive ports lie within one of them.
        """
        last = low if high is None else high
        inside = not self.ports or any(first <= low and last <= end for first, end in self.ports)
        return self.protocol in (protocol, "any") and inside


@dataclass(frozen=True, slots=True)
class Border:
    """A BGP session with an external network, over one port of one switch; ``zones`` are the networks behind it."""

    name: str
    device: str
    port: str
    speed_gbps: int
    address: Annotated[AddressWithLength, By(Reading.interface)]
    neighbour: Annotated[Address, By(Reading.address)]
    asn: int
    zones: tuple[str, ...]
    authentication: SessionAuthentication | None
    path: Path

    @classmethod
    def read(cls, reading: Reading, data: Mapping[str, Any], path: Path) -> Border:
        """Read a border; the far end of the link must lie in the near end's network and differ from it."""
        border = reading.fields(cls, data, path)
        near, far = border.address, border.neighbour
        is_valid = near is not NO_ADDRESS and far is not NO_NEIGHBOUR
        if is_valid and (far not in near.network or far == near.ip):
            message = f"{far} is not the far end of a link on which the switch is {near}."
            hint = f"Name the other address of {near.network}."
            reading.problem(BAD_PREFIX, (*path, "neighbour"), message, hint)
        return border


@dataclass(frozen=True, slots=True)
class Promise:
    """A promise of the owner: ``name`` is its label (P1), ``promise`` one of the supported ones."""

    name: str
    promise: str
    says: str
    path: Path


def joined(ports: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """The same ports in the fewest inclusive ranges, in order; a repeated port counts once."""
    ranges: list[tuple[int, int]] = []
    for low, high in sorted(ports):
        if ranges and low <= ranges[-1][1] + 1:
            ranges[-1] = (ranges[-1][0], max(ranges[-1][1], high))
        else:
            ranges.append((low, high))
    return tuple(ranges)
