"""Stacks that hold the trees of their spec, found without reading it: nothing is to be planned, checked or proven then.

The manifest of a stack is noted only for a spec without errors, and the note is used only while every file that went
into it is the same (``deploy.remembered``). The stack's state has the last trees of devices.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import cache
from pathlib import Path

from clusterwright.deploy.pulumi.automation import Engine
from clusterwright.deploy.pulumi.cache import TargetLayer, installation_digest, recall
from clusterwright.deploy.pulumi.manifest import Manifest
from clusterwright.deploy.pulumi.units import Stack, Unit
from clusterwright.deploy.targets import Chosen


def recalled(spec: Path, layers: Iterable[str], target: Chosen) -> tuple[Manifest, ...] | None:
    """Manifests of ``layers`` of ``spec`` on ``target``; None where one of them has to be rendered."""
    manifests = []
    installation = cache(installation_digest)
    for layer in layers:
        manifest = recall(TargetLayer(spec, layer, target), installation=installation)
        if manifest is None:
            return None
        manifests.append(manifest)
    return tuple(manifests)


def unchanged(manifests: Collection[Manifest], engine: Engine) -> tuple[Stack, ...] | None:
    """The stacks of ``manifests`` with the units that have devices; None where one holds anything else than it is to.

    A stack that is not deployed, or whose target reaches no device, is for a plan to tell about. Raises
    ClusterwrightError when a state cannot be read.
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
