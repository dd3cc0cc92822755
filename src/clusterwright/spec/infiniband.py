"""Settings of InfiniBand fabrics alone: a subnet manager, partitions, and scanned GUIDs."""

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
DEFAULT_PKEY = 0x7FFF  # the partition that every port is in, as a full or a limited member


@dataclass(frozen=True, slots=True)
class ManagementKey:
    """The M_Key: ``secret`` names where the deployment keeps it, ``protection`` is its level (0 to 3).

    ``lease_s`` is how many seconds after the last sign of the subnet manager a port forgets it; 0 is never.
    """

    secret: str
    protection: int
    lease_s: int
    path: Path


def _subnet_prefix(_: Any, written: int | str, __: Path) -> int:
    """A subnet prefix, which has 64 bits: more than a number of YAML holds for every reader."""
    return int(written, 16) if isinstance(written, str) else written


@dataclass(frozen=True, slots=True)
class SubnetManager:
    """Where the subnet manager runs and how it routes: ``count`` hosts out of the node group ``nodes``.

    ``kind`` is ``opensm`` (the open one) or ``ufm`` (NVIDIA's). ``default_membership`` is what every port is in the
    default partition, ``limited`` or ``full``. GUIDs without a label are planned below ``guid_prefix`` (24 bits): a
    locally administered OUI, so that they never collide with a vendor's until scanned ones replace them.
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
    """The nodes of a group: each has the interface on its adapter ``nic``."""

    nodes: str
    nic: str
    path: Path


@dataclass(frozen=True, slots=True)
class Ipoib:
    """IP over InfiniBand (RFC 4391) in a partition: what nodes call the interface, the ``network`` on its link, and the
    part of it that they get ``addresses`` from; servers have theirs elsewhere in it."""

    interface: str
    network: Prefix
    addresses: Prefix
    hosts: tuple[IpoibHosts, ...]
    path: Path

    def of(self, node_group: str) -> IpoibHosts | None:
        """How nodes of a group are on it, None where they are not."""
        return next((host for host in self.hosts if host.nodes == node_group), None)


@dataclass(frozen=True, slots=True)
class Partition:
    """A partition: its P_Key (15 bits) and its members by zone. ``limited`` are those of its zones whose members are
    limited even where ``membership`` is full. ``ipoib`` is None where it carries no IP."""

    name: str
    pkey: int
    zones: tuple[str, ...]
    membership: str
    limited: tuple[str, ...]
    ipoib: Ipoib | None
    path: Path

    def membership_of(self, zone: str) -> str:
        """``full`` or ``limited``: what a member by this zone is."""
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
        """GUIDs by device and port, those of the overlay file too: it is of every fabric."""
        return {**{(row.device, row.port): row.guid for row in self.rows}, **self.overlay}
