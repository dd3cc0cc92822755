"""The whole RoCE cluster rendered, and deployed from nothing into the directory target; beside them, the disk's part.

That is what `cp` needs to copy the same files on the same disk, and to have them flushed. What counts are the ratios of
processor time, which a busy machine distorts least; deploying says its phases as well, from its events.
"""

from __future__ import annotations

import json
import os
import shlex
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from subprocess import CalledProcessError, run

from clusterwright.data_files import folder

SPEC, SMALL_SPEC = "roce-24k", "lab-roce"
SMALL_PART = ("--pod", "pod0")


@dataclass(frozen=True, slots=True)
class Cost:
    """Seconds by the wall's clock, and of processors: in programs and in the kernel."""

    wall_s: float
    program_s: float
    kernel_s: float

    @property
    def processor_s(self) -> float:
        """Both together."""
        return self.program_s + self.kernel_s


def report(*, is_smallest: bool = False) -> str:
    """The figures as Markdown; of the small cluster, of which a pod is deployed, when ``is_smallest``."""
    spec = folder("inventory") / f"{SMALL_SPEC if is_smallest else SPEC}.yaml"
    command = [str(Path(sys.executable).with_name("clusterwright"))]
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        tree, root, events = place / "tree", place / "up", place / "events.json"
        render = cost_of([*command, "render", str(spec), "--out", str(tree)])
        rendered = _count(tree)
        copied = _copy(tree, place / "tree-copy")
        chosen = [*SMALL_PART] if is_smallest else []
        where = ["--root", str(root), "--events", str(events), "--reason", "benchmark"]
        up = cost_of([*command, "up", str(spec), *where, *chosen])
        phases = list(_phases(events, up.wall_s))
        state = max(file.stat().st_size for file in (root / "state").rglob(f"stacks/**/{spec.stem}-pod*.json"))
        deployed = _count(root / "flash")
        flash = _copy(root / "flash", place / "flash-copy")
    rows = [
        (f"render, {rendered[0]:,} files in {rendered[1]:,} folders", render, copied),
        (f"up, {deployed[0]:,} files in {deployed[1]:,} folders", up, flash),
    ]
    return "\n".join(
        [
            f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}",
            "",
            "| | wall s | programs s | kernel s | `cp` wall s | `cp` processor s | processor ratio |",
            "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
            *(
                f"| {what} | {cost.wall_s:.1f} | {cost.program_s:.1f} | {cost.kernel_s:.1f} | {floor.wall_s:.1f} "
                f"| {floor.processor_s:.1f} | {cost.processor_s / floor.processor_s:.1f} |"
                for what, cost, floor in rows
            ),
            "",
            "| phase of `up` | wall s |",
            "| --- | ---: |",
            *(f"| {what} | {seconds:.1f} |" for what, seconds in phases),
            "",
            f"State of the largest pod: {state / 1e6:.2f} MB.",
        ]
    )


def _phases(events: Path, wall_s: float) -> Iterator[tuple[str, float]]:
    told = [json.loads(line) for line in events.read_text().splitlines()]
    times = [datetime.fromisoformat(event["time"]) for event in told if event["event"].startswith("rollout-")]
    stacks = (times[-1] - times[0]).total_seconds()
    yield "lint, plan, render into the store, judge", wall_s - stacks
    yield "all stacks", stacks
    for event in told:
        if event["event"] == "stack-finished":
            yield f"of these {event['stack']}, beside another", event["duration_s"]


def _copy(source: Path, copy: Path) -> Cost:
    return cost_of(["sh", "-c", f"cp -a {shlex.quote(str(source))} {shlex.quote(str(copy))} && sync -f {copy}"])


def _count(tree: Path) -> tuple[int, int]:
    """Files and folders below ``tree``."""
    found = [(len(files), len(folders)) for _, folders, files in os.walk(tree)]
    return sum(each[0] for each in found), sum(each[1] for each in found)


def cost_of(command: Sequence[str], *, expected: int = 0) -> Cost:
    """What a command with its children takes. Raises CalledProcessError where it ends otherwise than ``expected``."""
    before, started = os.times(), time.perf_counter()
    done = run(command, check=False, capture_output=True)
    if done.returncode != expected:
        raise CalledProcessError(done.returncode, command, done.stdout, done.stderr)
    after = os.times()
    return Cost(
        time.perf_counter() - started,
        after.children_user - before.children_user,
        after.children_system - before.children_system,
    )
