"""The comment of a pull request that opens one port of 24,576 GPUs, beside rendering the whole cluster.

Both are whole commands. What counts is the ratio of processor time, which a busy machine distorts least.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from benchmarks.deployment import cost_of
from clusterwright.data_files import folder

SPEC, SMALL_SPEC = "roce-24k", "lab-roce"
CHANGE = "flows: [{name: nfs, ports: [2049, 20049]}]"
FORMS = ("text", "markdown")


def report(*, is_smallest: bool = False) -> str:
    """The figures as a Markdown table; of the small cluster when ``is_smallest``."""
    before = folder("inventory") / f"{SMALL_SPEC if is_smallest else SPEC}.yaml"
    command = str(Path(sys.executable).with_name("clusterwright"))
    with tempfile.TemporaryDirectory() as place:
        after = Path(place) / "after.yaml"
        after.write_text(f"extends: {before}\n{CHANGE}\n")
        rendering = cost_of([command, "render", str(before), "--out", f"{place}/tree"])
        costs = {f"render {before.stem}": rendering}
        for form in FORMS:
            compared = [command, "diff", str(before), str(after), "--format", form]
            costs[f"diff --format {form}"] = cost_of(compared, expected=1)
    rows = [
        f"| {what} | {cost.wall_s:.1f} | {cost.processor_s:.1f} | {cost.processor_s / rendering.processor_s:.2f} |"
        for what, cost in costs.items()
    ]
    return "\n".join(
        [
            f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}",
            "",
            "| command | wall s | processor s | times `render` |",
            "| --- | ---: | ---: | ---: |",
            *rows,
        ]
    )
