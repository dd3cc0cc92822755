"""Which platforms there are, and what writes files, in the order in which a device's files are made."""

from __future__ import annotations

from collections.abc import Mapping
from operator import attrgetter, itemgetter

from clusterwright.artifact import Artifact
from clusterwright.intent.device_kind import Kind, NodeKind
from clusterwright.intent.per_plan import per_plan
from clusterwright.plan.model import Device, Plan
from clusterwright.platforms.boot import server as boot_server
from clusterwright.platforms.eos.platform import PLATFORM as EOS
from clusterwright.platforms.fboss.platform import PLATFORM as FBOSS
from clusterwright.platforms.image.shared import NodeFiles
from clusterwright.platforms.kueue import writer as kueue
from clusterwright.platforms.linux.writer import credentials as node_credentials
from clusterwright.platforms.linux.writer import encryption as node_encryption
from clusterwright.platforms.linux.writer import health as node_health
from clusterwright.platforms.linux.writer import ipoib as node_ipoib
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

_path = attrgetter("path")

PLATFORMS: Mapping[str, Platform] = {each.system: each for each in (EOS, FBOSS, NVUE, SONIC, MLNX_OS, NVOS)}
"""Every switch system, by its name in the hardware catalogue."""

_OF_SWITCHES = tuple(dict.fromkeys(platform.writer for platform in PLATFORMS.values()))
_OF_HOSTS: tuple[Writer, ...] = (
    node_network.WRITER,
    node_system.WRITER,
    node_logins.WRITER,
    node_secrets.WRITER,
    node_qos.WRITER,
    node_rdma.WRITER,
    node_ipoib.WRITER,
    mounts.WRITER,
    node_encryption.WRITER,
    nccl.WRITER,
    nftables.WRITER,
    node_health.WRITER,
    node_watch.WRITER,
    node_credentials.WRITER,
    Writer(opensm.KIND, opensm.applies, opensm.render),
    Writer(opensm_fabric.KIND, opensm_fabric.applies, opensm_fabric.render),
    Writer(subnet_topology.KIND, subnet_topology.applies, subnet_topology.render),
    Writer(ufm.KIND, ufm.applies, ufm.render),
    slurm.WRITER,
    Writer(receptor.KIND, receptor.applies, receptor.render),
    Writer(kueue.KIND, kueue.applies, kueue.render),
)
DEVICE_RENDERERS = (*_OF_SWITCHES, *_OF_HOSTS)


def _own(entries: tuple[Writer, ...], plan: Plan, device: Device) -> tuple[Artifact, ...]:
    found = [item for entry in entries if entry.applies(plan, device) for item in entry.own(plan, device)]
    return tuple(sorted(found, key=_path))


def _own_of_device(plan: Plan, device: Device) -> tuple[Artifact, ...]:
    return _own(_OF_SWITCHES if device.kind == "switch" else _OF_HOSTS, plan, device)


def shared_files(plan: Plan, kind: Kind, owner: str) -> tuple[Artifact, ...]:
    """What every device of a kind has, by path, as files of ``owner``."""
    return tuple(Artifact(owner, path, content, writer, mode) for path, content, mode, writer in _of_kind(plan, kind))


@per_plan
def _of_kind(plan: Plan, kind: Kind) -> tuple[tuple[str, bytes, int, str], ...]:
    entries = DEVICE_RENDERERS if isinstance(kind, NodeKind) else (PLATFORMS[kind.system].writer,)
    found = [(*file, entry.kind) for entry in entries for file in entry.of_kind(plan, kind)]
    return tuple(sorted(found, key=itemgetter(0)))


NODE_FILES = NodeFiles(_own_of_device, shared_files)


def device_files(plan: Plan, device: Device) -> tuple[Artifact, ...]:
    """Every file of a device by path, but for what a boot server keeps for others."""
    return NODE_FILES.all_of(plan, device)


def all_files(plan: Plan, device: Device) -> tuple[Artifact, ...]:
    """Every file of a device by path."""
    return tuple(sorted((*NODE_FILES.shared_with(plan, device), *own_files(plan, device)), key=_path))


def own_files(plan: Plan, device: Device) -> tuple[Artifact, ...]:
    """What a device has alone, by path: without what it has as every device of its kind has it."""
    own = NODE_FILES.own(plan, device)
    if device.kind == "switch":
        return own
    boot_server.keep_overlay(plan, device, own, NODE_FILES)
    return tuple(sorted((*own, *_own(SERVER_RENDERERS, plan, device)), key=_path))


SERVER_RENDERERS = (Writer(boot_server.KIND, boot_server.applies, boot_server.over(NODE_FILES)),)
RENDERERS = (*DEVICE_RENDERERS, *SERVER_RENDERERS)
