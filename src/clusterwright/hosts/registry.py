"""The writers of hosts' files, in the order of a node's files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from clusterwright.artifact import Artifact
from clusterwright.device_files.writer import SharedFile, Writer
from clusterwright.hosts.kueue import writer as kueue
from clusterwright.hosts.linux.writer import credentials as node_credentials
from clusterwright.hosts.linux.writer import encryption as node_encryption
from clusterwright.hosts.linux.writer import ipoib as node_ipoib
from clusterwright.hosts.linux.writer import logins as node_logins
from clusterwright.hosts.linux.writer import memory_exchange as node_memory_exchange
from clusterwright.hosts.linux.writer import mounts, nftables
from clusterwright.hosts.linux.writer import network as node_network
from clusterwright.hosts.linux.writer import qos as node_qos
from clusterwright.hosts.linux.writer import rdma as node_rdma
from clusterwright.hosts.linux.writer import secrets as node_secrets
from clusterwright.hosts.linux.writer import system as node_system
from clusterwright.hosts.nccl import files as nccl
from clusterwright.hosts.node_checks import health as node_health
from clusterwright.hosts.node_checks import watch as node_watch
from clusterwright.hosts.opensm.writer import configuration as opensm
from clusterwright.hosts.opensm.writer import fabric as opensm_fabric
from clusterwright.hosts.opensm.writer import subnet_topology
from clusterwright.hosts.receptor import writer as receptor
from clusterwright.hosts.slurm import writer as slurm
from clusterwright.hosts.ufm import writer as ufm
from clusterwright.intent.device_kind import NodeKind
from clusterwright.plan.model import Device, Plan
from clusterwright.plan.node_parts import owns_kind


def _on_owned_parts(writer: Writer) -> Writer:
    """Restrict a writer to nodes whose image owns its part."""

    def applies(plan: Plan, device: Device) -> bool:
        return owns_kind(plan, device.image, writer.kind) and writer.applies(plan, device)

    def for_device(plan: Plan, device: Device) -> Iterator[Artifact]:
        if not owns_kind(plan, device.image, writer.kind):
            return iter(())
        return writer.for_device(plan, device)

    def shared(plan: Plan, kind: NodeKind) -> Iterable[SharedFile]:
        if not owns_kind(plan, kind.image, writer.kind):
            return ()
        return writer.shared(plan, kind)

    return writer._replace(applies=applies, for_device=for_device, shared=shared)


_WRITERS: tuple[Writer, ...] = (
    node_network.WRITER,
    node_system.WRITER,
    node_logins.WRITER,
    node_secrets.WRITER,
    node_qos.WRITER,
    node_rdma.WRITER,
    node_ipoib.WRITER,
    node_memory_exchange.WRITER,
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

WRITERS = tuple(_on_owned_parts(writer) for writer in _WRITERS)
