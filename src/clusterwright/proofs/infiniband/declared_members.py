"""The planned members of InfiniBand fabrics: partitions, managers, idle parts, and IP over InfiniBand."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from clusterwright.plan.model import Device, IbSubnet, Plan
from clusterwright.plan.own_addresses import ipoib_nodes
from clusterwright.spec.ipoib import IpoibInterface
from clusterwright.spec.zone_reach import memberships_of

_NUMBER_BITS = 0x7FFF  # of a P_Key; the highest bit is full membership


@dataclass(frozen=True, slots=True)
class DeclaredPartition:
    """A partition by the spec's zones."""

    subnet: str
    name: str
    pkey: int
    members: Mapping[int, str]
    """``full`` or ``limited`` by port GUID."""
    ipoib: bool
    """Whether it carries IP."""


@dataclass(frozen=True, slots=True)
class DeclaredIpoib:
    """A planned interface of IP over InfiniBand."""

    name: str
    parent: str
    """The adapter."""
    pkey: int
    """16 bits, membership included."""
    address: str
    """With the prefix length."""


def guids_by_subnet(plan: Plan) -> Mapping[str, Mapping[int, str]]:
    """By subnet, the node group of every planned adapter port, by GUID."""
    subnet_of_switch: dict[str, str] = {}
    for subnet in plan.ib_subnets.values():
        subnet_of_switch |= dict.fromkeys(subnet.switches, subnet.name)
    groups: dict[str, dict[int, str]] = defaultdict(dict)
    for cable in plan.cables:
        if cable.a.guid is not None:
            groups[subnet_of_switch[cable.b.device]][cable.a.guid] = plan.by_name[cable.a.device].node_group
    return groups


def declared_partitions(plan: Plan, guids: Mapping[str, Mapping[int, str]]) -> tuple[DeclaredPartition, ...]:
    """Every partition of every subnet; ``guids`` are the result of ``guids_by_subnet``."""
    partitions = []
    for subnet in plan.ib_subnets.values():
        group_of_guid = guids.get(subnet.name, {})
        for partition in subnet.fabric.partitions:
            membership_of_group = memberships_of(plan.spec, partition)
            members: dict[int, str] = {}
            for guid, group in group_of_guid.items():
                if group in membership_of_group:
                    members[guid] = membership_of_group[group]
            partitions.append(
                DeclaredPartition(
                    subnet=subnet.name,
                    name=partition.name,
                    pkey=partition.pkey & _NUMBER_BITS,
                    members=members,
                    ipoib=partition.ipoib is not None,
                )
            )
    return tuple(partitions)


def declared_managers(plan: Plan) -> Mapping[str, tuple[frozenset[str], int]]:
    """By subnet, the possible hosts of its manager, and the number of managers."""
    managers = {}
    for subnet in plan.ib_subnets.values():
        manager = subnet.fabric.subnet_manager
        if manager is not None:
            hosts = frozenset(device.name for device in plan.devices if device.node_group == manager.nodes)
            managers[subnet.name] = (hosts, manager.count)
    return managers


def idle_parts(plan: Plan) -> Mapping[str, tuple[str, ...]]:
    """By InfiniBand subnet, the switches and ports drained or taken out of service by the spec."""
    return {name: tuple(_idle_parts_of(plan, subnet)) for name, subnet in plan.ib_subnets.items()}


def _idle_parts_of(plan: Plan, subnet: IbSubnet) -> Iterator[str]:
    for device in plan.devices:
        if device.name in subnet.switches and device.state != "active":
            yield device.name
    for exception in plan.spec.exceptions:
        if exception.device and exception.port and exception.state:
            cables = plan.cables_of.get(exception.device, ())
            if any(cable.b.device in subnet.switches for cable in cables):
                yield f"{exception.device} port {exception.port}"


def declared_ipoib(plan: Plan) -> Mapping[str, tuple[DeclaredIpoib, ...]]:
    """The interfaces of IP over InfiniBand by node."""
    return {device.name: tuple(_interfaces(device, interfaces)) for device, interfaces in ipoib_nodes(plan)}


def _interfaces(node: Device, interfaces: Iterable[IpoibInterface]) -> Iterator[DeclaredIpoib]:
    for interface in interfaces:
        yield DeclaredIpoib(
            name=interface.name,
            parent=interface.parent,
            pkey=interface.pkey,
            address=interface.address(node.index),
        )
