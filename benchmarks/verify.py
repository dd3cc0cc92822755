"""Every proof at full size, as a user starts it: seconds and peak memory of the command, and seconds of each check.

Seconds of all processors stand beside those of the clock: they hardly change when others use the machine too.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

from clusterwright.cli.proofs import prove
from clusterwright.data_files import folder
from clusterwright.output.rendering import Rendering
from clusterwright.plan.build import build_plan
from clusterwright.proofs.declaration import Declaration
from clusterwright.proofs.ethernet.network import KINDS
from clusterwright.proofs.registry import CHECKS
from clusterwright.proofs.tree import RenderedTree, tree_of
from clusterwright.spec.load import load_spec

SPECS, SMALL_SPECS = ("rsc", "ib-24k", "roce-24k"), ("lab-ib", "lab-roce")


class Seconds(NamedTuple):
    """How long something took by the clock, and of the processors' time in all its processes."""

    clock: float
    processors: float

    def __str__(self) -> str:
        return f"{self.clock:.2f} | {self.processors:.2f}"


def report(*, is_smallest: bool = False) -> str:
    """One row for each spec and check; the first rows are the whole commands in fresh processes.

    The commands go before anything is parsed here: a process starts with the peak memory of the one that starts it.
    """
    specs = SMALL_SPECS if is_smallest else SPECS
    lines = ["| spec | check | seconds | of all processors | peak MB |", "| --- | --- | ---: | ---: | ---: |"]
    for name in specs:
        spec = folder("inventory") / f"{name}.yaml"
        seconds, memory_mb = _command(spec)
        lines.append(f"| {name} | the whole command | {seconds} | {memory_mb:.0f} |")
        seconds, memory_mb = _command(spec, "--check", "isolation")
        lines.append(f"| {name} | the command with `--check isolation` alone | {seconds} | {memory_mb:.0f} |")
    for name in specs:
        lines += [f"| {name} | {check} | {seconds} | |" for check, seconds in _checks(name)]
    return "\n".join(lines)


def _command(spec: Path, *options: str) -> tuple[Seconds, float]:
    """Seconds and peak memory in MB of `clusterwright verify`. Raises CalledProcessError when it cannot run."""
    command = [str(Path(sys.executable).with_name("clusterwright")), "verify", str(spec), *options]
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    seconds = Seconds(time.perf_counter() - start, usage.ru_utime + usage.ru_stime)
    if os.waitstatus_to_exitcode(status) not in {0, 1, 3}:  # proven, refuted, or not proven in part
        raise subprocess.CalledProcessError(os.waitstatus_to_exitcode(status), command)
    return seconds, usage.ru_maxrss / 1024


def _processors() -> float:
    """Seconds of this process and of those that it started and that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def _checks(name: str) -> list[tuple[str, Seconds]]:
    """Seconds beyond rendering: all Ethernet checks as the command makes them, from text, then each check alone.

    Alone, the first check of a kind also parses the text for those that follow.
    """
    plan = build_plan(load_spec(folder("inventory") / f"{name}.yaml"))
    kinds = {kind for check in CHECKS for kind in check.kinds}
    rendered, images = Rendering(plan).of_kinds_by_image(kinds)
    own = list(rendered)

    def tree() -> RenderedTree:
        return tree_of(name, own, Declaration(plan), ((image.members, image.files) for image in images))

    def seconds(run: Callable[[], object]) -> Seconds:
        start, used = time.perf_counter(), _processors()
        run()
        return Seconds(time.perf_counter() - start, _processors() - used)

    ethernet = [check for check in CHECKS if check.kinds == KINDS]
    together = seconds(partial(prove, tree(), ethernet))
    shared = tree()
    alone = [(check.name, seconds(partial(check.run, shared))) for check in CHECKS if check.applies(shared)]
    return [("all Ethernet checks, as the command makes them", together), *alone]
