"""One golden image, small overlays: which of a node's files are in the image, and which only it has.

A file belongs to the image when all its nodes have the same one. To find that out no more is rendered than the first
and the last node of every kind; what a node has otherwise is its overlay, whatever the reason, so that image and
overlay together are the node's files always, but for those with secrets, which the deployment brings. Names and
addresses of NICs are never in the image: it may be taken to another model.
"""

from __future__ import annotations

from collections.abc import Callable

from clusterwright.artifact import Artifact
from clusterwright.intent.node_nics import is_managed
from clusterwright.intent.per_plan import per_plan
from clusterwright.plan.model import Device, Plan
from clusterwright.platforms.linux.writer.network import KIND as NETWORK
from clusterwright.platforms.linux.writer.secrets import KIND as SECRETS

Files = Callable[[Plan, Device], tuple[Artifact, ...]]
"""Renders all files of a node."""


@per_plan
def shared_files(plan: Plan, image: str, files: Files) -> tuple[Artifact, ...]:
    """The files that all nodes of ``image`` have alike, by path. Empty for an image that no node runs."""
    ends: dict[tuple[str, str], list[Device]] = {}
    for device in plan.devices:
        if is_managed(device) and device.image == image:
            same = ends.setdefault((device.node_group, device.model), [])
            same[1:] = [device]
    samples = [files(plan, device) for same in ends.values() for device in same]
    if not samples:
        return ()
    alike = {_key(artifact) for artifact in samples[0] if artifact.kind not in (NETWORK, SECRETS)}
    for sample in samples[1:]:
        alike &= {_key(artifact) for artifact in sample}
    return tuple(artifact for artifact in samples[0] if _key(artifact) in alike)


@per_plan
def _shared_keys(plan: Plan, image: str, files: Files) -> frozenset[tuple[str, int, str]]:
    return frozenset(_key(artifact) for artifact in shared_files(plan, image, files))


def overlay_files(plan: Plan, device: Device, files: Files) -> tuple[Artifact, ...]:
    """The files of a node that are not in its image and that a boot server may offer, by path: secrets are neither."""
    return of_overlay(plan, device, files(plan, device), files)


def of_overlay(plan: Plan, device: Device, own: tuple[Artifact, ...], files: Files) -> tuple[Artifact, ...]:
    """Those of all the files of a node, ``own``, that belong to its overlay."""
    shared = _shared_keys(plan, device.image or "", files)
    return tuple(each for each in own if _key(each) not in shared and each.kind != SECRETS)


def _key(artifact: Artifact) -> tuple[str, int, str]:
    return artifact.path, artifact.mode, artifact.sha256
