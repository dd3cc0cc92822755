"""Lint and plan of the InfiniBand cluster at 32, 128 and 512 units, the last in four subnets, as a user starts them."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from benchmarks.scaled_spec import write_scaled_subnets
from benchmarks.stages import PLAN, run_command

SIZES = (32, 128, 512)


def report(*, is_smallest: bool = False) -> str:
    """Seconds of each and their peak memory as a Markdown table; of the fewest units when ``is_smallest``."""
    command = str(Path(sys.executable).with_name("clusterwright"))
    lines = [
        "| stage | units | GPUs | seconds | processor seconds | peak MB |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    with tempfile.TemporaryDirectory() as folder:
        for units in SIZES[:1] if is_smallest else SIZES:
            spec = str(write_scaled_subnets(units, Path(folder)))
            for stage, arguments in (("lint", [command, "lint", spec]), ("plan", [sys.executable, "-c", PLAN, spec])):
                wall_s, processor_s, _, memory_mb = run_command(arguments)
                figures = f"{wall_s:.2f} | {processor_s:.2f} | {memory_mb:.0f}"
                lines.append(f"| {stage} | {units} | {units * 256:,} | {figures} |")
    return "\n".join(lines)
