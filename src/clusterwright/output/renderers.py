"""The files of a device, from the writers of switches, of hosts and of boot servers."""

from __future__ import annotations

from collections.abc import Collection
from operator import attrgetter, itemgetter

from clusterwright.artifact import Artifact
from clusterwright.device_files.writer import Writer
from clusterwright.hosts import registry as hosts
from clusterwright.hosts.boot import server as boot_server
from clusterwright.hosts.image.shared import NodeFiles
from clusterwright.intent.device_kind import Kind, NodeKind
from clusterwright.intent.per_plan import per_plan
from clusterwright.plan.model import Device, Plan
from clusterwright.switches import registry as switches

_path = attrgetter("path")

DEVICE_RENDERERS = (*switches.WRITERS, *hosts.WRITERS)


def _individual_files(writers: tuple[Writer, ...], plan: Plan, device: Device) -> tuple[Artifact, ...]:
    """Files written for this device alone, by path."""
    artifacts: list[Artifact] = []
    for writer in writers:
        if writer.applies(plan, device):
            artifacts += writer.for_device(plan, device)
    return tuple(sorted(artifacts, key=_path))


def _individual_files_of(plan: Plan, device: Device) -> tuple[Artifact, ...]:
    writers = switches.WRITERS if device.kind == "switch" else hosts.WRITERS
    return _individual_files(writers, plan, device)


def shared_files(plan: Plan, kind: Kind, owner: str) -> tuple[Artifact, ...]:
    """The common files of all devices of a kind, by path, as files of ``owner``."""
    return tuple(
        Artifact(device=owner, path=path, source=content, kind=writer, mode=mode)
        for path, content, mode, writer in _of_kind(plan, kind)
    )


@per_plan
def _of_kind(plan: Plan, kind: Kind) -> tuple[tuple[str, bytes, int, str], ...]:
    writers = DEVICE_RENDERERS if isinstance(kind, NodeKind) else (switches.SYSTEMS[kind.system].writer,)
    files: list[tuple[str, bytes, int, str]] = []
    for writer in writers:
        files += [(*file, writer.kind) for file in writer.of_kind(plan, kind)]
    return tuple(sorted(files, key=itemgetter(0)))


NODE_FILES = NodeFiles(_individual_files_of, shared_files)


def device_files(plan: Plan, device: Device) -> tuple[Artifact, ...]:
    """Every file of a device by path, without a boot server's files for nodes."""
    return NODE_FILES.all_of(plan, device)


def all_files(plan: Plan, device: Device) -> tuple[Artifact, ...]:
    """Every file of a device by path."""
    return tuple(sorted((*NODE_FILES.shared_with(plan, device), *own_files(plan, device)), key=_path))


def own_files(plan: Plan, device: Device) -> tuple[Artifact, ...]:
    """The files of a device alone, by path, without the common files of its kind."""
    files = NODE_FILES.for_device(plan, device)
    if device.kind == "switch":
        return files
    boot_server.keep_overlay(plan, device, files, NODE_FILES)
    return tuple(sorted((*files, *_individual_files(SERVER_RENDERERS, plan, device)), key=_path))


def files_for_nodes(plan: Plan, device: Device, nodes: Collection[str]) -> tuple[Artifact, ...]:
    """Every file of a device; of a boot server's files for nodes, only those for ``nodes``."""
    files = device_files(plan, device)
    if not boot_server.applies(plan, device):
        return files
    settings = boot_server.over(NODE_FILES)(plan, device)
    return (*files, *settings, *boot_server.archives(NODE_FILES, nodes)(plan, device))


SERVER_RENDERERS = (
    Writer(boot_server.KIND, boot_server.applies, boot_server.over(NODE_FILES)),
    Writer(boot_server.ARCHIVES, boot_server.applies, boot_server.archives(NODE_FILES)),
)
RENDERERS = (*DEVICE_RENDERERS, *SERVER_RENDERERS)
