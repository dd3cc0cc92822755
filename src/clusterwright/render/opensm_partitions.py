"""InfiniBand partitions: who is a member of which, and the P_Key index under which a node finds it.

The file never fails open: it names the default partition and makes everybody a limited member of it, so that an adapter
that nobody planned can talk to the subnet manager and to no one else.
"""

from __future__ import annotations

from dataclasses import dataclass

from clusterwright.plan.model import Plan, format_guid
from clusterwright.render.per_plan import per_plan
from clusterwright.spec.infiniband import Partition

DEFAULT_PKEY = 0x7FFF
FIRST_INDEX = 1  # index 0 of every port holds the default partition


@dataclass(frozen=True, slots=True)
class PartitionView:
    """One rule of partitions.conf: name, P_Key as text, what members are, and their port GUIDs."""

    name: str
    pkey: str
    membership: str
    guids: tuple[str, ...]


@per_plan
def partition_views(plan: Plan, fabric_name: str) -> tuple[PartitionView, ...]:
    """The partitions of a fabric that have members, by P_Key, besides the default one."""
    fabric = plan.spec.fabric(fabric_name)
    if fabric is None:
        return ()
    found = []
    for partition in sorted(fabric.partitions, key=lambda each: each.pkey):
        members = _groups(plan, partition)
        guids = tuple(
            format_guid(guid)
            for group, guids in _nic_guids(plan, fabric_name).items()
            if group in members
            for guid in guids
        )
        if guids:
            found.append(PartitionView(partition.name, f"0x{partition.pkey:04x}", partition.membership, guids))
    return tuple(found)


@per_plan
def partition_indexes(plan: Plan, fabric_name: str) -> dict[str, int]:
    """P_Key index by node group, for node groups that are in partitions of this fabric: of their first full membership.

    opensm gives the P_Keys of a port the next free indexes in the order of their numbers.
    """
    fabric = plan.spec.fabric(fabric_name)
    found: dict[str, int] = {}
    if fabric is None:
        return found
    for group in plan.spec.node_groups:
        own = [
            partition
            for partition in sorted(fabric.partitions, key=lambda each: each.pkey)
            if group.name in _groups(plan, partition) and partition.pkey != DEFAULT_PKEY
        ]
        for index, partition in enumerate(own, FIRST_INDEX):
            if partition.membership == "full":
                found.setdefault(group.name, index)
    return found


def _groups(plan: Plan, partition: Partition) -> set[str]:
    """The node groups in a partition's zones."""
    found: set[str] = set()
    for name in partition.zones:
        zone = plan.spec.zone(name)
        found.update(zone.nodes if zone is not None else ())
        found.update(group.name for group in plan.spec.node_groups if group.zone == name)
    return found


@per_plan
def _nic_guids(plan: Plan, fabric_name: str) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for cable in plan.cables:
        if cable.fabric == fabric_name and cable.a.guid is not None:
            found.setdefault(plan.by_name[cable.a.device].node_group, []).append(cable.a.guid)
    return found
