"""Detect unchanged stacks without reading the spec: nothing has to be planned, checked or proven for them.

The manifest of a stack is cached only for a spec without errors, and used only while every source file of it is the
same (``deploy.pulumi.cache``). The stack's state has the last trees of devices.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import cache
from pathlib import Path

from clusterwright.deploy.pulumi.automation import Engine
from clusterwright.deploy.pulumi.cache import TargetLayer, installation_digest, recall
from clusterwright.deploy.pulumi.manifest import Manifest
from clusterwright.deploy.pulumi.units import Stack, Unit
from clusterwright.deploy.targets import TargetSettings


def recalled(spec: Path, layers: Iterable[str], target: TargetSettings) -> tuple[Manifest, ...] | None:
    """Cached manifests of ``layers`` of ``spec`` on ``target``; None if one of them has to be rendered."""
    manifests = []
    installation = cache(installation_digest)
    for layer in layers:
        manifest = recall(TargetLayer(spec, layer, target), installation=installation)
        if manifest is None:
            return None
        manifests.append(manifest)
    return tuple(manifests)


def unchanged(manifests: Collection[Manifest], engine: Engine) -> tuple[Stack, ...] | None:
    """The stacks of ``manifests``, with their units with devices; None if the trees of one differ.

    A stack without a deployment, or without a device in the target's reach, needs a plan. Raises ClusterwrightError
    if a state cannot be read.
    """
    stacks = tuple(map(_stack_of, manifests))
    for stack, manifest in zip(stacks, manifests, strict=True):
        given = engine.given(stack)
        if not given.trees or given.failed or given.trees != manifest.trees:
            return None
    return stacks


def _stack_of(manifest: Manifest) -> Stack:
    units = (
        Unit(name=unit.name, kind=unit.kind, pod=manifest.pod, devices=tuple(unit.devices)) for unit in manifest.units
    )
    return Stack(name=manifest.stack, layer=manifest.layer, pod=manifest.pod, units=tuple(units))
