"""Zones, and the flows that are allowed between them."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network

from clusterwright.spec.document import Path

Network = IPv4Network | IPv6Network


@dataclass(frozen=True, slots=True)
class Zone:
    """A set of addresses that rules speak of: the networks of node groups on a fabric, and prefixes outside."""

    name: str
    nodes: tuple[str, ...]
    fabrics: tuple[str, ...]
    prefixes: tuple[Network, ...]
    path: Path


@dataclass(frozen=True, slots=True)
class Flow:
    """Traffic that is allowed from one zone to another; everything else is denied.

    ``ports`` are inclusive ranges of destination ports, empty for every port (and for icmp).
    """

    name: str
    source: str
    target: str
    protocol: str
    ports: tuple[tuple[int, int], ...]
    reason: str
    path: Path
