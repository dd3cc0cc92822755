"""Error counters of a simulated InfiniBand fabric, read by the real ibqueryerrors."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from tests.lab.ibnet import simulate_fabric

from clusterwright.plan.model import Plan

UMAD = "/usr/lib/x86_64-linux-gnu/umad2sim/libumad2sim.so"
PACKAGES = {"ibsim": "ibsim-utils", "opensm": "opensm", "ibqueryerrors": "infiniband-diags"}


class Fault(NamedTuple):
    """A counter to be set: node as the net file names it (``S-…`` or ``H-…``), port, counter, value."""

    node: str
    port: int
    counter: str
    value: int


def query_errors(plan: Plan, faults: Sequence[Fault], folder: Path) -> str:
    """What ibqueryerrors says of the plan's backend, routed once by opensm, after these counts."""
    for program, package in PACKAGES.items():
        assert shutil.which(program), f"{program} is missing: apt-get install {package}"
    fabric = simulate_fabric(plan, "backend")
    (folder / "net").write_text(fabric.text)
    host = next(line.split('"')[1] for line in fabric.text.splitlines() if line.startswith("Hca"))
    environment = {"PATH": os.environ["PATH"], "IBSIM_SOCKNAME": f"cwe-{os.getpid()}"}
    limits = ["-N", str(fabric.nodes), "-S", str(fabric.switches), "-P", str(fabric.ports)]
    with (folder / "ibsim.out").open("w") as out:
        simulator = subprocess.Popen(
            ["ibsim", "-s", *limits, str(folder / "net")],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=out,
            stderr=subprocess.STDOUT,
            text=True,
        )
    client = environment | {
        "LD_PRELOAD": UMAD,
        "SIM_HOST": host,
        "OSM_CACHE_DIR": str(folder),
        "OSM_TMP_DIR": str(folder),
    }
    try:
        assert simulator.stdin is not None
        for fault in faults:
            simulator.stdin.write(
                f'PerformanceSet "{fault.node}"[{fault.port}] PortCounters.{fault.counter}={fault.value}\n'
            )
        simulator.stdin.flush()
        end = time.monotonic() + 30
        while (folder / "ibsim.out").read_text().count("has been set to") < len(faults) and time.monotonic() < end:
            time.sleep(0.05)
        subprocess.run(
            ["opensm", "-o", "-e", "-f", str(folder / "opensm.log")],
            env=client,
            check=True,
            capture_output=True,
            timeout=60,
        )
        # --skip-sl: opensm has routed once and gone, so that nobody answers path queries.
        done = subprocess.run(
            ["ibqueryerrors", "--details", "--skip-sl"],
            env=client,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        return done.stdout
    finally:
        simulator.terminate()
        simulator.communicate(timeout=30)
