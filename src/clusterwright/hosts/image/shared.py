"""One golden image, small overlays: which of a node's files are in the image, and which only it has.

A file belongs to the image when all its nodes have the same one. To find that out no more is rendered than the first
and the last node of every kind; what a node has otherwise is its overlay, whatever the reason, so that image and
overlay together are the node's files always, but for those with secrets, which the deployment brings. Names and
addresses of NICs are never in the image: it may be taken to another model.
"""

from __future__ import annotations

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
    """Renders a device's files by path: its ``own``, and as files of somebody those that its kind has ``shared``."""

    own: Callable[[Plan, Device], tuple[Artifact, ...]]
    shared: Callable[[Plan, Kind, str], tuple[Artifact, ...]]

    def shared_with(self, plan: Plan, device: Device) -> tuple[Artifact, ...]:
        """What a device has as every device of its kind has it."""
        kind = device_kind(plan, device)
        return self.shared(plan, kind, device.name) if kind is not None else ()

    def all_of(self, plan: Plan, device: Device) -> tuple[Artifact, ...]:
        """All files of a device."""
        return tuple(sorted((*self.shared_with(plan, device), *self.own(plan, device)), key=_path))


_path = attrgetter("path")


@per_plan
def shared_files(plan: Plan, image: str, files: NodeFiles) -> tuple[Artifact, ...]:
    """The files that all nodes of ``image`` have alike, by path. Empty for an image that no node runs."""
    ends: dict[tuple[str, str], list[Device]] = {}
    for device in plan.devices:
        if is_managed(device) and device.image == image:
            same = ends.setdefault((device.node_group, device.model), [])
            same[1:] = [device]
    samples = [files.all_of(plan, device) for same in ends.values() for device in same]
    if not samples:
        return ()
    alike = {_key(artifact) for artifact in samples[0] if artifact.kind not in (NETWORK, SECRETS)}
    for sample in samples[1:]:
        alike &= {_key(artifact) for artifact in sample}
    return tuple(artifact for artifact in samples[0] if _key(artifact) in alike)


@per_plan
def _shared_keys(plan: Plan, image: str, files: NodeFiles) -> frozenset[tuple[str, int, str]]:
    return frozenset(_key(artifact) for artifact in shared_files(plan, image, files))


def overlay_files(plan: Plan, device: Device, files: NodeFiles) -> tuple[Artifact, ...]:
    """The files of a node that are not in its image and that a boot server may offer, by path: secrets are neither."""
    return of_overlay(plan, device, files.own(plan, device), files)


def of_overlay(plan: Plan, device: Device, own: tuple[Artifact, ...], files: NodeFiles) -> tuple[Artifact, ...]:
    """Those of a node's ``own`` files, and of those that its kind shares, that belong to its overlay."""
    of_kind = _kind_overlay(plan, kind_of(plan, device), files)
    return tuple(sorted((*of_kind, *_not_in_image(plan, device.image or "", own, files)), key=_path))


@per_plan
def _kind_overlay(plan: Plan, kind: NodeKind, files: NodeFiles) -> tuple[Artifact, ...]:
    return _not_in_image(plan, kind.image, files.shared(plan, kind, kind.node_group), files)


def _not_in_image(plan: Plan, image: str, some: tuple[Artifact, ...], files: NodeFiles) -> tuple[Artifact, ...]:
    shared = _shared_keys(plan, image, files)
    return tuple(each for each in some if _key(each) not in shared and each.kind != SECRETS)


def _key(artifact: Artifact) -> tuple[str, int, str]:
    return artifact.path, artifact.mode, artifact.sha256
