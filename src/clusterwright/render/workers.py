"""Rendering a whole plan into a folder with several processes.

Workers are forked, so that they share the plan without copying it; each renders its devices and writes their files
itself, and only the manifest's lines travel back.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
from typing import TYPE_CHECKING

from clusterwright.render.engine import in_plan_order, render_devices
from clusterwright.render.tree import Entry, TreeError, replacing, write_artifacts, write_manifest

if TYPE_CHECKING:
    from collections.abc import Sequence
    from multiprocessing.connection import Connection
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
        in_process = count <= 1
        entries = write_artifacts(render_devices(plan, order), aside) if in_process else _fan_out(plan, shares, aside)
        entries.sort()
        write_manifest(entries, aside, plan.name)
    return tuple(entries)


def _fan_out(plan: Plan, shares: list[list[str]], folder: Path) -> list[Entry]:
    """Let one forked process render each share. Raises what a worker raised."""
    # What every worker looks up is computed once; then the collector keeps its hands off the pages they share.
    for lookup in ("by_name", "group_by_name", "cables_of", "host_subnet_of"):
        getattr(plan, lookup)
    gc.freeze()
    context = multiprocessing.get_context("fork")
    running = []
    try:
        for share in shares:
            receiver, sender = context.Pipe(duplex=False)
            process = context.Process(target=_work, args=(plan, share, folder, sender), daemon=True)
            process.start()
            sender.close()
            running.append((process, receiver))
        entries: list[Entry] = []
        for process, receiver in running:
            entries += _receive(receiver)
            process.join()
        return entries
    finally:
        for process, receiver in running:
            receiver.close()
            process.terminate()
            process.join()
        gc.unfreeze()


def _work(plan: Plan, names: list[str], folder: Path, sender: Connection) -> None:
    """A worker's life: it answers with its entries, or with the exception that stopped it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interrupt is the parent's to handle; it ends its workers
    answer: list[Entry] | Exception
    try:
        answer = write_artifacts(render_devices(plan, names), folder)
    except Exception as error:  # carried to the parent, which raises it
        answer = error
    sender.send(answer)
    sender.close()


def _receive(receiver: Connection) -> list[Entry]:
    try:
        answer: list[Entry] | Exception = receiver.recv()
    except EOFError:
        raise TreeError("a rendering process ended without a result; nothing was replaced") from None
    if isinstance(answer, Exception):
        raise answer
    return answer
