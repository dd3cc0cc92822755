"""The object of acceptance: the GPU nodes of a group, their NICs, the switches and cables around them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from clusterwright.finding import ClusterwrightError
from clusterwright.intent.node_nics import HostNic, nics_by_fabric
from clusterwright.plan.model import Cable, Device, Plan, fabric_of
from clusterwright.plan.pod_names import group_named
from clusterwright.spec.fabric import Fabric

RDMA = ("infiniband", "roce")


@dataclass(frozen=True)
class BringupUnit:
    """One RDMA fabric's part of a group.

    ``nics`` are the NICs of each node in rail order; ``cables`` those of the fabric with an end at a node of the group
    or at a switch that serves no other group, in service.
    """

    group: str
    fabric: Fabric
    nodes: tuple[Device, ...]
    nics: Mapping[str, tuple[HostNic, ...]]
    switches: tuple[Device, ...]
    cables: tuple[Cable, ...]

    @property
    def host_cables(self) -> tuple[Cable, ...]:
        """Cables to nodes."""
        return tuple(cable for cable in self.cables if cable.a.side == "host")

    @property
    def speeds(self) -> Mapping[int, int]:
        """How many cables there are at each speed, in Gb/s."""
        return Counter(cable.speed_gbps for cable in self.cables)

    @property
    def nic_speed_gbps(self) -> int:
        """The speed of the slowest NIC in service, which every pair can reach."""
        return min(cable.speed_gbps for cable in self.host_cables)

    @property
    def rails(self) -> int:
        """How many NICs a node has on this fabric."""
        return max(len(nics) for nics in self.nics.values())


def unit_of(plan: Plan, group: str) -> tuple[BringupUnit, ...]:
    """The group's part of every RDMA fabric, in the spec's order.

    Raises ClusterwrightError for an unknown group, and for one without active GPU nodes on such a fabric.
    """
    group = group_named(plan, group)
    nodes = tuple(
        device
        for device in plan.devices
        if device.rank is not None and group in device.groups and device.state == "active"
    )
    units = []
    for name in [fabric.name for fabric in plan.spec.fabrics if fabric.technology in RDMA]:
        here = {node.name: _in_service(plan, node, nics_by_fabric(plan, node).get(name, ())) for node in nodes}
        unit_nodes = tuple(node for node in nodes if here[node.name])
        if unit_nodes:
            units.append(_unit(plan, group, fabric_of(plan, name), unit_nodes, here))
    if not units:
        raise ClusterwrightError(f"{group} has no active GPU node on an InfiniBand or RoCE fabric; name another group.")
    return tuple(units)


def _in_service(plan: Plan, node: Device, nics: tuple[HostNic, ...]) -> tuple[HostNic, ...]:
    working = {cable.a.port for cable in plan.cables_of[node.name] if cable.in_service and cable.a.device == node.name}
    return tuple(nic for nic in nics if nic.interface in working)


def _unit(
    plan: Plan, group: str, fabric: Fabric, nodes: tuple[Device, ...], nics: Mapping[str, tuple[HostNic, ...]]
) -> BringupUnit:
    names = {node.name for node in nodes}
    unit_switches = {
        device.name
        for device in plan.devices
        if device.kind == "switch" and device.fabric == fabric.name and group in (device.group, *device.groups)
    }
    cables = tuple(
        cable
        for cable in plan.cables
        if cable.fabric == fabric.name and cable.in_service and cable.a.side != "management"
        if cable.a.device in names or cable.a.device in unit_switches or cable.b.device in unit_switches
    )
    touched = {cable.b.device for cable in cables if cable.a.device in names} | unit_switches
    switches = tuple(device for device in plan.devices if device.name in touched)
    return BringupUnit(
        group=group,
        fabric=fabric,
        nodes=nodes,
        nics={node.name: nics[node.name] for node in nodes},
        switches=switches,
        cables=cables,
    )
