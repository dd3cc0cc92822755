"""``clusterwright observe`` on the InfiniBand reference cluster, as a user starts it: a fresh process each time.

The scan is written from the plan in ibnetdiscover's syntax. In the other runs switches of each tier have changed
places, or nobody knows a GUID and switches have no names.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.observe.listing import listing

from clusterwright.data_files import folder
from clusterwright.plan.build import build_plan
from clusterwright.plan.model import Plan
from clusterwright.spec.load import load_spec

RUNS = 3
SPEC, SMALL_SPEC = "ib-24k", "lab-ib"


def report(*, is_smallest: bool = False) -> str:
    """Median wall-clock seconds, peak memory and statements, as a Markdown table; of the small cluster, once, when
    ``is_smallest``.
    """
    spec = folder("inventory") / f"{SMALL_SPEC if is_smallest else SPEC}.yaml"
    plan = build_plan(load_spec(spec))
    times, what = (1, "the small cluster") if is_smallest else (RUNS, "24,576 endpoints")
    lines = [
        f"| scan of {what} | MB | seconds | peak MB | statements |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    with tempfile.TemporaryDirectory() as place:
        for title, text in _scans(plan):
            scan = Path(place) / "scan"
            scan.write_text(text)
            runs = sorted(_run(spec, scan) for _ in range(times))
            seconds, memory, count = runs[times // 2]
            lines.append(f"| {title} | {len(text) / 1e6:.1f} | {seconds:.2f} | {memory:.0f} | {count} |")
    return "\n".join(lines)


def _scans(plan: Plan) -> list[tuple[str, str]]:
    planned = listing(plan, "4xNDR")
    swaps: dict[int, int] = {}
    for role in ("leaf", "spine", "core"):
        pair = [device.guid for device in plan.devices_of(role)[-2:]]
        if len(pair) < 2:
            continue  # a small cluster's tier of one switch, or none
        first, second = pair
        assert first is not None  # noqa: S101 - InfiniBand switches have GUIDs; narrows the type
        assert second is not None  # noqa: S101 - as above
        swaps |= {first: second, second: first}
    return [
        ("as planned", planned),
        ("three pairs of switches exchanged", listing(plan, "4xNDR", guid=lambda guid: swaps.get(guid, guid))),
        (
            "no GUID known, switches without names",
            listing(
                plan,
                "4xNDR",
                described=lambda name: name if name.startswith("gpu") else "Quantum",
                guid=lambda guid: guid ^ 0x5A00000000000000,
            ),
        ),
    ]


def _run(spec: Path, scan: Path) -> tuple[float, float, int]:
    """Seconds, peak memory in MB and lines of output of one run. Raises CalledProcessError where it could not run."""
    command = [str(Path(sys.executable).with_name("clusterwright")), "observe", str(spec), "--ibnetdiscover", str(scan)]
    start = time.perf_counter()
    with tempfile.TemporaryFile() as out:
        process = subprocess.Popen(command, stdout=out)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
        code = os.waitstatus_to_exitcode(status)
        if code not in {0, 1}:
            raise subprocess.CalledProcessError(code, command)
        out.seek(0)
        return seconds, usage.ru_maxrss / 1024, sum(1 for _ in out) - 1
