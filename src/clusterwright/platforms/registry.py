"""Which renderers there are, in the order in which a device's files are made."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from operator import attrgetter
from typing import NamedTuple

from clusterwright.artifact import Artifact
from clusterwright.plan.model import Device, Plan
from clusterwright.platforms.boot import server as boot_server
from clusterwright.platforms.eos.writer import configuration as eos
from clusterwright.platforms.fboss.writer import configuration as fboss
from clusterwright.platforms.kueue import writer as kueue
from clusterwright.platforms.linux.writer import encryption as node_encryption
from clusterwright.platforms.linux.writer import health as node_health
from clusterwright.platforms.linux.writer import logins as node_logins
from clusterwright.platforms.linux.writer import mounts, nftables
from clusterwright.platforms.linux.writer import network as node_network
from clusterwright.platforms.linux.writer import qos as node_qos
from clusterwright.platforms.linux.writer import rdma as node_rdma
from clusterwright.platforms.linux.writer import secrets as node_secrets
from clusterwright.platforms.linux.writer import system as node_system
from clusterwright.platforms.linux.writer import watch as node_watch
from clusterwright.platforms.managed import writer as managed_switch
from clusterwright.platforms.nccl import files as nccl
from clusterwright.platforms.opensm.writer import configuration as opensm
from clusterwright.platforms.opensm.writer import fabric as opensm_fabric
from clusterwright.platforms.opensm.writer import subnet_topology
from clusterwright.platforms.receptor import writer as receptor
from clusterwright.platforms.slurm import writer as slurm
from clusterwright.platforms.sonic.writer import configuration as sonic
from clusterwright.platforms.ufm import writer as ufm

Renderer = Callable[[Plan, Device], Iterator[Artifact]]


class Entry(NamedTuple):
    """A renderer: the ``kind`` of its artifacts, which devices it ``applies`` to, and the function itself."""

    kind: str
    applies: Callable[[Plan, Device], bool]
    render: Renderer


DEVICE_RENDERERS: tuple[Entry, ...] = (
    Entry(eos.KIND, eos.applies, eos.render),
    Entry(fboss.KIND, fboss.applies, fboss.render),
    Entry(sonic.KIND, sonic.applies, sonic.render),
    Entry(managed_switch.KIND, managed_switch.applies, managed_switch.render),
    Entry(node_network.KIND, node_network.applies, node_network.render),
    Entry(node_system.KIND, node_system.applies, node_system.render),
    Entry(node_logins.KIND, node_logins.applies, node_logins.render),
    Entry(node_secrets.KIND, node_secrets.applies, node_secrets.render),
    Entry(node_qos.KIND, node_qos.applies, node_qos.render),
    Entry(node_rdma.KIND, node_rdma.applies, node_rdma.render),
    Entry(mounts.KIND, mounts.applies, mounts.render),
    Entry(node_encryption.KIND, node_encryption.applies, node_encryption.render),
    Entry(nccl.KIND, nccl.applies, nccl.render),
    Entry(nftables.KIND, nftables.applies, nftables.render),
    Entry(node_health.KIND, node_health.applies, node_health.render),
    Entry(node_watch.KIND, node_watch.applies, node_watch.render),
    Entry(opensm.KIND, opensm.applies, opensm.render),
    Entry(opensm_fabric.KIND, opensm_fabric.applies, opensm_fabric.render),
    Entry(subnet_topology.KIND, subnet_topology.applies, subnet_topology.render),
    Entry(ufm.KIND, ufm.applies, ufm.render),
    Entry(slurm.KIND, slurm.applies, slurm.render),
    Entry(receptor.KIND, receptor.applies, receptor.render),
    Entry(kueue.KIND, kueue.applies, kueue.render),
)


def device_files(plan: Plan, device: Device) -> tuple[Artifact, ...]:
    """Every file of a device by path, but for what a boot server keeps for others."""
    return _rendered(plan, device, DEVICE_RENDERERS)


def all_files(plan: Plan, device: Device) -> tuple[Artifact, ...]:
    """Every file of a device by path."""
    own = device_files(plan, device)
    boot_server.keep_overlay(plan, device, own, device_files)
    kept = _rendered(plan, device, SERVER_RENDERERS)
    return tuple(sorted((*own, *kept), key=_path)) if kept else own


def _rendered(plan: Plan, device: Device, entries: tuple[Entry, ...]) -> tuple[Artifact, ...]:
    found = [item for entry in entries if entry.applies(plan, device) for item in entry.render(plan, device)]
    return tuple(sorted(found, key=_path))


_path = attrgetter("path")


SERVER_RENDERERS = (Entry(boot_server.KIND, boot_server.applies, boot_server.over(device_files)),)
RENDERERS = (*DEVICE_RENDERERS, *SERVER_RENDERERS)
