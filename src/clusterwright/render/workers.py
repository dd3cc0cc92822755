"""Rendering a whole plan into a folder with several processes.

Workers are forked, so that they share the plan without copying it; each renders its devices and writes their files
itself, and only the manifest's lines travel back.
"""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING

from clusterwright.render.engine import in_plan_order, render_devices
from clusterwright.render.forked import fan_out, prepare
from clusterwright.render.tree import Entry, replacing, write_artifacts, write_manifest

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from clusterwright.plan.model import Plan

# Neighbours share cached text, so they stay together; small enough that the last block keeps nobody waiting.
BLOCK = 64


def render_tree(plan: Plan, names: Sequence[str], out: Path, workers: int | None = None) -> tuple[Entry, ...]:
    """Render the devices ``names`` into the folder ``out``, with as many processes as there are processors.

    Raises TreeError as ``write_tree`` does, ClusterwrightError for what a renderer cannot express, KeyError for an
    unknown name. ``out`` is then as it was.
    """
    order = in_plan_order(plan, names)
    blocks = [order[start : start + BLOCK] for start in range(0, len(order), BLOCK)]
    count = min(workers or len(os.sched_getaffinity(0)), len(blocks))
    shares = [[name for block in blocks[index::count] for name in block] for index in range(count)]
    with replacing(out) as aside:
        work = partial(_write_devices, plan, aside)
        prepare(plan)
        entries = work(order) if count <= 1 else fan_out(work, shares)
        entries.sort()
        write_manifest(entries, aside, plan.name)
    return tuple(entries)


def _write_devices(plan: Plan, folder: Path, names: Sequence[str]) -> list[Entry]:
    return write_artifacts(render_devices(plan, names), folder)
