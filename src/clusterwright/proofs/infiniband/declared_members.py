"""The planned members of InfiniBand fabrics: partitions, managers, idle parts, and IP over InfiniBand."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from clusterwright.plan.model import Plan
from clusterwright.plan.own_addresses import ipoib_nodes
from clusterwright.spec.fabric import Fabric
from clusterwright.spec.zone_reach import memberships_of

_NUMBER_BITS = 0x7FFF  # of a P_Key; the highest bit is full membership


@dataclass(frozen=True, slots=True)
class DeclaredPartition:
    """A partition as the spec's zones want it: port GUIDs to ``full`` or ``limited``; ``ipoib`` where it carries IP."""

    fabric: str
    name: str
    pkey: int
    members: Mapping[int, str]
    ipoib: bool


@dataclass(frozen=True, slots=True)
class DeclaredIpoib:
    """An interface of IP over InfiniBand: the adapter ``parent``, the P_Key of 16 bits, the address with its length."""

    name: str
    parent: str
    pkey: int
    address: str


def guids_by_fabric(plan: Plan) -> Mapping[str, Mapping[int, str]]:
    """By fabric, the node group of every planned adapter port, by GUID."""
    groups: dict[str, dict[int, str]] = defaultdict(dict)
    for cable in plan.cables:
        if cable.a.guid is not None:
            groups[cable.fabric][cable.a.guid] = plan.by_name[cable.a.device].node_group
    return groups


def declared_partitions(plan: Plan, guids: Mapping[str, Mapping[int, str]]) -> tuple[DeclaredPartition, ...]:
    """Every partition of every fabric; ``guids`` as ``guids_by_fabric`` gives them."""
    partitions = []
    for fabric in plan.spec.fabrics:
        group_of_guid = guids.get(fabric.name, {})
        for partition in fabric.partitions:
            membership_of_group = memberships_of(plan.spec, partition)
            members = {
                guid: membership_of_group[group]
                for guid, group in group_of_guid.items()
                if group in membership_of_group
            }
            partitions.append(
                DeclaredPartition(
                    fabric=fabric.name,
                    name=partition.name,
                    pkey=partition.pkey & _NUMBER_BITS,
                    members=members,
                    ipoib=partition.ipoib is not None,
                )
            )
    return tuple(partitions)


def declared_managers(plan: Plan) -> Mapping[str, tuple[frozenset[str], int]]:
    """By fabric, the hosts that may run its subnet manager, and how many of them do."""
    managers = {}
    for fabric in plan.spec.fabrics:
        manager = fabric.subnet_manager
        if manager is not None:
            hosts = frozenset(device.name for device in plan.devices if device.node_group == manager.nodes)
            managers[fabric.name] = (hosts, manager.count)
    return managers


def idle_parts(plan: Plan) -> Mapping[str, tuple[str, ...]]:
    """By InfiniBand fabric, the switches and ports that the spec drains or takes out of service."""
    return {
        fabric.name: tuple(_idle_parts_of(plan, fabric))
        for fabric in plan.spec.fabrics
        if fabric.technology == "infiniband"
    }


def _idle_parts_of(plan: Plan, fabric: Fabric) -> Iterator[str]:
    for device in plan.devices:
        if device.kind == "switch" and device.fabric == fabric.name and device.state != "active":
            yield device.name
    for exception in plan.spec.exceptions:
        if exception.device and exception.port and exception.state:
            cables = plan.cables_of.get(exception.device, ())
            ends = [end for cable in cables for end in (cable.a, cable.b)]
            if any(end.fabric == fabric.name and end.device == exception.device for end in ends):
                yield f"{exception.device} port {exception.port}"


def declared_ipoib(plan: Plan) -> Mapping[str, tuple[DeclaredIpoib, ...]]:
    """The interfaces of IP over InfiniBand of each node that has any."""
    declared = {}
    for device, interfaces in ipoib_nodes(plan):
        declared[device.name] = tuple(
            DeclaredIpoib(
                name=interface.name,
                parent=interface.parent,
                pkey=interface.pkey,
                address=interface.address(device.index),
            )
            for interface in interfaces
        )
    return declared
