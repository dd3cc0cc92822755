"""Whole specs that nobody wrote: what lints without an error works everywhere, its proofs refuted only as foretold.

Some are drawn here, the same every time; thousands by ``python -m tests.generated.campaign --count 2000``.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.generated.specs import GROWTH

CHECKOUT = Path(__file__).parents[2]
EXAMPLES = 150
NUMBER = 23  # chooses which
LEAST_CLEAN = 0.4
# What clean specs must reach, and in how many of them at least: a part of the grammar that is no longer drawn, or that
# lint came to refuse everywhere, is missing here. What is rare has a share of the specs of its own (RARE in specs.py).
LEAST = {
    "runs eos": 4,
    "runs fboss": 4,
    "runs sonic": 4,
    "runs nvue": 4,
    "mixed platforms in a fabric": 4,
    "join all": 8,
    "join rail": 2,
    "join position": 2,
    **{f"{count} tiers": 1 for count in (1, 2, 3, 4)},
    **{f"{count} node groups": 2 for count in (1, 2, 3, 4)},
    "IPv4": 4,
    "IPv6": 4,
    "shared": 4,
    "point-to-point": 2,
    "roce": 4,
    "ethernet": 8,
    "infiniband beside ethernet": 1,
    "partitions": 1,
    "extends": 2,
    "exceptions": 1,
    "extra_config": 1,
    "mounts": 1,
    "boot": 1,
    "nccl": 4,
    "scheduler": 2,
    "jobs": 3,
    "any": 2,
    "icmp": 1,
    "zones that overlap": 1,
    "up with mode": 4,
    "up with macsec": 1,
    "role with a dash": 4,
    "borders": 3,
    "two NCCL profiles": 2,
    "a Slurm of two groups": 2,
    "two Slurms": 2,
    "accounting": 3,
    "bonds": 3,
    "two-port NICs": 3,
    "mount in clear": 3,
    **{f"grown by {what}": 1 for what in GROWTH},
    "datasets": 1,
    "promises": 4,
    "execution": 2,
    "secrets": 1,
}


def test_what_lints_clean_works_everywhere_and_is_not_refuted(tmp_path: Path) -> None:
    # In a process of its own: hypothesis draws from the constants of all modules that are loaded, so that beside other
    # tests it draws other specs.
    arguments = ["--count", str(EXAMPLES), "--seed", str(NUMBER), "--out", str(tmp_path)]
    done = subprocess.run(
        [sys.executable, "-m", "tests.generated.campaign", *arguments],
        cwd=CHECKOUT,
        env={**os.environ, "PYTHONHASHSEED": "0"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"the first specs are in {tmp_path}:\n{done.stdout}{done.stderr}"
    document = json.loads((tmp_path / "summary.json").read_text(encoding="utf-8"))
    assert document["drawn"] == EXAMPLES
    assert document["clean"] >= LEAST_CLEAN * EXAMPLES, done.stdout
    lacking = {name: least for name, least in LEAST.items() if document["features"].get(name, 0) < least}
    assert not lacking, f"fewer clean specs than these have it: {lacking}; {done.stdout}"
