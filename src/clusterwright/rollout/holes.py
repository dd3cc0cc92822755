"""Restore lost trees of the object store by rendering, as far as the spec still yields them."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain

from clusterwright.deploy.pulumi.recorded_stack import RecordedStack
from clusterwright.deploy.pulumi.rendering import Source, make_manifests
from clusterwright.deploy.pulumi.units import Stack
from clusterwright.deploy.store import Store
from clusterwright.deploy.targets import TargetSettings
from clusterwright.plan.model import Plan


def fill_holes(
    plan: Plan, target: TargetSettings, stacks: tuple[Stack, ...], source: Source, given: Mapping[str, RecordedStack]
) -> tuple[str, ...]:
    """Render the stacks with lost ``given`` trees.

    Returns the devices with a tree that stays lost: the spec, or this version, yields another one by now. Raises
    ClusterwrightError.
    """
    store = Store(target.root / "objects")
    damaged = [stack for stack in stacks if _lost(store, given[stack.name])]
    if not damaged:
        return ()
    make_manifests(plan, target, damaged, source)
    return tuple(chain.from_iterable(_lost(store, given[stack.name]) for stack in damaged))


def _lost(store: Store, given: RecordedStack) -> list[str]:
    trees = {name: digest for name, digest in given.trees.items() if digest}
    lost = store.lost_trees(set(trees.values()))
    return [name for name, digest in trees.items() if digest in lost]
