"""Every address that a device of the plan bears itself, and the interface that has it, as the device's system calls it.

Ports have the names of the hardware catalogue. Loopbacks and the gateways of shared host subnets lie on interfaces that
each system names by itself (inventory/systems).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from clusterwright.plan.model import Device, Plan, format_address
from clusterwright.spec.hardware.systems import systems
from clusterwright.spec.ipoib import IpoibInterface, carrying, ipoib_of

HOST_VLAN = 100  # of the hosts that share a subnet behind a switch
# FBOSS gives every routed interface a VLAN; Linux shows it as fboss and that number (facebook/fboss, TunManager).
FBOSS_LOOPBACK_VLAN = 10
# What a switch is given that nothing is written for: the plan's own words, which are no interface's name.
_PLANNED_LOOPBACK, _PLANNED_GATEWAY = "(loopback)", "(gateway)"


class OwnAddress(NamedTuple):
    """An address on an interface of a device.

    ``side`` is that of the plan's interfaces (``host``, ``down``, ``up``, ``management``), ``loopback``, ``gateway``
    (of a shared host subnet), ``border`` (towards a network outside) or ``ipoib`` (IP over InfiniBand).
    """

    device: str
    port: str
    side: str
    fabric: str
    version: int
    address: int
    prefix_length: int


def own_addresses(plan: Plan) -> Iterator[OwnAddress]:
    """Loopbacks in the order of the devices, gateways, interfaces in the order of the cables, borders, IPoIB."""
    known = systems()
    runs = {name: known.get(model.network_os or "") for name, model in plan.spec.catalogue.items()}
    for device in plan.devices:
        fabric = plan.spec.fabric(device.fabric)
        if device.loopback is not None and fabric is not None and fabric.addressing is not None:
            pool = fabric.addressing.loopbacks
            system = runs[device.model]
            port = _PLANNED_LOOPBACK if system is None else system.loopback
            yield OwnAddress(
                device=device.name,
                port=port,
                side="loopback",
                fabric=device.fabric,
                version=pool.version,
                address=device.loopback,
                prefix_length=pool.max_prefixlen,
            )
    for subnet in plan.subnets:
        if subnet.gateway is not None:
            system = runs[plan.by_name[subnet.device].model]
            port = _PLANNED_GATEWAY if system is None else system.gateway
            length = subnet.prefix_length
            yield OwnAddress(
                device=subnet.device,
                port=port,
                side="gateway",
                fabric=subnet.fabric,
                version=subnet.version,
                address=subnet.gateway,
                prefix_length=length,
            )
    versions = {f.name: f.addressing.hosts.version for f in plan.spec.fabrics if f.addressing is not None}
    for cable in plan.cables:
        bond = cable.bond.interface if cable.bond is not None else None
        for end, port in ((cable.a, bond or cable.a.port), (cable.b, cable.b.port)):
            if end.address is not None:
                version = versions[end.fabric]
                yield OwnAddress(
                    device=end.device,
                    port=port,
                    side=end.side,
                    fabric=end.fabric,
                    version=version,
                    address=end.address,
                    prefix_length=end.prefix_length,
                )
    for border in plan.spec.borders:
        if border.device in plan.by_name:
            fabric_name, own = plan.by_name[border.device].fabric, border.address
            length = own.network.prefixlen
            yield OwnAddress(
                device=border.device,
                port=border.port,
                side="border",
                fabric=fabric_name,
                version=own.version,
                address=int(own.ip),
                prefix_length=length,
            )
    for device, interfaces in ipoib_nodes(plan):
        for each in interfaces:
            network, number = each.carried.network, each.address_number(device.index)
            length = network.prefixlen
            yield OwnAddress(
                device=device.name,
                port=each.name,
                side="ipoib",
                fabric=each.fabric,
                version=network.version,
                address=number,
                prefix_length=length,
            )


def ipoib_nodes(plan: Plan) -> Iterator[tuple[Device, tuple[IpoibInterface, ...]]]:
    """The nodes with an interface of IP over InfiniBand, those that run an image."""
    if any(carrying(plan.spec)):
        for device in plan.devices:
            if device.kind == "node" and device.image is not None:
                cabled = {cable.a.port for cable in plan.cables_of[device.name] if cable.a.device == device.name}
                if own := ipoib_of(plan.spec, device.node_group, cabled):
                    yield device, own


def mesh_addresses(plan: Plan) -> Mapping[str, str]:
    """The address of every machine of the mesh: that of its first NIC on the mesh's fabric."""
    mesh = plan.spec.execution
    if mesh is None:
        return {}
    version, members = plan.address_version(mesh.fabric), set(mesh.devices)
    found: dict[str, str] = {}
    for cable in plan.cables:
        near = cable.a
        if cable.fabric == mesh.fabric and near.device in members and near.side == "host" and near.address is not None:
            found.setdefault(near.device, format_address(near.address, version))
    return found
