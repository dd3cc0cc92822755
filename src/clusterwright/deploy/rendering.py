"""Rendering what stacks need into the object store: once for a whole rollout, on every core."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from functools import partial
from itertools import groupby

from clusterwright.deploy.manifest import Manifest, manifest_of
from clusterwright.deploy.store import Store
from clusterwright.deploy.targets import Chosen
from clusterwright.deploy.units import Stack
from clusterwright.plan.model import Plan
from clusterwright.render.engine import render_devices
from clusterwright.render.forked import fan_out, prepare

BLOCK = 64  # neighbours share cached text, so they stay together
FEW = 256
"""For no more devices than this another process costs more than it saves."""


def make_manifests(plan: Plan, target: Chosen, stacks: Collection[Stack]) -> dict[str, Manifest]:
    """Renders every device of ``stacks`` that the target reaches; each stack's manifest by its name.

    The trees and the manifests themselves are in the store afterwards. Raises what a renderer raises.
    """
    names = target.carries([name for stack in stacks for unit in stack.units for name in unit.devices])
    store = Store(target.root / "objects")
    blocks = [names[start : start + BLOCK] for start in range(0, len(names), BLOCK)]
    count = min(len(os.sched_getaffinity(0)), len(blocks)) if len(names) > FEW else 1
    work = partial(_render, plan, store)
    if count <= 1:
        trees = dict(work(names))
    else:
        prepare(plan)
        trees = dict(fan_out(work, [[name for block in blocks[at::count] for name in block] for at in range(count)]))
    found = {stack.name: manifest_of(plan.name, stack, trees) for stack in stacks}
    for manifest in found.values():
        store.put(manifest.content())
    return found


def _render(plan: Plan, store: Store, names: Sequence[str]) -> list[tuple[str, str]]:
    artifacts = groupby(render_devices(plan, names), key=lambda artifact: artifact.device)
    return [(device, store.put_tree(tuple(files))) for device, files in artifacts]
