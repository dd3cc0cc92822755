"""The host of the master is turned off: the rendered configurations of two managers, real opensm over ibsim."""

from __future__ import annotations

import os
import re
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.hosts.subnet import UMAD
from tests.lab.ibnet import simulate_fabric
from tests.plans import plan_of

from clusterwright.hosts.opensm.writer.configuration import manager_guids, manager_hosts
from clusterwright.output.rendering import Rendering
from clusterwright.plan.model import Plan

pytestmark = pytest.mark.slow
WAIT_S = 90


@dataclass(frozen=True)
class Fabric:
    """A simulated fabric below a folder, whose ibsim runs."""

    plan: Plan
    folder: Path
    stack: ExitStack

    def environment(self, host: str) -> dict[str, str]:
        guid = manager_guids(self.plan, "backend")[host]
        simulated = {"IBSIM_SOCKNAME": f"cw-{self.folder.name}", "SIM_HOST": f"H-{guid - 1:016x}"}
        place = {"OSM_CACHE_DIR": str(self.folder / host), "OSM_TMP_DIR": str(self.folder / host)}
        return {**os.environ, **simulated, **place, "LD_PRELOAD": str(UMAD)}

    def start(self, host: str) -> subprocess.Popen[bytes]:
        place = self.folder / host
        place.mkdir()
        for file in Rendering(self.plan).of_device(host):
            if file.path.startswith("etc/opensm/"):
                text = file.content.decode().replace("/etc/opensm", str(place))
                text = text.replace("/var/log/opensm.log", f"{place}/log")
                (place / Path(file.path).name).write_text(text)
        command = ["opensm", "-F", str(place / "opensm.conf")]
        with (place / "output").open("wb") as output:
            process = subprocess.Popen(
                command, cwd=self.folder, env=self.environment(host), stdout=output, stderr=output
            )
        self.stack.enter_context(process)
        self.stack.callback(process.kill)
        return process

    def wait_for(self, host: str, words: str) -> None:
        log = self.folder / host / "log"
        deadline = time.monotonic() + WAIT_S
        while not log.exists() or words not in log.read_text(errors="replace"):
            assert time.monotonic() < deadline, log.read_text() if log.exists() else "no log"
            time.sleep(0.2)

    def master(self, host: str) -> int:
        """The GUID of the port whose manager answers as master, as a host's port has it."""
        answer = subprocess.run(
            ["sminfo"], cwd=self.folder, env=self.environment(host), capture_output=True, text=True, check=True
        ).stdout
        match = re.search(r"sm guid 0x([0-9a-f]+),.*SMINFO_MASTER", answer)
        assert match is not None, answer
        return int(match[1], 16)


@pytest.fixture
def fabric(tmp_path: Path) -> Iterator[Fabric]:
    plan = plan_of("lab-ib")
    simulated = simulate_fabric(plan, "backend")
    (tmp_path / "net").write_text(simulated.text)
    limits = ["-N", str(simulated.nodes), "-S", str(simulated.switches), "-P", str(simulated.ports)]
    output = tmp_path / "ibsim"
    with ExitStack() as stack:
        with output.open("wb") as stream:
            process = subprocess.Popen(
                ["ibsim", "-s", "-n", *limits, str(tmp_path / "net")],
                env={**os.environ, "IBSIM_SOCKNAME": f"cw-{tmp_path.name}"},
                stdin=subprocess.PIPE,
                stdout=stream,
                stderr=stream,
            )
        stack.enter_context(process)
        stack.callback(process.kill)
        deadline = time.monotonic() + WAIT_S
        while "MaxMcastCap" not in output.read_text():
            assert time.monotonic() < deadline, output.read_text()
            time.sleep(0.1)
        yield Fabric(plan, tmp_path, stack)


def test_the_standby_sweeps_once_the_master_is_stopped(fabric: Fabric) -> None:
    first, second = manager_hosts(fabric.plan, "backend")
    guids = manager_guids(fabric.plan, "backend")
    master = fabric.start(first)
    fabric.wait_for(first, "SUBNET UP")
    fabric.start(second)
    fabric.wait_for(second, "Entering STANDBY state")
    assert fabric.master(second) == guids[first]

    master.terminate()  # as systemctl stop does

    fabric.wait_for(second, "SUBNET UP")
    assert fabric.master(second) == guids[second]
