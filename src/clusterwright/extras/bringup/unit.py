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
        """The number of cables by speed in Gb/s."""
        return Counter(cable.speed_gbps for cable in self.cables)

    @property
    def nic_speed_gbps(self) -> int:
        """The speed of the slowest NIC in service."""
        return min(cable.speed_gbps for cable in self.host_cables)

    @property
    def rails(self) -> int:
        """The number of a node's NICs on this fabric."""
        return max(len(nics) for nics in self.nics.values())


def unit_of(plan: Plan, group: str) -> tuple[BringupUnit, ...]:
    """The group's part of every RDMA fabric, in the spec's order.

    Raises ClusterwrightError for an unknown group, and for one without active GPU nodes on such a fabric.
    """
    group = group_named(plan, group)
    nodes: list[Device] = []
    for device in plan.devices:
        is_gpu_node = device.rank is not None
        if is_gpu_node and group in device.groups and device.state == "active":
            nodes.append(device)
    units = []
    for name in [fabric.name for fabric in plan.spec.fabrics if fabric.technology in RDMA]:
        nics = {node.name: _in_service(plan, node, nics_by_fabric(plan, node).get(name, ())) for node in nodes}
        unit_nodes = tuple(node for node in nodes if nics[node.name])
        if unit_nodes:
            units.append(_unit(plan, group, fabric_of(plan, name), unit_nodes, nics))
    if not units:
        raise ClusterwrightError(f"{group} has no active GPU node on an InfiniBand or RoCE fabric; name another group.")
    return tuple(units)


def _in_service(plan: Plan, node: Device, nics: tuple[HostNic, ...]) -> tuple[HostNic, ...]:
    ports: set[str] = set()
    for cable in plan.cables_of[node.name]:
        if cable.in_service and cable.a.device == node.name:
            ports.add(cable.a.port)
    return tuple(nic for nic in nics if nic.interface in ports)


def _unit(
    plan: Plan, group: str, fabric: Fabric, nodes: tuple[Device, ...], nics: Mapping[str, tuple[HostNic, ...]]
) -> BringupUnit:
    node_names = {node.name for node in nodes}
    switch_names: set[str] = set()
    for device in plan.devices:
        is_switch = device.kind == "switch" and device.fabric == fabric.name
        if is_switch and group in (device.group, *device.groups):
            switch_names.add(device.name)
    members = node_names | switch_names
    cables: list[Cable] = []
    for cable in plan.cables:
        is_usable = cable.fabric == fabric.name and cable.in_service and cable.a.side != "management"
        if is_usable and (cable.a.device in members or cable.b.device in switch_names):
            cables.append(cable)
    switch_names.update(cable.b.device for cable in cables if cable.a.device in node_names)
    return BringupUnit(
        group=group,
        fabric=fabric,
        nodes=nodes,
        nics={node.name: nics[node.name] for node in nodes},
        switches=tuple(device for device in plan.devices if device.name in switch_names),
        cables=tuple(cables),
    )
