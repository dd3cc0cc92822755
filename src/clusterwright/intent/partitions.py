"""InfiniBand partitions: who is a member of which, and the P_Key index under which a node finds it.

The file never fails open: it names the default partition and makes everybody a limited member of it, so that an adapter
that nobody planned can talk to the subnet manager and to no one else.
"""

from __future__ import annotations

from dataclasses import dataclass

from clusterwright.intent.per_plan import per_plan
from clusterwright.plan.model import Plan, format_guid
from clusterwright.spec.zone_reach import memberships_of

DEFAULT_PKEY = 0x7FFF
FIRST_INDEX = 1  # index 0 of every port holds the default partition


@dataclass(frozen=True, slots=True)
class PartitionView:
    """One rule of partitions.conf: name, P_Key as text, port GUIDs with ``full`` or ``limited``.

    ``ipoib`` says whether it carries IP.
    """

    name: str
    pkey: str
    members: tuple[tuple[str, str], ...]
    ipoib: bool


@per_plan
def partition_views(plan: Plan, fabric_name: str) -> tuple[PartitionView, ...]:
    """The partitions of a fabric that have members, by P_Key, besides the default one."""
    fabric = plan.spec.fabric(fabric_name)
    if fabric is None:
        return ()
    found = []
    for partition in sorted(fabric.partitions, key=lambda each: each.pkey):
        membership = memberships_of(plan.spec, partition)
        members = tuple(
            (format_guid(guid), membership[group])
            for group, guids in _nic_guids(plan, fabric_name).items()
            if group in membership
            for guid in guids
        )
        if members:
            found.append(PartitionView(partition.name, f"0x{partition.pkey:04x}", members, partition.ipoib is not None))
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
    partitions = sorted((each for each in fabric.partitions if each.pkey != DEFAULT_PKEY), key=lambda each: each.pkey)
    for group in plan.spec.node_groups:
        memberships = [memberships_of(plan.spec, partition).get(group.name) for partition in partitions]
        own = [membership for membership in memberships if membership is not None]
        if "full" in own:
            found[group.name] = FIRST_INDEX + own.index("full")
    return found


@per_plan
def _nic_guids(plan: Plan, fabric_name: str) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for cable in plan.cables:
        if cable.fabric == fabric_name and cable.a.guid is not None:
            found.setdefault(plan.by_name[cable.a.device].node_group, []).append(cable.a.guid)
    return found
