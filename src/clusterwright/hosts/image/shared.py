"""One golden image, small overlays: split a node's files into the image's and its own.

A file belongs to the image when the usual kinds of its nodes share it (``intent.device_kind``). A node's other files
are its overlay, so that image and overlay together are always the node's files, except those with secrets: the
deployment brings them. Names and addresses of NICs are never in the image: it may be used on another model.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from operator import attrgetter
from typing import NamedTuple

from clusterwright.artifact import Artifact
from clusterwright.hosts.linux.writer.network import KIND as NETWORK
from clusterwright.hosts.linux.writer.secrets import KIND as SECRETS
from clusterwright.intent.device_kind import Kind, NodeKind, device_kind, kind_of
from clusterwright.intent.node_nics import is_managed
from clusterwright.intent.per_plan import per_plan
from clusterwright.plan.model import Device, Plan


class NodeFiles(NamedTuple):
    """Render a device's files by path: those ``for_device`` alone, and those ``shared`` by its kind."""

    for_device: Callable[[Plan, Device], tuple[Artifact, ...]]
    shared: Callable[[Plan, Kind, str], tuple[Artifact, ...]]

    def shared_with(self, plan: Plan, device: Device) -> tuple[Artifact, ...]:
        """The files of a device common to its kind."""
        kind = device_kind(plan, device)
        if kind is None:
            return ()
        return self.shared(plan, kind, device.name)

    def all_of(self, plan: Plan, device: Device) -> tuple[Artifact, ...]:
        """All files of a device."""
        return tuple(sorted((*self.shared_with(plan, device), *self.for_device(plan, device)), key=_path))


_path = attrgetter("path")


@per_plan
def shared_files(plan: Plan, image: str, files: NodeFiles) -> tuple[Artifact, ...]:
    """Files shared by the usual kinds of nodes of ``image``, by path. Empty for an image without nodes.

    The usual kind is that of most nodes of a node group and model. Exceptions have other files in their overlays. A
    file missing from any kind is in no image: an overlay cannot remove files.
    """
    nodes_by_kind: Counter[NodeKind] = Counter()
    for device in plan.devices:
        if is_managed(device) and device.image == image:
            nodes_by_kind[kind_of(plan, device)] += 1
    if not nodes_by_kind:
        return ()
    usual_kinds: dict[tuple[str, str], NodeKind] = {}
    for kind, _ in nodes_by_kind.most_common():
        usual_kinds.setdefault((kind.node_group, kind.model), kind)
    files_by_kind = {kind: files.shared(plan, kind, kind.node_group) for kind in nodes_by_kind}
    usual_files = [files_by_kind[kind] for kind in usual_kinds.values()]
    candidates = [artifact for artifact in usual_files[0] if artifact.kind not in (NETWORK, SECRETS)]
    common_keys = {_key(artifact) for artifact in candidates}
    for shared in usual_files[1:]:
        common_keys &= {_key(artifact) for artifact in shared}
    common_paths = {artifact.path for artifact in candidates}
    for shared in files_by_kind.values():
        common_paths &= {artifact.path for artifact in shared}
    equal_files = [artifact for artifact in candidates if _key(artifact) in common_keys]
    of_image = (artifact for artifact in equal_files if artifact.path in common_paths)
    return tuple(sorted(of_image, key=_path))


@per_plan
def _shared_keys(plan: Plan, image: str, files: NodeFiles) -> frozenset[tuple[str, int, str]]:
    return frozenset(_key(artifact) for artifact in shared_files(plan, image, files))


def overlay_files(plan: Plan, device: Device, files: NodeFiles) -> tuple[Artifact, ...]:
    """A node's files outside its image for a boot server, by path, without those with secrets."""
    return of_overlay(plan, device, files.for_device(plan, device), files)


def of_overlay(plan: Plan, device: Device, artifacts: tuple[Artifact, ...], files: NodeFiles) -> tuple[Artifact, ...]:
    """A node's overlay, from its own files, ``artifacts``, and those shared by its kind."""
    of_kind = _kind_overlay(plan, kind_of(plan, device), files)
    return tuple(sorted((*of_kind, *_not_in_image(plan, device.image or "", artifacts, files)), key=_path))


@per_plan
def _kind_overlay(plan: Plan, kind: NodeKind, files: NodeFiles) -> tuple[Artifact, ...]:
    return _not_in_image(plan, kind.image, files.shared(plan, kind, kind.node_group), files)


def _not_in_image(plan: Plan, image: str, artifacts: tuple[Artifact, ...], files: NodeFiles) -> tuple[Artifact, ...]:
    shared = _shared_keys(plan, image, files)
    without_secrets = (artifact for artifact in artifacts if artifact.kind != SECRETS)
    return tuple(artifact for artifact in without_secrets if _key(artifact) not in shared)


def _key(artifact: Artifact) -> tuple[str, int, str]:
    return artifact.path, artifact.mode, artifact.sha256
