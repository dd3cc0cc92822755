"""Draining one switch of a cluster that is deployed, and giving it back, beside proving the whole cluster.

Both are whole commands, on a directory target. What counts is the ratio of processor time, which a busy machine
distorts least.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path

from benchmarks.deployment import cost_of
from clusterwright.data_files import folder

SPEC, SMALL_SPEC, SWITCH = "roce-24k", "lab-roce", "ctsw-p00-00"
SMALL_PART = ("--pod", "pod0", "--pod", "services-rack0", "--upper")


def report(*, is_smallest: bool = False) -> str:
    """The figures as a Markdown table; of the small cluster when ``is_smallest``."""
    name = SMALL_SPEC if is_smallest else SPEC
    command = [str(Path(sys.executable).with_name("clusterwright"))]
    with tempfile.TemporaryDirectory() as place:
        spec, root = Path(place) / f"{name}.yaml", Path(place) / "up"
        shutil.copy(folder("inventory") / spec.name, spec)
        where = [str(spec), "--root", str(root)]
        cost_of([*command, "up", *where, "--reason", "benchmark", *(SMALL_PART if is_smallest else ())])
        floor = cost_of([*command, "verify", str(spec)])
        task = [str(spec), SWITCH, "--root", str(root), "--because", "benchmark", "--yes"]
        costs = {f"{verb} {SWITCH}": cost_of([*command, verb, *task]) for verb in ("drain", "undrain")}
    rows = [
        f"| {what} | {cost.wall_s:.1f} | {cost.processor_s:.1f} | {cost.processor_s / floor.processor_s:.2f} |"
        for what, cost in {f"verify {name}": floor, **costs}.items()
    ]
    return "\n".join(
        [
            f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}",
            "",
            "| command | wall s | processor s | times `verify` |",
            "| --- | ---: | ---: | ---: |",
            *rows,
        ]
    )
