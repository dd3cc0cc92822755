"""Partitions losing full members by a change: connections of these nodes in them end.

A subnet manager removes the P_Key from a port's table, or makes it one of a limited member, and switches drop the
packets of connections with it. NCCL's queue pairs time out, and every job of these nodes ends with them.
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
    """A partition lost by nodes."""

    fabric: str
    partition: str
    key: str
    """Its P_Key for full members."""
    nodes: tuple[str, ...]
    ends_jobs: bool
    """Whether NCCL's data travels in it."""


def lost_partitions(before: Plan, after: Plan) -> tuple[PartitionLoss, ...]:
    """Partitions lost by remaining nodes, in the order of the spec ``before``."""
    members_after = {fabric.name: _full_members(after.spec, fabric.name) for fabric in after.spec.fabrics}
    partitions = []
    for fabric in before.spec.fabrics:
        for partition in fabric.partitions:
            members = memberships_of(before.spec, partition)
            groups_after = members_after.get(fabric.name, {}).get(partition.pkey, frozenset())
            losers = []
            for device in before.devices:
                device_after = after.by_name.get(device.name)
                if device_after is None or members.get(device.node_group) != "full":
                    continue
                if device_after.node_group not in groups_after:
                    losers.append(device)
            if not losers:
                continue
            data_groups = {name for name in members if partition.pkey in _data_keys(before.spec, fabric.name, name)}
            partitions.append(
                PartitionLoss(
                    fabric=fabric.name,
                    partition=partition.name,
                    key=f"0x{partition.pkey | _FULL_MEMBER:04x}",
                    nodes=tuple(device.name for device in losers),
                    ends_jobs=any(device.node_group in data_groups for device in losers),
                )
            )
    return tuple(partitions)


def _full_members(spec: ClusterSpec, fabric_name: str) -> Mapping[int, frozenset[str]]:
    """Node groups with full membership on a fabric, by P_Key."""
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
    """P_Keys of a group's NCCL traffic on a fabric."""
    nccl = spec.nccl(node_group)
    if nccl is None or nccl.fabric != fabric_name:
        return frozenset()
    return frozenset(partition.pkey for partition in data_partitions(spec, nccl, node_group))
