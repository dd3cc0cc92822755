"""Each stage at 1, 4, 16 and 43 pods, as a user starts it: a fresh process, its time and peak memory.

What matters are the ratios, taken from processor time, which a busy machine distorts least: four times the pods should
cost about four times the work beyond the start of the process. 43 pods, 131,072 GPUs, are rendered one of them.

The kernel's part of it is shown beside, for it is the file system's, and depends on what happened there before: ext4
without a journal takes no inode that was freed in the last minutes (up to six), and passes over each of them when it
looks for a free one. There the second and third rendering, which replace the one before, cost several times the first.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.scaled_spec import write_scaled_spec

SIZES = (1, 4, 16, 43)
RUNS = 3
LONG_S = 5.0  # what takes longer is measured once: it differs by less from run to run than the figures are read for
A_POD = ("--only", "*-p07*")  # of the largest size, whose tree would be two million files

PLAN = """
import sys
from clusterwright.plan.build import build_plan
from clusterwright.spec.load import load_spec
build_plan(load_spec(sys.argv[1]))
"""


@dataclass(frozen=True, slots=True)
class Measurement:
    """One command at one size: wall-clock and processor seconds and the kernel's part of these, each the median of all
    runs, and the largest peak memory in MB.
    """

    stage: str
    pods: int
    wall_s: float
    processor_s: float
    kernel_s: float
    memory_mb: float


def measure(sizes: tuple[int, ...], count: int) -> Iterator[Measurement]:
    """Measure lint, plan, render and inventory, short ones ``count`` times; yields as it goes."""
    command = str(Path(sys.executable).with_name("clusterwright"))
    with tempfile.TemporaryDirectory() as folder:
        specs = {pods: write_scaled_spec(pods, Path(folder)) for pods in sizes}
        for stage, arguments in (
            ("lint", [command, "lint", "{spec}"]),
            ("plan", [sys.executable, "-c", PLAN, "{spec}"]),
            ("render", [command, "render", "{spec}", "--out", f"{folder}/{{pods}}"]),  # it replaces no other cluster's
            ("inventory", [command, "inventory", "{spec}", "--format", "json", "--out", f"{folder}/inventory.json"]),
        ):
            for pods, spec in specs.items():
                is_part = stage == "render" and pods == SIZES[-1]
                parts = [*arguments, *(A_POD if is_part else ())]
                runs: list[tuple[float, float, float, float]] = []
                # `render` takes minutes, most of them the file system's
                while not runs or (len(runs) < count and stage != "render" and runs[0][0] < LONG_S):
                    runs.append(run_command([part.format(spec=spec, pods=pods) for part in parts]))
                wall_s, processor_s, kernel_s = (sorted(run[at] for run in runs)[len(runs) // 2] for at in range(3))
                name = "render, one pod of" if is_part else stage
                yield Measurement(name, pods, wall_s, processor_s, kernel_s, max(run[3] for run in runs))


def run_command(command: list[str]) -> tuple[float, float, float, float]:
    """Wall, processor and kernel seconds, and peak memory in MB, of a command and its children.

    Raises CalledProcessError.
    """
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    if os.waitstatus_to_exitcode(status):
        raise subprocess.CalledProcessError(os.waitstatus_to_exitcode(status), command)
    return seconds, usage.ru_utime + usage.ru_stime, usage.ru_stime, usage.ru_maxrss / 1024


def report(*, is_smallest: bool = False) -> str:
    """All measurements as a Markdown table; of one pod, once, when ``is_smallest``."""
    lines = [
        "| stage | pods | seconds | processor seconds | of a pod beyond the first | kernel's part | peak MB |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    first: dict[str, float] = {}
    for item in measure(*((SIZES[:1], 1) if is_smallest else (SIZES, RUNS))):
        base = first.setdefault(item.stage, item.processor_s)
        more = f"{(item.processor_s - base) / (item.pods - 1):.3f}" if item.processor_s != base else ""
        lines.append(
            f"| {item.stage} | {item.pods} | {item.wall_s:.2f} | {item.processor_s:.2f} | {more} "
            f"| {item.kernel_s:.2f} | {item.memory_mb:.0f} |"
        )
    return "\n".join(lines)
