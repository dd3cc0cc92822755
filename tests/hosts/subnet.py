"""A simulated InfiniBand subnet: ibsim with a plan's cabling, opensm with the files rendered for one of its hosts."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.lab.ibnet import simulate_fabric

from clusterwright.hosts.opensm.writer import configuration as opensm
from clusterwright.plan.model import Plan

# ftree goes through the tables of all switches for each adapter, a gigabyte in all: in pages of 2 MB, which only the
# heap of the first thread is given, it finds them with a fifth less work.
LARGE_PAGES = "glibc.malloc.hugetlb=1:glibc.malloc.arena_max=1"
UMAD = "/usr/lib/x86_64-linux-gnu/umad2sim/libumad2sim.so"
PACKAGES = {
    "ibsim": "ibsim-utils",
    "opensm": "opensm",
    "smpquery": "infiniband-diags",
    "unshare": "util-linux",
    "taskset": "util-linux",
}


@dataclass(frozen=True)
class Subnet:
    """A subnet that is up. ``log`` is opensm's own, ``lids`` maps port GUIDs (of switches: node GUIDs) to LIDs.

    Programs run in ``folder``: libumad2sim keeps a folder of its own, sys-PID, wherever it is started.
    """

    log: str
    lids: dict[int, int]
    environment: dict[str, str]
    folder: Path

    def run(self, *command: str) -> str:
        """A diagnostic program's output, run on the subnet manager's host."""
        done = subprocess.run(
            command, env=self.environment, cwd=self.folder, capture_output=True, text=True, timeout=300, check=False
        )
        assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
        return done.stdout

    def forwarding(self, guid: int) -> dict[int, int]:
        """A switch's output port for each LID, as the switch itself tells.

        ibroute stops before the last LID where that one begins a block of 64; ibtracert's first hop tells its port.
        """
        own, last = self.lids[guid], max(self.lids.values())
        text = self.run("ibroute", "-n", str(own))
        table = {int(lid, 16): int(port) for lid, port in re.findall(r"^0x([0-9a-f]{4}) (\d{3})", text, re.M)}
        if last % 64 == 0 and last != own:
            hop = re.search(r"^\[(\d+)\] -> ", self.run("ibtracert", "-n", str(own), str(last)), re.M)
            assert hop is not None
            assert last not in table
            table[last] = int(hop[1])
        return table

    def pkeys(self, lid: int) -> list[int]:
        """The P_Key table of an adapter's port, without its empty tail."""
        found = [int(text, 16) for text in re.findall(r"0x([0-9a-f]{4})", self.run("smpquery", "pkeys", str(lid)))]
        while found and found[-1] == 0:
            found.pop()
        return found


@contextmanager
def routed_subnet(plan: Plan, subnet_name: str, folder: Path, seconds: float = 60) -> Iterator[Subnet]:
    """Starts ibsim and opensm, which sees the rendered files at their real paths; waits until the subnet is routed.

    It runs on the host that is to be master, with options that have no M_Key.
    """
    for program, package in PACKAGES.items():
        assert shutil.which(program), f"{program} is missing: apt-get install {package}"
    subnet = plan.ib_subnets[subnet_name]
    host = plan.by_name[opensm.managers_by_priority(plan, subnet_name)[0]]
    place = opensm.place_of(plan, subnet)
    for artifact in opensm.render(plan, host):
        (folder / artifact.path).parent.mkdir(parents=True, exist_ok=True)
        (folder / artifact.path).write_bytes(artifact.content)
    simulated = simulate_fabric(plan, subnet_name)
    (folder / "net").write_text(simulated.text)
    for name in ("log", "cache"):
        (folder / name).mkdir()
    guid = opensm.manager_guids(plan, subnet_name)[host.name]
    environment = {
        "PATH": os.environ["PATH"],
        "IBSIM_SOCKNAME": f"cw-{os.getpid()}-{folder.name}"[-60:],
        "SIM_HOST": f"H-{guid - 1:016x}",
    }
    limits = ["-N", str(simulated.nodes), "-S", str(simulated.switches), "-P", str(simulated.ports)]
    with (folder / "ibsim.out").open("w") as out:
        simulator = subprocess.Popen(
            ["ibsim", "-s", "-n", *limits, str(folder / "net")],
            env=environment,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
        )
    manager: subprocess.Popen[bytes] | None = None
    environment |= {"LD_PRELOAD": UMAD, "OSM_CACHE_DIR": str(folder / "cache"), "OSM_TMP_DIR": str(folder / "log")}
    try:
        _wait(folder / "ibsim.out", "MaxMcastCap", simulator, seconds)
        logs = folder / "log" / place.logs.removeprefix("/var/log").lstrip("/")
        logs.mkdir(parents=True, exist_ok=True)
        script = (
            f"mount --bind {folder}/etc/opensm /etc/opensm && mount --bind {folder}/log /var/log && "
            # Its threads wait for each other more than they work: on one processor they take a fifth less of it.
            f"exec taskset --cpu-list {max(os.sched_getaffinity(0))} opensm -F /{place.folder}/opensm.conf"
        )
        with (folder / "opensm.out").open("w") as out:
            manager = subprocess.Popen(
                ["unshare", "--mount", "sh", "-c", script],
                env=environment | {"GLIBC_TUNABLES": LARGE_PAGES},
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
            )
        _wait(logs / "opensm.log", "SUBNET UP", manager, seconds)
        lids = {
            int(match[1], 16): int(match[2], 16)
            for match in re.finditer(
                r"^0x([0-9a-f]{16}) 0x([0-9a-f]{4})", (folder / "cache" / "guid2lid").read_text(), re.M
            )
        }
        yield Subnet((logs / "opensm.log").read_text(), lids, environment, folder)
    finally:
        for process in (manager, simulator):
            if process is not None:
                process.terminate()
                process.wait(30)


def _wait(file: Path, text: str, process: subprocess.Popen[bytes], seconds: float) -> None:
    end = time.monotonic() + seconds
    read, tail = 0, b""
    while time.monotonic() < end:
        if file.exists():
            with file.open("rb") as stream:  # what was added since: a log has hundreds of thousands of lines
                stream.seek(read)
                added = stream.read()
            if text.encode() in tail + added:
                return
            read, tail = read + len(added), (tail + added)[-len(text) :]
        assert process.poll() is None, f"{process.args!r} ended: {file.read_text() if file.exists() else ''}"[-2000:]
        time.sleep(0.1)
    raise AssertionError(f"no {text!r} in {file} after {seconds} s")
