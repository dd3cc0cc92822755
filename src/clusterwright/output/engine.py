"""Running the renderers over the devices of a plan."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterwright.output.distinct_paths import require_distinct_paths
from clusterwright.output.layers import own_files
from clusterwright.output.renderers import RENDERERS, all_files

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from clusterwright.artifact import Artifact
    from clusterwright.plan.model import Plan


def render_device(plan: Plan, device_name: str) -> tuple[Artifact, ...]:
    """Every file of one device, by path. Raises KeyError when the plan has no such device."""
    return all_files(plan, plan.by_name[device_name])


def render_own(plan: Plan, names: Iterable[str] | None = None) -> Iterator[Artifact]:
    """The files of the devices ``names`` that they do not have from a group's image, as ``render_devices``."""
    for name in in_plan_order(plan, names):
        yield from own_files(plan, plan.by_name[name])


def render_devices(plan: Plan, names: Iterable[str] | None = None) -> Iterator[Artifact]:
    """The files of the devices ``names`` (None: all), in the plan's order. Raises KeyError for an unknown name."""
    require_distinct_paths(plan)
    for name in in_plan_order(plan, names):
        yield from render_device(plan, name)


def render_kinds(plan: Plan, kinds: Collection[str]) -> Iterator[Artifact]:
    """The artifacts of ``kinds`` alone, of every device: what a proof reads. Renderer by renderer, in plan order."""
    require_distinct_paths(plan)
    return (
        artifact
        for entry in RENDERERS
        if entry.kind in kinds
        for device in plan.devices
        if entry.applies(plan, device)
        for artifact in entry.render(plan, device)
    )


def kinds_beside(plan: Plan, kinds: Collection[str]) -> tuple[str, ...]:
    """The kinds of files that a plan's devices get beside ``kinds``, in order of the alphabet."""
    others = (entry for entry in RENDERERS if entry.kind not in kinds)
    return tuple(sorted({e.kind for e in others if any(e.applies(plan, device) for device in plan.devices)}))


def in_plan_order(plan: Plan, names: Iterable[str] | None = None) -> list[str]:
    """The names (None: of all devices), each once, as the plan orders them. Raises KeyError for an unknown name."""
    if names is None:
        return [device.name for device in plan.devices]
    order = {device.name: index for index, device in enumerate(plan.devices)}
    return sorted(set(names), key=order.__getitem__)
