"""A node's NICs as its files need them: catalogue and plan joined, once per node."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from typing import NamedTuple

from clusterwright.intent.per_plan import per_plan
from clusterwright.plan.model import Device, Interface, Plan, fabric_of
from clusterwright.spec.fabric import Bond, Fabric
from clusterwright.spec.hardware.models import Nic


class HostNic(NamedTuple):
    """A cabled NIC or a bond; ``table`` is its routing table, ``gateway`` the switch's address on its link or subnet.

    ``version`` is the IP version, 0 on a fabric without addresses (InfiniBand); ``switch`` and ``switch_port`` are the
    far end of its cable. A bond has no device of its own: ``members`` are its NICs, without addresses, the first of
    them gives the far end, and ``bond`` describes how they are joined.
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
    bond: Bond | None = None
    members: tuple[HostNic, ...] = ()

    @property
    def ports(self) -> tuple[HostNic, ...]:
        """The cabled NICs: itself, or its members."""
        return self.members or (self,)


FIRST_TABLE = 100  # below the kernel's own tables (253 to 255)


def is_managed(device: Device) -> bool:
    """True for nodes with an image of the spec; appliances (storage) bring their own system."""
    return device.kind == "node" and device.image is not None


@per_plan
def nics_of(plan: Plan, device: Device) -> tuple[HostNic, ...]:
    """The cabled NICs of a node in the catalogue's order, bonds as one, without its BMC."""
    cable_by_port = {}
    for cable in plan.cables_of[device.name]:
        if cable.a.device == device.name and cable.a.side == "host":
            cable_by_port[cable.a.port] = cable
    nics: list[HostNic] = []
    members: dict[Bond, list[HostNic]] = {}
    for nic in _catalogue_nics(plan, device.model):
        nic_cable = cable_by_port.get(nic.interface)
        if nic_cable is None:
            continue
        host_nic = _host_nic(plan, nic, nic_cable.a, nic_cable.b, FIRST_TABLE + len(nics))
        bond = nic_cable.bond
        if bond is None:
            nics.append(host_nic)
        elif bond in members:
            members[bond].append(host_nic)
        else:
            members[bond] = [host_nic]
            nics.append(host_nic._replace(interface=bond.interface, rdma_device=None, pci=None, bond=bond))
    return tuple(_with_members(nic, members) for nic in nics)


def _with_members(nic: HostNic, members: Mapping[Bond, list[HostNic]]) -> HostNic:
    """A bond with its members, which have no addresses of their own; any other NIC as it is."""
    if nic.bond is None:
        return nic
    without_address = (member._replace(address=None, gateway=None) for member in members[nic.bond])
    return nic._replace(members=tuple(without_address))


@per_plan
def nics_by_fabric(plan: Plan, device: Device) -> dict[str, tuple[HostNic, ...]]:
    """The cabled NICs of a node by fabric, in rail order."""
    by_fabric: dict[str, list[HostNic]] = {}
    for nic in nics_of(plan, device):
        by_fabric.setdefault(nic.fabric.name, []).append(nic)
    return {name: tuple(nics) for name, nics in by_fabric.items()}


@per_plan
def _catalogue_nics(plan: Plan, model: str) -> tuple[Nic, ...]:
    return tuple(chain.from_iterable(group.nics for group in plan.spec.catalogue[model].nic_groups))


def _host_nic(plan: Plan, nic: Nic, near: Interface, far: Interface, table: int) -> HostNic:
    fabric = fabric_of(plan, near.fabric)
    gateway = far.address
    if gateway is None and near.address is not None:
        subnet = plan.host_subnet_of.get((near.fabric, far.device))
        gateway = subnet.gateway if subnet is not None else None
    version = 0
    if fabric.addressing is not None and near.address is not None:
        version = fabric.addressing.hosts.version
    return HostNic(
        interface=nic.interface,
        rdma_device=nic.rdma_device,
        pci=nic.pci,
        fabric=fabric,
        rail=near.rail,
        guid=near.guid,
        table=table,
        version=version,
        address=near.address,
        prefix_length=near.prefix_length,
        gateway=gateway,
        switch=far.device,
        switch_port=far.port,
    )
