"""Which platforms there are, and what writes files, in the order in which a device's files are made."""

from __future__ import annotations

from collections.abc import Mapping
from operator import attrgetter

from clusterwright.artifact import Artifact
from clusterwright.plan.model import Device, Plan
from clusterwright.platforms.boot import server as boot_server
from clusterwright.platforms.eos.platform import PLATFORM as EOS
from clusterwright.platforms.fboss.platform import PLATFORM as FBOSS
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
from clusterwright.platforms.managed.platforms import MLNX_OS, NVOS
from clusterwright.platforms.nccl import files as nccl
from clusterwright.platforms.nvue.platform import PLATFORM as NVUE
from clusterwright.platforms.opensm.writer import configuration as opensm
from clusterwright.platforms.opensm.writer import fabric as opensm_fabric
from clusterwright.platforms.opensm.writer import subnet_topology
from clusterwright.platforms.platform import Platform, Writer
from clusterwright.platforms.receptor import writer as receptor
from clusterwright.platforms.slurm import writer as slurm
from clusterwright.platforms.sonic.platform import PLATFORM as SONIC
from clusterwright.platforms.ufm import writer as ufm

PLATFORMS: Mapping[str, Platform] = {each.system: each for each in (EOS, FBOSS, NVUE, SONIC, MLNX_OS, NVOS)}
"""Every switch system, by its name in the hardware catalogue."""

DEVICE_RENDERERS: tuple[Writer, ...] = (
    *dict.fromkeys(platform.writer for platform in PLATFORMS.values()),
    Writer(node_network.KIND, node_network.applies, node_network.render),
    Writer(node_system.KIND, node_system.applies, node_system.render),
    Writer(node_logins.KIND, node_logins.applies, node_logins.render),
    Writer(node_secrets.KIND, node_secrets.applies, node_secrets.render),
    Writer(node_qos.KIND, node_qos.applies, node_qos.render),
    Writer(node_rdma.KIND, node_rdma.applies, node_rdma.render),
    Writer(mounts.KIND, mounts.applies, mounts.render),
    Writer(node_encryption.KIND, node_encryption.applies, node_encryption.render),
    Writer(nccl.KIND, nccl.applies, nccl.render),
    Writer(nftables.KIND, nftables.applies, nftables.render),
    Writer(node_health.KIND, node_health.applies, node_health.render),
    Writer(node_watch.KIND, node_watch.applies, node_watch.render),
    Writer(opensm.KIND, opensm.applies, opensm.render),
    Writer(opensm_fabric.KIND, opensm_fabric.applies, opensm_fabric.render),
    Writer(subnet_topology.KIND, subnet_topology.applies, subnet_topology.render),
    Writer(ufm.KIND, ufm.applies, ufm.render),
    Writer(slurm.KIND, slurm.applies, slurm.render),
    Writer(receptor.KIND, receptor.applies, receptor.render),
    Writer(kueue.KIND, kueue.applies, kueue.render),
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


def _rendered(plan: Plan, device: Device, entries: tuple[Writer, ...]) -> tuple[Artifact, ...]:
    found = [item for entry in entries if entry.applies(plan, device) for item in entry.render(plan, device)]
    return tuple(sorted(found, key=_path))


_path = attrgetter("path")


SERVER_RENDERERS = (Writer(boot_server.KIND, boot_server.applies, boot_server.over(device_files)),)
RENDERERS = (*DEVICE_RENDERERS, *SERVER_RENDERERS)
