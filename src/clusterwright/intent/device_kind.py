"""Kinds of devices: equal kinds give equal shared files.

A text written from a kind cannot depend on anything else of a device: its name, its addresses, its place. So devices of
one kind share such text, and their files need no comparison.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from clusterwright.intent.node_nics import HostNic, is_managed, nics_of
from clusterwright.intent.per_plan import per_plan
from clusterwright.intent.scheduling import slurm_units
from clusterwright.plan.model import Device, Plan
from clusterwright.spec.fabric import Bond
from clusterwright.spec.hardware.systems import WITHOUT_FILES


class KindNic(NamedTuple):
    """A cabled NIC as all nodes of a kind have it, or a bond with its ``members``.

    ``version`` is the IP version, 0 without an address; ``switch`` is a number of the far switch, counted in the order
    of the node's NICs, equal for nodes at different switches.
    """

    interface: str
    rdma_device: str | None
    pci: str | None
    fabric: str
    version: int
    switch: int
    bond: Bond | None = None
    members: tuple[KindNic, ...] = ()

    @property
    def ports(self) -> tuple[KindNic, ...]:
        """The cabled NICs: itself, or its members."""
        return self.members or (self,)


@dataclass(frozen=True, slots=True)
class NodeKind:
    """Nodes of one group and image on one model of machine, cabled alike; ``slurm_units`` are those of Slurm."""

    node_group: str
    image: str
    model: str
    nics: tuple[KindNic, ...]
    slurm_units: tuple[str, ...]

    def by_fabric(self) -> Mapping[str, tuple[KindNic, ...]]:
        """The NICs by fabric, in rail order."""
        nics_by_fabric: dict[str, list[KindNic]] = {}
        for nic in self.nics:
            nics_by_fabric.setdefault(nic.fabric, []).append(nic)
        return {name: tuple(nics) for name, nics in nics_by_fabric.items()}


@dataclass(frozen=True, slots=True)
class SwitchKind:
    """Switches of one system, with their management ports in one fabric, or in none (None)."""

    system: str
    management: str | None


Kind = NodeKind | SwitchKind


@per_plan
def device_kind(plan: Plan, device: Device) -> Kind | None:
    """The kind of a device; None for one without rendered files: an appliance, a switch without a CPU."""
    if is_managed(device):
        return kind_of(plan, device)
    system = plan.spec.catalogue[device.model].network_os if device.kind == "switch" else None
    if system is None or system in WITHOUT_FILES:
        return None
    return SwitchKind(system=system, management=_management_fabric(plan, device))


def _management_fabric(plan: Plan, device: Device) -> str | None:
    """The fabric of a switch's own management port; None without one."""
    for cable in plan.cables_of[device.name]:
        if cable.a.side == "management" and cable.a.device == device.name:
            return cable.fabric
    return None


@per_plan
def kind_of(plan: Plan, device: Device) -> NodeKind:
    """The kind of a node. Raises ValueError for a device without an image of the spec."""
    if not is_managed(device):
        raise ValueError(f"{device.name}: runs no image")
    switches: dict[str, int] = {}
    nics = tuple(_nic(nic, switches) for nic in nics_of(plan, device))
    kind = NodeKind(
        node_group=device.node_group,
        image=device.image or "",
        model=device.model,
        nics=nics,
        slurm_units=slurm_units(plan, device),
    )
    return _only(plan, kind)


def _nic(nic: HostNic, switches: dict[str, int]) -> KindNic:
    switch = switches.setdefault(nic.switch, len(switches))
    members = tuple(_nic(member, switches) for member in nic.members)
    return KindNic(
        interface=nic.interface,
        rdma_device=nic.rdma_device,
        pci=nic.pci,
        fabric=nic.fabric.name,
        version=nic.version,
        switch=switch,
        bond=nic.bond,
        members=members,
    )


@per_plan
def _only(plan: Plan, kind: NodeKind) -> NodeKind:
    """One object for equal kinds, since each node of a plan makes one."""
    return kind
