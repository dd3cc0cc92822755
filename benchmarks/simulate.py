"""Simulating a collective of all 24,576 ranks, as a user starts it, and the model's figures beside published ones."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

from tests.simulate.published import comparison_table, comparisons

from clusterwright.data_files import folder
from clusterwright.plan.build import build_plan
from clusterwright.spec.load import load_spec

RANKS, FEWEST_RANKS = 24576, 16
CASES = (
    ("all-gather", "ecmp", 1),
    ("all-reduce", "e-ecmp", 16),
    ("all-gather", "path-pinning", 1),
    ("all-to-all", "e-ecmp", 4),
    ("all-to-all", "e-ecmp", 16),
)


def report(*, is_smallest: bool = False) -> str:
    """Wall-clock seconds and peak memory of whole commands (one seed, planning included), then the comparison.

    When ``is_smallest`` the commands simulate the small cluster, and nothing is compared: a test does that by itself.
    """
    name, ranks = ("lab-roce", FEWEST_RANKS) if is_smallest else ("roce-24k", RANKS)
    lines = [
        f"{ranks:,} ranks, one seed, from reading the spec to the summary:",
        "",
        "| collective | hash | queue pairs | seconds | peak MB |",
        "| --- | --- | ---: | ---: | ---: |",
    ]
    for collective, hashing, qps in CASES:
        seconds, memory_mb = _run(name, ranks, collective, hashing, qps)
        lines.append(f"| {collective} | {hashing} | {qps} | {seconds:.1f} | {memory_mb:.0f} |")
    if is_smallest:
        return "\n".join(lines)
    large, small = (build_plan(load_spec(folder("inventory") / f"{name}.yaml")) for name in ("roce-24k", "lab-roce"))
    return "\n".join([*lines, "", comparison_table(comparisons(large, small))])


def _run(name: str, ranks: int, collective: str, hashing: str, qps: int) -> tuple[float, float]:
    """Seconds and peak memory in MB of one command. Raises CalledProcessError when it fails."""
    command = [
        str(Path(sys.executable).with_name("clusterwright")),
        "simulate",
        str(folder("inventory") / f"{name}.yaml"),
    ]
    command += ["--ranks", str(ranks), "--seeds", "1", "--collective", collective, "--hash", hashing, "--qps", str(qps)]
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    if os.waitstatus_to_exitcode(status):
        raise subprocess.CalledProcessError(os.waitstatus_to_exitcode(status), command)
    return seconds, usage.ru_maxrss / 1024
