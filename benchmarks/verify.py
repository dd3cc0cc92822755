"""Every proof at full size, as a user starts it: seconds and peak memory of the command, and seconds of each check."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

from clusterwright.data_files import folder
from clusterwright.plan.build import build_plan
from clusterwright.render.engine import render_kinds
from clusterwright.spec.load import load_spec
from clusterwright.verify.check import Check
from clusterwright.verify.intent import intent_of
from clusterwright.verify.registry import CHECKS
from clusterwright.verify.tree import tree_of

SPECS = ("rsc", "ib-24k", "roce-24k")


def report() -> str:
    """One row for each spec and check; the first row of a spec is the whole command in a fresh process."""
    lines = ["| spec | check | seconds | peak MB |", "| --- | --- | ---: | ---: |"]
    for name in SPECS:
        spec = folder("inventory") / f"{name}.yaml"
        seconds, memory_mb = _command(spec)
        lines.append(f"| {name} | the whole command | {seconds:.2f} | {memory_mb:.0f} |")
        seconds, memory_mb = _command(spec, "--check", "isolation")
        lines.append(f"| {name} | the command with `--check isolation` alone | {seconds:.2f} | {memory_mb:.0f} |")
        lines += [f"| {name} | {check} | {seconds:.2f} | |" for check, seconds in _checks(name)]
    return "\n".join(lines)


def _command(spec: Path, *options: str) -> tuple[float, float]:
    """Seconds and peak memory in MB of `clusterwright verify`. Raises CalledProcessError when it cannot run."""
    command = [str(Path(sys.executable).with_name("clusterwright")), "verify", str(spec), *options]
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    if os.waitstatus_to_exitcode(status) > 1:
        raise subprocess.CalledProcessError(os.waitstatus_to_exitcode(status), command)
    return seconds, usage.ru_maxrss / 1024


def _checks(name: str) -> list[tuple[str, float]]:
    """Seconds of each check that applies; the first one of a kind also parses the text for all."""
    plan = build_plan(load_spec(folder("inventory") / f"{name}.yaml"))
    kinds = {kind for check in CHECKS for kind in check.kinds}
    tree = tree_of(name, render_kinds(plan, kinds), intent_of(plan))

    def seconds(check: Check) -> float:
        start = time.perf_counter()
        check.run(tree)
        return time.perf_counter() - start

    return [(check.name, seconds(check)) for check in CHECKS if check.applies(tree)]
