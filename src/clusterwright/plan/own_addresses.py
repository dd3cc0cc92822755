"""Every address of a device of the plan, with its interface under the device's own name for it.

Ports have the names of the hardware catalogue. Loopbacks and the gateways of shared host subnets lie on interfaces
named by each system itself (inventory/systems).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from clusterwright.plan.model import Device, Plan, format_address
from clusterwright.spec.hardware.systems import System, systems
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
    yield from _loopbacks(plan)
    yield from _gateways(plan)
    yield from _cabled_addresses(plan)
    yield from _border_addresses(plan)
    yield from _ipoib_addresses(plan)


def _systems_by_model(plan: Plan) -> Mapping[str, System | None]:
    by_name = systems()
    return {name: by_name.get(model.network_os or "") for name, model in plan.spec.catalogue.items()}


def _loopbacks(plan: Plan) -> Iterator[OwnAddress]:
    system_by_model = _systems_by_model(plan)
    for device in plan.devices:
        fabric = plan.spec.fabric(device.fabric)
        if device.loopback is None or fabric is None or fabric.addressing is None:
            continue
        version = fabric.addressing.hosts.version
        system = system_by_model[device.model]
        yield OwnAddress(
            device=device.name,
            port=_PLANNED_LOOPBACK if system is None else system.loopback,
            side="loopback",
            fabric=device.fabric,
            version=version,
            address=device.loopback,
            prefix_length=fabric.addressing.hosts.max_prefixlen,
        )


def _gateways(plan: Plan) -> Iterator[OwnAddress]:
    system_by_model = _systems_by_model(plan)
    for subnet in plan.subnets:
        if subnet.gateway is None:
            continue
        system = system_by_model[plan.by_name[subnet.device].model]
        yield OwnAddress(
            device=subnet.device,
            port=_PLANNED_GATEWAY if system is None else system.gateway,
            side="gateway",
            fabric=subnet.fabric,
            version=subnet.version,
            address=subnet.gateway,
            prefix_length=subnet.prefix_length,
        )


def _cabled_addresses(plan: Plan) -> Iterator[OwnAddress]:
    versions = {f.name: f.addressing.hosts.version for f in plan.spec.fabrics if f.addressing is not None}
    for cable in plan.cables:
        bond = cable.bond.interface if cable.bond is not None else None
        for end, port in ((cable.a, bond or cable.a.port), (cable.b, cable.b.port)):
            if end.address is not None:
                yield OwnAddress(
                    device=end.device,
                    port=port,
                    side=end.side,
                    fabric=end.fabric,
                    version=versions[end.fabric],
                    address=end.address,
                    prefix_length=end.prefix_length,
                )


def _border_addresses(plan: Plan) -> Iterator[OwnAddress]:
    for border in plan.spec.borders:
        if border.device in plan.by_name:
            yield OwnAddress(
                device=border.device,
                port=border.port,
                side="border",
                fabric=plan.by_name[border.device].fabric,
                version=border.address.version,
                address=int(border.address.ip),
                prefix_length=border.address.network.prefixlen,
            )


def _ipoib_addresses(plan: Plan) -> Iterator[OwnAddress]:
    for device, interfaces in ipoib_nodes(plan):
        for interface in interfaces:
            network = interface.ipoib.network
            yield OwnAddress(
                device=device.name,
                port=interface.name,
                side="ipoib",
                fabric=interface.fabric,
                version=network.version,
                address=interface.address_number(device.index),
                prefix_length=network.prefixlen,
            )


def ipoib_nodes(plan: Plan) -> Iterator[tuple[Device, tuple[IpoibInterface, ...]]]:
    """The nodes with an image and an interface of IP over InfiniBand."""
    if not any(carrying(plan.spec)):
        return
    for device in plan.devices:
        if device.kind != "node" or device.image is None:
            continue
        cabled = {cable.a.port for cable in plan.cables_of[device.name] if cable.a.device == device.name}
        interfaces = ipoib_of(plan.spec, device.node_group, cabled)
        if interfaces:
            yield device, interfaces


def mesh_addresses(plan: Plan) -> Mapping[str, str]:
    """The address of every machine of the mesh: that of its first NIC on the mesh's fabric."""
    mesh = plan.spec.execution
    if mesh is None:
        return {}
    version, members = plan.address_version(mesh.fabric), set(mesh.devices)
    addresses: dict[str, str] = {}
    for cable in plan.cables:
        near = cable.a
        if cable.fabric != mesh.fabric or near.device not in members:
            continue
        if near.side == "host" and near.address is not None:
            addresses.setdefault(near.device, format_address(near.address, version))
    return addresses
