"""``clusterwright inventory`` of the RoCE reference cluster in every form, as a user starts it: a fresh process."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from benchmarks.stages import run_command
from clusterwright.cli.inventory import FORMATS
from clusterwright.data_files import folder

SPEC, SMALL_SPEC = "roce-24k", "lab-roce"
LEFT_OUT = {"air", "ibnetdiscover", "labels"}
"""Labels are printed pod by pod; the cluster has no switch that NVIDIA Air simulates and no InfiniBand to discover."""


def report(*, is_smallest: bool = False) -> str:
    """Processor seconds and peak memory of each form, as a Markdown table; of the small cluster when
    ``is_smallest``.
    """
    spec = folder("inventory") / f"{SMALL_SPEC if is_smallest else SPEC}.yaml"
    command = [str(Path(sys.executable).with_name("clusterwright")), "inventory", str(spec)]
    lines = ["| form | processor seconds | peak MB |", "| --- | ---: | ---: |"]
    with tempfile.TemporaryDirectory() as place:
        for form in (each for each in FORMATS if each not in LEFT_OUT):
            _, processor_s, _, memory_mb = run_command([*command, "--format", form, "--out", f"{place}/{form}"])
            lines.append(f"| {form} | {processor_s:.1f} | {memory_mb:.0f} |")
    return "\n".join(lines)
