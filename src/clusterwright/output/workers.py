"""Rendering a whole plan into a folder with several processes.

Workers are forked, so that they share the plan without copying it; each renders its devices and writes their files
itself, and only its lines of the manifest travel back.
"""

from __future__ import annotations

import os
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

from clusterwright.output.forked import fan_out, prepare
from clusterwright.output.rendering import Rendering, in_plan_order
from clusterwright.output.tree import Written, replacing, write_artifacts, write_manifest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from clusterwright.artifact import Artifact
    from clusterwright.plan.model import Plan

    _Render = Callable[[Plan, Sequence[str]], Iterator[Artifact]]

FEW = 64
"""For fewer devices than this another process costs more than it saves."""


def render_tree(
    plan: Plan, names: Sequence[str], out: Path, workers: int | None = None, *, is_merged: bool = False
) -> tuple[Written, ...]:
    """Render the devices ``names`` into the folder ``out``, with as many processes as there are processors.

    What nodes have in common is written once, or into the folder of each where the tree ``is_merged``. The files of the
    site's own servers are written where all devices are.
    Raises TreeError as ``write_tree`` does, ClusterwrightError for what a renderer cannot express, KeyError for an
    unknown name. ``out`` is then as it was.
    """
    order = in_plan_order(plan, names)
    count = min(workers or len(os.sched_getaffinity(0)), 1 + len(order) // FEW)
    with replacing(out, plan.name) as aside:
        prepare(plan)
        images = () if is_merged else Rendering(plan).images(order)
        written = write_artifacts(chain.from_iterable(image.files for image in images), aside, out)
        work = partial(_write_devices, plan, aside, out, is_merged=is_merged)
        # What devices of a kind have in common is remembered with the first of them: once, and not in every worker.
        firsts = [devices_of_kind[0] for devices_of_kind in _by_kind(plan, order) if len(devices_of_kind) > FEW]
        if len(order) == len(plan.devices):
            written += write_artifacts(Rendering(plan).of_site(), aside, out)
        written += work(firsts)
        rest = in_plan_order(plan, set(order).difference(firsts))
        written += work(rest) if count <= 1 else fan_out(work, shares_of(plan, rest, count))
        written.sort()
        write_manifest(written, aside, plan.name, {image.owner: image.members for image in images})
    return tuple(written)


def shares_of(plan: Plan, names: Sequence[str], count: int) -> list[list[str]]:
    """The devices ``names``, shared out to ``count`` workers: of every kind of device each gets one stretch.

    So all have about the same work, neighbours, which have text in common, stay together, and a boot server is with
    most of the nodes that it serves.
    """
    shares: list[list[str]] = [[] for _ in range(count)]
    for at, devices_of_kind in enumerate(_by_kind(plan, names)):
        for number in range(count):
            stretch = devices_of_kind[
                len(devices_of_kind) * number // count : len(devices_of_kind) * (number + 1) // count
            ]
            # What does not divide, such as a kind with one device, goes to another worker each time.
            shares[(number + at) % count if len(devices_of_kind) < count else number].extend(stretch)
    return [share for share in shares if share]


def _by_kind(plan: Plan, names: Sequence[str]) -> list[list[str]]:
    """The names by role, group and model of their devices."""
    kinds: dict[tuple[str, str, str], list[str]] = {}
    for name in names:
        device = plan.by_name[name]
        kinds.setdefault((device.role, device.node_group, device.model), []).append(name)
    return list(kinds.values())


def _write_devices(plan: Plan, folder: Path, earlier: Path, names: Sequence[str], *, is_merged: bool) -> list[Written]:
    rendering = Rendering(plan)
    artifacts = rendering.of_devices(names) if is_merged else rendering.of_devices_alone(names)
    return write_artifacts(artifacts, folder, earlier)
