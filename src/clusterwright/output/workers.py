"""Rendering a whole plan into a folder with several processes.

Forked workers share the plan without copying it; each renders its devices and writes their files, and returns only its
lines of the manifest.
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
"""Fewest devices for which another process saves more than it costs."""


def render_tree(
    plan: Plan, names: Sequence[str], out: Path, workers: int | None = None, *, is_merged: bool = False
) -> tuple[Written, ...]:
    """Render the devices ``names`` into the folder ``out``, with as many processes as there are processors.

    Common files of nodes are written once, or into the folder of each node if the tree ``is_merged``. The files of the
    site's own servers are written together with all devices. Raises TreeError as ``write_tree`` does,
    ClusterwrightError for an intent that a renderer cannot express, KeyError for an unknown name. ``out`` is then
    unchanged.
    """
    order = in_plan_order(plan, names)
    count = min(workers or len(os.sched_getaffinity(0)), 1 + len(order) // FEW)
    with replacing(out, plan.name) as aside:
        prepare(plan)
        images = () if is_merged else Rendering(plan).images(order)
        written = write_artifacts(chain.from_iterable(image.files for image in images), aside, out)
        work = partial(_write_devices, plan, aside, out, is_merged=is_merged)
        # The first device of a kind fills the cache of its common files: once, and not in every worker.
        firsts = [kind_names[0] for kind_names in _by_kind(plan, order) if len(kind_names) > FEW]
        if len(order) == len(plan.devices):
            written += write_artifacts(Rendering(plan).of_site(), aside, out)
        written += work(firsts)
        rest = in_plan_order(plan, set(order).difference(firsts))
        written += work(rest) if count <= 1 else fan_out(work, shares_of(plan, rest, count))
        written.sort()
        write_manifest(written, aside, plan.name, {image.owner: image.members for image in images})
    return tuple(written)


def shares_of(plan: Plan, names: Sequence[str], count: int) -> list[list[str]]:
    """The devices ``names``, shared among ``count`` workers: of every kind of device each gets one stretch.

    So all have about the same work, neighbours with common text stay together, and a boot server is with most of its
    nodes.
    """
    shares: list[list[str]] = [[] for _ in range(count)]
    for kind_number, kind_devices in enumerate(_by_kind(plan, names)):
        size = len(kind_devices)
        for number in range(count):
            stretch = kind_devices[size * number // count : size * (number + 1) // count]
            # Kinds with fewer devices than workers begin with another worker each time.
            worker = (number + kind_number) % count if size < count else number
            shares[worker].extend(stretch)
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
