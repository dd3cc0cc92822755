"""Interfaces of IP over InfiniBand for systemd-networkd, and LNet's networks over them."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.artifact import Artifact
from clusterwright.device_files.writer import SharedFile, Writer
from clusterwright.hosts.linux.writer.network import FOLDER, KIND
from clusterwright.intent.device_kind import NodeKind, kind_of
from clusterwright.intent.node_nics import is_managed
from clusterwright.plan.model import Device, Plan
from clusterwright.spec.ipoib import IpoibInterface, ipoib_of, lnet_networks
from clusterwright.text.templates import template

MODULES = "etc/modules-load.d/ipoib.conf"
LNET = "etc/modprobe.d/lnet.conf"


def applies(plan: Plan, device: Device) -> bool:
    """Nodes with such an interface."""
    return is_managed(device) and bool(_interfaces(plan, kind_of(plan, device)))


def shared(plan: Plan, kind: NodeKind) -> Iterator[SharedFile]:
    """The interfaces' devices, their kernel module, and LNet's networks over them."""
    interfaces = _interfaces(plan, kind)
    for interface in interfaces:
        netdev = template("node/ipoib.netdev.j2").render(interface=interface)
        yield f"{FOLDER}/10-{interface.name}.netdev", netdev.encode(), 0o644
    if interfaces:
        yield MODULES, template("node/modules.conf.j2").render(modules=["ib_ipoib"]).encode(), 0o644
    if networks := lnet_networks(plan.spec, kind.node_group, interfaces):
        yield LNET, template("node/lnet.conf.j2").render(networks=networks).encode(), 0o644


def for_device(plan: Plan, device: Device) -> Iterator[Artifact]:
    """The address of each interface."""
    for interface in _interfaces(plan, kind_of(plan, device)):
        address = interface.address(device.index)
        text = template("node/ipoib.network.j2").render(interface=interface, address=address)
        yield Artifact(
            device=device.name, path=f"{FOLDER}/20-{interface.name}.network", source=text.encode(), kind=KIND
        )


def _interfaces(plan: Plan, kind: NodeKind) -> tuple[IpoibInterface, ...]:
    return ipoib_of(plan.spec, kind.node_group, {nic.interface for nic in kind.nics})


WRITER = Writer(kind=KIND, applies=applies, for_device=for_device, shared=shared)
