"""From a fabric's data, which the schema has accepted, to the types of ``clusterwright.spec.infiniband``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clusterwright.spec.infiniband import (
    DEFAULT_SUBNET_PREFIX,
    OPENSM,
    PLANNED_GUID_PREFIX,
    ManagementKey,
    Partition,
    SubnetManager,
)
from clusterwright.spec.text.document import Path


def subnet_manager(data: Mapping[str, Any], path: Path, *, partitioned: bool) -> SubnetManager:
    """The subnet manager that a fabric describes at ``path``; ``partitioned`` says that it has partitions too.

    Without partitions the default one is the network, and its members are full; with partitions they are limited.
    """
    key = data.get("m_key")
    return SubnetManager(
        nodes=data["nodes"],
        count=data["count"],
        kind=data.get("kind", OPENSM),
        routing_engine=data["routing_engine"],
        adaptive_routing=data.get("adaptive_routing", False),
        sharp=data.get("sharp", False),
        default_membership=data.get("default_membership", "limited" if partitioned else "full"),
        m_key=None if key is None else management_key(key, (*path, "m_key")),
        guid_prefix=data.get("guid_prefix", PLANNED_GUID_PREFIX),
        subnet_prefix=_subnet_prefix(data.get("subnet_prefix", DEFAULT_SUBNET_PREFIX)),
        path=path,
    )


def _subnet_prefix(written: int | str) -> int:
    """A subnet prefix, which has 64 bits: more than a number of YAML holds for every reader."""
    return int(written, 16) if isinstance(written, str) else written


def management_key(data: Mapping[str, Any], path: Path) -> ManagementKey:
    """The M_Key's reference at ``path``."""
    return ManagementKey(data["secret"], data.get("protection", 1), data.get("lease_s", 60), path)


def partition(data: Mapping[str, Any], path: Path) -> Partition:
    """One partition at ``path``."""
    return Partition(
        name=data["name"],
        pkey=data["pkey"],
        zones=tuple(data["zones"]),
        membership=data["membership"],
        limited=tuple(data.get("limited", ())),
        path=path,
    )
