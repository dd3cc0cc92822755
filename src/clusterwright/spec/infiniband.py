"""Settings of InfiniBand fabrics only: a subnet manager, partitions, and scanned GUIDs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Any

from clusterwright.finding import Position
from clusterwright.spec.isolation import Prefix
from clusterwright.spec.structuring import By
from clusterwright.spec.text.document import Path

OPENSM = "opensm"
UFM = "ufm"
DEFAULT_PKEY = 0x7FFF  # the partition of every port, as a full or a limited member


@dataclass(frozen=True, slots=True)
class ManagementKey:
    """The M_Key: ``secret`` names it in the deployment's secrets, ``protection`` is its level (0 to 3).

    ``lease_s`` is the time until a port forgets it without a sign of the subnet manager, in seconds; 0 is never.
    """

    secret: str
    protection: int
    lease_s: int
    path: Path


def _subnet_prefix(_: Any, written: int | str, __: Path) -> int:
    """A subnet prefix of 64 bits: too large for the integers of some YAML readers."""
    return int(written, 16) if isinstance(written, str) else written


@dataclass(frozen=True, slots=True)
class SubnetManager:
    """Location and routing of the subnet manager: ``count`` hosts out of the node group ``nodes``.

    ``kind`` is ``opensm`` (the open one) or ``ufm`` (NVIDIA's). ``default_membership`` is the membership of every port
    in the default partition, ``limited`` or ``full``. GUIDs without a label are planned below ``guid_prefix`` (24
    bits): a locally administered OUI, so that they never collide with a vendor's until scanned ones replace them.
    """

    nodes: str
    count: int
    kind: str
    routing_engine: str
    adaptive_routing: bool
    sharp: bool
    default_membership: str
    m_key: ManagementKey | None
    guid_prefix: int
    subnet_prefix: Annotated[int, By(_subnet_prefix)]
    path: Path


@dataclass(frozen=True, slots=True)
class IpoibHosts:
    """A node group with the interface on its adapter ``nic``."""

    nodes: str
    nic: str
    path: Path


@dataclass(frozen=True, slots=True)
class Ipoib:
    """IP over InfiniBand (RFC 4391) in a partition: the ``interface`` on nodes, and the ``network`` on its link.

    Nodes get ``addresses``, a part of the network; servers have addresses outside of that part."""

    interface: str
    network: Prefix
    addresses: Prefix
    hosts: tuple[IpoibHosts, ...]
    path: Path

    def of(self, node_group: str) -> IpoibHosts | None:
        """The entry of a node group; None for nodes without an interface."""
        for host in self.hosts:
            if host.nodes == node_group:
                return host
        return None


@dataclass(frozen=True, slots=True)
class Partition:
    """A partition: its P_Key (15 bits) and its members by zone.

    ``limited`` are zones with limited members even if ``membership`` is full. ``ipoib`` is None without IP."""

    name: str
    pkey: int
    zones: tuple[str, ...]
    membership: str
    limited: tuple[str, ...]
    ipoib: Ipoib | None
    path: Path

    def membership_of(self, zone: str) -> str:
        """``full`` or ``limited``: the membership given by this zone."""
        return "limited" if zone in self.limited else self.membership


@dataclass(frozen=True, slots=True)
class ScannedGuid:
    """One label: the GUID of ``device``'s adapter ``port``, or of a switch or a director's chip (``port`` "")."""

    device: str
    port: str
    guid: int
    position: Position


@dataclass(frozen=True)
class GuidFile:
    """The labels of one fabric, in the order of their file."""

    file: str
    rows: tuple[ScannedGuid, ...]
    path: Path
    overlay: Mapping[tuple[str, str], int] = field(default_factory=dict)

    @cached_property
    def by_end(self) -> Mapping[tuple[str, str], int]:
        """GUIDs by device and port, including the overlay file's, which covers every fabric."""
        scanned = {(row.device, row.port): row.guid for row in self.rows}
        return {**scanned, **self.overlay}
