"""Partitions that nodes are no longer full members of after a change: connections in them end.

A subnet manager takes the P_Key out of a port's table, or makes it one of a limited member, and switches drop the
packets of connections that use it. So NCCL's queue pairs time out, and with them ends every job of these nodes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from clusterwright.plan.model import Plan
from clusterwright.spec.model import ClusterSpec
from clusterwright.spec.zone_reach import data_partitions, memberships_of

_FULL_MEMBER = 0x8000


@dataclass(frozen=True, slots=True)
class PartitionLoss:
    """A partition that nodes lose."""

    fabric: str
    partition: str
    key: str
    """Its P_Key as a full member has it."""
    nodes: tuple[str, ...]
    ends_jobs: bool
    """Whether NCCL's data travels in it."""


def lost_partitions(before: Plan, after: Plan) -> tuple[PartitionLoss, ...]:
    """Partitions that remaining nodes lose, in the order of the spec that runs."""
    kept = {fabric.name: _full_members(after.spec, fabric.name) for fabric in after.spec.fabrics}
    partitions = []
    for fabric in before.spec.fabrics:
        for partition in fabric.partitions:
            members = memberships_of(before.spec, partition)
            groups_after = kept.get(fabric.name, {}).get(partition.pkey, frozenset())
            losers = [
                device
                for device in before.devices
                if members.get(device.node_group) == "full"
                and device.name in after.by_name
                and after.by_name[device.name].node_group not in groups_after
            ]
            if not losers:
                continue
            carrying = {name for name in members if partition.pkey in _data_keys(before.spec, fabric.name, name)}
            partitions.append(
                PartitionLoss(
                    fabric=fabric.name,
                    partition=partition.name,
                    key=f"0x{partition.pkey | _FULL_MEMBER:04x}",
                    nodes=tuple(device.name for device in losers),
                    ends_jobs=any(device.node_group in carrying for device in losers),
                )
            )
    return tuple(partitions)


def _full_members(spec: ClusterSpec, fabric_name: str) -> Mapping[int, frozenset[str]]:
    """By P_Key the node groups that are full members on a fabric."""
    fabric = spec.fabric(fabric_name)
    full_members: dict[int, frozenset[str]] = {}
    if fabric is not None:
        for partition in fabric.partitions:
            groups = memberships_of(spec, partition)
            full_members[partition.pkey] = frozenset(
                name for name, membership in groups.items() if membership == "full"
            )
    return full_members


def _data_keys(spec: ClusterSpec, fabric_name: str, node_group: str) -> frozenset[int]:
    """The P_Keys in which NCCL's data of a group travels on a fabric."""
    nccl = spec.nccl(node_group)
    if nccl is None or nccl.fabric != fabric_name:
        return frozenset()
    return frozenset(partition.pkey for partition in data_partitions(spec, nccl, node_group))
