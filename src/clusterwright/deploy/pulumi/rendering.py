"""Render stacks into the object store: once for a whole rollout, on every core."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import chain, groupby
from pathlib import Path

from clusterwright.deploy.pulumi.cache import ReadFiles, TargetLayer, installation_digest, recall, remember
from clusterwright.deploy.pulumi.manifest import Manifest, manifest_of
from clusterwright.deploy.pulumi.units import Stack
from clusterwright.deploy.pulumi.upper_layer import downlinks_of
from clusterwright.deploy.secrets.versions import Versions, labelled
from clusterwright.deploy.store import Store
from clusterwright.deploy.targets import TargetSettings
from clusterwright.plan.allocation.standing import Standing
from clusterwright.plan.model import Plan

FEW = 256
"""Up to this number of devices another process costs more than it saves."""


@dataclass(frozen=True, slots=True)
class Source:
    """Source of a plan: the spec, and the files read for it."""

    spec: Path
    read: ReadFiles


def make_manifests(
    plan: Plan,
    target: TargetSettings,
    stacks: Collection[Stack],
    source: Source | None = None,
    only: Collection[str] = (),
) -> dict[str, Manifest]:
    """Render the devices of ``stacks`` in the target's reach; each stack's manifest by its name.

    With the ``source`` of the plan, a stack already rendered from it is not rendered again. The trees and the manifests
    themselves are in the store afterwards. With ``only``, no other device is rendered: the caller replaces the empty
    digests of the others (``Manifest.alone``). Raises the renderers' errors.
    """
    if source is None or only:
        return _rendered(plan, target, stacks, only)
    layers = {stack.name: TargetLayer(source.spec, stack.layer, target) for stack in stacks}
    before, after = cache(installation_digest), cache(installation_digest)  # each once for all stacks
    cached = {name: recall(layer, source.read, before) for name, layer in layers.items()}
    rendered = _rendered(plan, target, [stack for stack in stacks if cached[stack.name] is None])
    for name, manifest in rendered.items():
        remember(layers[name], source.read, manifest, after)
    manifests = {name: manifest for name, manifest in cached.items() if manifest is not None} | rendered
    return {stack.name: manifests[stack.name] for stack in stacks}


def _rendered(
    plan: Plan, target: TargetSettings, stacks: Collection[Stack], only: Collection[str] = ()
) -> dict[str, Manifest]:
    if not stacks:
        return {}
    # The renderers are imported only if there is a stack to render.
    from clusterwright.output.forked import fan_out, prepare
    from clusterwright.output.workers import shares_of

    reached = target.carries(list(chain.from_iterable(stack.devices for stack in stacks)))
    names = tuple(name for name in reached if name in only) if only else reached
    store = Store(target.root / "objects")
    count = len(os.sched_getaffinity(0)) if len(names) > FEW else 1
    work = partial(_render, plan, store, target.secret_versions())
    if count <= 1:
        trees = dict(work(names))
    else:
        prepare(plan)
        trees = dict(fan_out(work, shares_of(plan, names, count)))
    if only:
        trees = dict.fromkeys(reached, "") | trees
    downlinks = downlinks_of(plan, target, stacks)
    former = Standing(plan.spec, plan.spec.allocated).former
    manifests = {stack.name: manifest_of(plan.name, stack, trees, downlinks[stack.name], former) for stack in stacks}
    for manifest in manifests.values():
        store.put(manifest.content())
    return manifests


def _render(plan: Plan, store: Store, versions: Versions, names: Sequence[str]) -> list[tuple[str, str]]:
    from clusterwright.output.rendering import Rendering

    rendered = (labelled(artifact, versions) for artifact in Rendering(plan).of_devices(names))
    artifacts = groupby(rendered, key=lambda artifact: artifact.device)
    return [(device, store.put_tree(tuple(files))) for device, files in artifacts]
