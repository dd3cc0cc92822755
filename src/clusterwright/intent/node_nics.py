"""A node's NICs as its files need them: catalogue and plan joined, once per node."""

from __future__ import annotations

from dataclasses import dataclass

from clusterwright.intent.per_plan import per_plan
from clusterwright.plan.model import Device, Interface, Plan, fabric_of
from clusterwright.spec.fabric import Fabric
from clusterwright.spec.hardware.models import Nic


@dataclass(frozen=True, slots=True)
class HostNic:
    """A cabled NIC. ``table`` is its routing table; ``gateway`` the switch's address on its link or in its subnet.

    ``version`` is the IP version, 0 where the fabric has no addresses (InfiniBand); ``switch`` and ``switch_port`` say
    where its cable ends.
    """

    interface: str
    rdma_device: str | None
    pci: str | None
    fabric: Fabric
    rail: int | None
    guid: int | None
    table: int
    version: int
    address: int | None
    prefix_length: int
    gateway: int | None
    switch: str
    switch_port: str


FIRST_TABLE = 100  # below the kernel's own tables (253 to 255)


def is_managed(device: Device) -> bool:
    """True for nodes that run an image of ours; appliances (storage) bring their own system."""
    return device.kind == "node" and device.image is not None


@per_plan
def nics_of(plan: Plan, device: Device) -> tuple[HostNic, ...]:
    """The cabled NICs of a node, in the order of the catalogue's NIC groups; its BMC is not among them."""
    cabled: dict[str, tuple[Interface, Interface]] = {}
    for cable in plan.cables_of[device.name]:
        if cable.a.device == device.name and cable.a.side == "host":
            cabled[cable.a.port] = (cable.a, cable.b)
    found: list[HostNic] = []
    for nic in _catalogue_nics(plan, device.model):
        ends = cabled.get(nic.interface)
        if ends is not None:
            found.append(_host_nic(plan, nic, *ends, FIRST_TABLE + len(found)))
    return tuple(found)


@per_plan
def nics_by_fabric(plan: Plan, device: Device) -> dict[str, tuple[HostNic, ...]]:
    """The cabled NICs of a node by fabric, in rail order."""
    found: dict[str, list[HostNic]] = {}
    for nic in nics_of(plan, device):
        found.setdefault(nic.fabric.name, []).append(nic)
    return {name: tuple(nics) for name, nics in found.items()}


@per_plan
def _catalogue_nics(plan: Plan, model: str) -> tuple[Nic, ...]:
    return tuple(nic for group in plan.spec.catalogue[model].nic_groups for nic in group.nics)


def _host_nic(plan: Plan, nic: Nic, near: Interface, far: Interface, table: int) -> HostNic:
    fabric = fabric_of(plan, near.fabric)
    gateway = far.address
    if gateway is None and near.address is not None:
        subnet = plan.host_subnet_of.get((near.fabric, far.device))
        gateway = subnet.gateway if subnet is not None else None
    return HostNic(
        interface=nic.interface,
        rdma_device=nic.rdma_device,
        pci=nic.pci,
        fabric=fabric,
        rail=near.rail,
        guid=near.guid,
        table=table,
        version=fabric.addressing.hosts.version if fabric.addressing is not None and near.address is not None else 0,
        address=near.address,
        prefix_length=near.prefix_length,
        gateway=gateway,
        switch=far.device,
        switch_port=far.port,
    )
