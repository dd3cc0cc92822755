"""Proofs of 131,072 GPUs, 43 pods of RoCE or 512 units of InfiniBand, as a user starts them: minutes, so only by name.

One process after another, for memory: of several at once each would count what they share.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from benchmarks.scaled_spec import write_scaled_spec, write_scaled_subnets
from benchmarks.stages import run_command

PODS, UNITS = (1, 4, 16, 43), (32, 512)
A_CHECK_OF_EACH = ("--check", "ethernet-links", "--check", "ib-up-down")  # of the smallest


def report(*, is_smallest: bool = False) -> str:
    """Seconds of verify and its peak memory as a Markdown table; of the smallest clusters and a check of each kind of
    network when ``is_smallest``.

    Raises CalledProcessError where one is not proven.
    """
    command = [str(Path(sys.executable).with_name("clusterwright")), "verify"]
    options = A_CHECK_OF_EACH if is_smallest else ()
    lines = [
        "| cluster | seconds | processor seconds | peak MB of the largest process |",
        "| --- | ---: | ---: | ---: |",
    ]
    with tempfile.TemporaryDirectory() as folder:
        specs = [write_scaled_spec(pods, Path(folder)) for pods in (PODS[:1] if is_smallest else PODS)]
        specs += [write_scaled_subnets(units, Path(folder)) for units in (UNITS[:1] if is_smallest else UNITS)]
        for spec in specs:
            wall_s, processor_s, _, memory_mb = run_command([*command, str(spec), *options])
            lines.append(f"| {spec.stem} | {wall_s:.1f} | {processor_s:.1f} | {memory_mb:.0f} |")
    return "\n".join(lines)
