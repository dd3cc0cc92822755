"""A planned fabric as a net file for ibsim whose cables can be moved, and what ibnetdiscover says of it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

from tests.lab.ibnet import simulate_fabric

from clusterwright import data_files
from clusterwright.plan.build import build_plan
from clusterwright.plan.chips import chip_ports, chips_of
from clusterwright.plan.model import Plan
from clusterwright.spec.load import load_spec

UMAD = "/usr/lib/x86_64-linux-gnu/umad2sim/libumad2sim.so"
PACKAGES = {"ibsim": "ibsim-utils", "ibnetdiscover": "infiniband-diags"}
HDR = "e=4"  # ibsim's bit for HDR, the fastest it knows
_HEAD = re.compile(r'(?:Switch|Hca)\s+\d+ "([SH]-[0-9a-f]+)"\s+# "(.*?)"')
_LINK = re.compile(r'\[(\d+)\](?:\([0-9a-f]+\))?\s+"([SH]-[0-9a-f]+)"\[(\d+)\]')

End = tuple[str, int]


def hdr_lab(folder: Path, *changes: tuple[str, str]) -> Path:
    """The lab's spec with HDR hardware, since ibsim knows nothing faster; returns its path."""
    text = (data_files.folder("inventory") / "lab-ib.yaml").read_text()
    for old, new in (
        ("dgx-h100", "dgx-a100"), ("qm9790", "qm8790"),
        ("up: {links: 8, speed_gbps: 400", "up: {links: 8, speed_gbps: 200"),
        *changes,
    ):  # fmt: skip
        assert old in text, old
        text = text.replace(old, new)
    path = folder / "lab-hdr.yaml"
    path.write_text(text)
    return path


def hdr_plan(folder: Path, *changes: tuple[str, str]) -> Plan:
    """The plan of ``hdr_lab``."""
    return build_plan(load_spec(hdr_lab(folder, *changes)))


@dataclass
class NetFile:
    """A net file: ``heads`` of nodes by ibsim's name, ``names`` those names by description, cables in both directions.

    ``rates`` are ibsim's options by end, where a link is not to train to HDR.
    """

    plan: Plan
    heads: dict[str, str] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    peers: dict[End, End] = field(default_factory=dict)
    rates: dict[End, str] = field(default_factory=dict)

    @classmethod
    def of(cls, plan: Plan) -> NetFile:
        """The fabric ``backend`` as planned."""
        net = cls(plan)
        head: list[str] = []
        node = ""
        for line in simulate_fabric(plan, "backend").text.splitlines():
            if "guid=" in line:
                head.append(line)
            elif match := _HEAD.match(line):
                node = match[1]
                net.heads[node] = "\n".join([*head, line])
                net.names[match[2]] = node
                head = []
            elif link := _LINK.match(line):
                net.peers[node, int(link[1])] = (link[2], int(link[3]))
        return net

    def end(self, device: str, port: str) -> End:
        """ibsim's name of a port on the panel, or of a host's NIC."""
        found = self.plan.by_name[device]
        if found.kind == "node":
            return self.names[f"{device} {port}"], 1
        chip, number = chip_ports(self.plan.spec.catalogue[found.model], split=found.model in self.plan.split_models)[
            port
        ]
        return self.names[chips_of(self.plan, found)[chip].name], number

    def cut(self, one: End) -> End:
        """Unplugs a cable at both ends; returns the other end."""
        other = self.peers.pop(one)
        del self.peers[other]
        return other

    def join(self, one: End, other: End) -> None:
        """Plugs a cable in."""
        assert one not in self.peers
        assert other not in self.peers
        self.peers[one], self.peers[other] = other, one

    def swap(self, one: End, other: End) -> None:
        """Exchanges what two ports are cabled to."""
        far_one, far_other = self.cut(one), self.cut(other)
        self.join(one, far_other)
        self.join(other, far_one)

    def exchange(self, one: str, other: str) -> None:
        """Exchanges all cables of two nodes."""
        moved = {one: other, other: one}
        self.peers = {
            (moved.get(a, a), a_port): (moved.get(b, b), b_port) for (a, a_port), (b, b_port) in self.peers.items()
        }

    def remove(self, node: str) -> None:
        """Takes a node away with its cables."""
        for end in [end for end in self.peers if end[0] == node]:
            self.cut(end)
        del self.heads[node]

    def text(self, rate: str = HDR) -> str:
        """The file; ``rate`` is what every link trains to that is not in ``rates``."""
        parts = []
        for name, head in self.heads.items():
            links = sorted((end[1], peer) for end, peer in self.peers.items() if end[0] == name)
            lines = [
                f'[{port}]\t"{peer[0]}"[{peer[1]}]\t{self.rates.get((name, port)) or self.rates.get(peer) or rate}\n'
                for port, peer in links
            ]
            parts.append(head + "\n" + "".join(lines))
        return "\n".join(parts)


def scan(net: NetFile, folder: Path, *commands: str, host: str = "gpu-s00r00n0 be0") -> Path:
    """What ibnetdiscover on a host lists, with its standard error; ``commands`` are given to ibsim before."""
    for program, package in PACKAGES.items():
        assert shutil.which(program), f"{program} is missing: apt-get install {package}"
    (folder / "net").write_text(net.text())
    environment = {
        "PATH": os.environ["PATH"],
        "IBSIM_SOCKNAME": f"cw-{os.getpid()}-{folder.name}"[-60:],
        "SIM_HOST": net.names[host],
    }
    listing, out = folder / "listing", folder / "ibsim.out"
    with out.open("w") as output:
        simulator = subprocess.Popen(
            ["ibsim", "-s", "-N", "300", "-S", "100", "-P", "9000", str(folder / "net")],
            env=environment, stdin=subprocess.PIPE, stdout=output, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
        try:
            assert simulator.stdin is not None
            for command in commands:
                simulator.stdin.write(command + "\n")
            simulator.stdin.write("Dump\n")  # its answer tells that the commands before it are done
            simulator.stdin.flush()
            _wait(out, "# Net status", simulator)
            with listing.open("w") as text:
                subprocess.run(
                    ["ibnetdiscover"],
                    env=environment | {"LD_PRELOAD": UMAD},
                    stdout=text, stderr=subprocess.STDOUT, timeout=60, check=True,
                )  # fmt: skip
        finally:
            simulator.kill()
            simulator.communicate()
    return listing


def _wait(file: Path, text: str, process: subprocess.Popen[str]) -> None:
    end = time.monotonic() + 30
    while text not in file.read_text(errors="replace"):
        assert process.poll() is None, file.read_text()[-2000:]
        assert time.monotonic() < end, file.read_text()[-2000:]
        time.sleep(0.05)
