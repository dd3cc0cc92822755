"""InfiniBand partitions: their members, and the partition of NCCL's data.

The file never fails open: it names the default partition and makes every port a limited member of it, so that an
unplanned adapter can talk to the subnet manager and to no one else.
"""

from __future__ import annotations

from dataclasses import dataclass

from clusterwright.plan.model import Plan, format_guid
from clusterwright.spec.infiniband import Partition
from clusterwright.spec.zone_reach import data_partitions, memberships_of

FULL_MEMBER = 0x8000  # the bit of a P_Key in a port's table that says full membership


@dataclass(frozen=True, slots=True)
class PartitionView:
    """One rule of partitions.conf: name, P_Key as text, port GUIDs with ``full`` or ``limited``.

    ``ipoib`` says whether it carries IP.
    """

    name: str
    pkey: str
    members: tuple[tuple[str, str], ...]
    ipoib: bool


def partition_views(plan: Plan, subnet_name: str) -> tuple[PartitionView, ...]:
    """The partitions of a subnet that have members in it, by P_Key, besides the default one."""
    views = []
    guids_by_group = _nic_guids(plan, subnet_name)
    for partition in sorted(plan.ib_subnets[subnet_name].fabric.partitions, key=lambda partition: partition.pkey):
        membership = memberships_of(plan.spec, partition)
        members: list[tuple[str, str]] = []
        for group, guids in guids_by_group.items():
            if group in membership:
                members.extend((format_guid(guid), membership[group]) for guid in guids)
        if members:
            views.append(
                PartitionView(
                    name=partition.name,
                    pkey=f"0x{partition.pkey:04x}",
                    members=tuple(members),
                    ipoib=partition.ipoib is not None,
                )
            )
    return tuple(views)


def nccl_partition(plan: Plan, node_group: str) -> Partition | None:
    """The partition of NCCL's data between nodes of a group; None for the default one."""
    nccl = plan.spec.nccl(node_group)
    if nccl is None:
        return None
    candidates = data_partitions(plan.spec, nccl, node_group)
    return candidates[0] if candidates else None  # with several candidates, lint requires the profile to name one


def _nic_guids(plan: Plan, subnet_name: str) -> dict[str, list[int]]:
    switches = plan.ib_subnets[subnet_name].switches
    nic_guids: dict[str, list[int]] = {}
    for cable in plan.cables:
        if cable.a.guid is not None and cable.b.device in switches:
            nic_guids.setdefault(plan.by_name[cable.a.device].node_group, []).append(cable.a.guid)
    return nic_guids
