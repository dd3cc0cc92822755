"""The ranks of a job on two nodes of a rack: NCCL itself, built from its sources; GPUs and adapters are not there.

gpu.c stands for CUDA's runtime and NVML, adapters.c for libibverbs, paths.c for what Linux says of adapters: at the PCI
addresses of the catalogue, with the addresses of the plan, in another order on each node. All else is NCCL's: it
reads the rendered files, finds its neighbours, chooses rings and trees, and makes queue pairs. What it wants of these
is written down. On a GPU, with the same adapters, it chose the same (docs/nccl.md).
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from ipaddress import IPv4Address, IPv6Address
from pathlib import Path

from tests.hosts.nccl_reader import Element, read_topology
from tests.hosts.nccl_start import PARTS, place, start
from tests.rendezvous.rack import Texts, dropped, rack, switches_of, texts_of, write

from clusterwright.extras.lab.namespaces import inside
from clusterwright.hosts.linux.reader.nccl import read_partition
from clusterwright.intent.node_nics import HostNic, nics_of
from clusterwright.plan.model import Plan

HERE = Path(__file__).parent
CONF = "etc/nccl.conf"
# Codes of speeds a lane in ibv_port_attr, of four lanes: EDR, HDR, NDR (IBTA, 14.2.5.6).
SPEED_CODES = {100: 32, 200: 64, 400: 128}
CAPABILITIES = {"A100": "80", "H100": "90"}
# As an mlx5 adapter has them: its link-local address in both versions of RoCE, then the one it was given in both.
GID_TYPES = ("IB/RoCE v1", "RoCE v2", "IB/RoCE v1", "RoCE v2")
# What the stand-in for CUDA does not have: memory that processes map for each other, multicast of NVSwitches.
WITHOUT = {"NCCL_CUMEM_ENABLE": "0", "NCCL_CUMEM_HOST_ENABLE": "0", "NCCL_NVLS_ENABLE": "0"}
MESSAGES = (65_536, 67_108_864)
PATIENCE_S = 120


@dataclass(frozen=True)
class QueuePair:
    """What NCCL asked of a queue pair, by the words of adapters.c; ``gid`` is the other end's, in hex."""

    adapter: str
    gid: str
    wanted: Mapping[str, int]


@dataclass(frozen=True)
class End:
    """An end of a connection (channel, sending rank, receiving rank), and the adapter that it uses.

    ``rank`` is whose GPU is next to it: the end's own, or one that it reaches over NVLink. ``direct`` is without the
    host's memory.
    """

    connection: tuple[int, int, int]
    rank: int
    adapter: str
    direct: bool


@dataclass(frozen=True)
class Job:
    """What came of a job: for each rank its exit status, what it printed and what NCCL logged; rules that dropped
    packets. ``texts`` is what was rendered for its first node."""

    folder: Path
    texts: Texts
    statuses: tuple[int | None, ...]
    printed: tuple[str, ...]
    logs: tuple[str, ...]
    lost: tuple[str, ...]

    @cached_property
    def queue_pairs(self) -> tuple[QueuePair, ...]:
        """Those of all ranks."""
        found: list[QueuePair] = []
        for rank in range(len(self.logs)):
            own: dict[str, dict[str, str]] = {}
            for line in (self.folder / f"queue-pairs.{rank}").read_text().splitlines():
                own.setdefault(line.split()[0], {}).update(re.findall(r"(\w+)=(\w+)", line))
            for words in own.values():
                adapter, gid = words.pop("adapter"), words.pop("gid")
                found.append(QueuePair(adapter, gid, {key: int(value) for key, value in words.items()}))
        return tuple(found)

    @cached_property
    def ends(self) -> tuple[End, ...]:
        """Those of all connections between nodes."""
        place = (
            r"Channel (\d+)/\d+ : (\d+)\[\d+\] -> (\d+)\[\d+\] \[(send|receive)\] via NET/IB/(\d+)(?:\((\d+)\))?(\S*)"
        )
        found = []
        for log in self.logs:
            adapters = _adapters(log)
            for channel, sender, receiver, way, adapter, by, kind in re.findall(place, log):
                rank = int(by or (sender if way == "send" else receiver))
                connection = int(channel), int(sender), int(receiver)
                found.append(End(connection, rank, adapters[int(adapter)], "GDRDMA" in kind))
        return tuple(found)

    @property
    def adapters(self) -> tuple[tuple[str, ...], ...]:
        """The adapters that each rank uses, in NCCL's order."""
        return tuple(_adapters(log) for log in self.logs)


def _adapters(log: str) -> tuple[str, ...]:
    line = re.search(r"NET/IB : Using (.*); OOB", log)
    assert line is not None, log
    return tuple(re.findall(r"\[\d+\](\w+):1/(?:IB|RoCE)", line[1]))


Order = Callable[[Sequence[HostNic]], Sequence[HostNic]]


def backwards(ports: Sequence[HostNic]) -> Sequence[HostNic]:
    """The last adapter first."""
    return ports[::-1]


def of_another_machine(ports: Sequence[HostNic]) -> Sequence[HostNic]:
    """Every third one first: by no rule that a kernel has."""
    return [port for first in range(3) for port in ports[first::3]]


@dataclass(frozen=True)
class Libraries:
    """Folders with what ranks load: NCCL, as tools/build-nccl made it, and what stands for the vendor's libraries."""

    nccl: Path
    stand_ins: Path


def build_stand_ins(nccl: Path, folder: Path) -> Libraries:
    """Compile what stands for the vendor's libraries into a folder."""
    compiler = ["gcc", "-O1", "-w", "-fPIC", "-shared", f"-I{nccl}/include"]
    versions = [f"-Wl,--version-script={HERE}/stand_in.map", "-Wl,-soname,libcudart.so.13"]
    sources = [f"{HERE}/gpu.c", f"{HERE}/adapters.c"]
    subprocess.run([*compiler, *versions, "-o", f"{folder}/libcudart.so.13", *sources], check=True)
    subprocess.run([*compiler, "-o", f"{folder}/paths.so", f"{HERE}/paths.c"], check=True)
    for name in ("libibverbs.so", "libnvidia-ml.so.1"):
        (folder / name).symlink_to("libcudart.so.13")
    return Libraries(nccl, folder)


def run_job(
    plan: Plan,
    nodes: Sequence[str],
    libraries: Libraries,
    folder: Path,
    more: Mapping[str, str] | None = None,
    patience_s: float = PATIENCE_S,
    orders: Sequence[Order] = (backwards, of_another_machine),
) -> Job:
    """A rank for each GPU of the nodes, to their end or until nobody waits any more.

    ``more`` is what the job's own environment holds, ``orders`` in which order each node's kernel has its adapters.
    """
    (profile,) = plan.spec.nccl_profiles
    prefix = f"nccl{os.getpid()}."
    texts = {node: _started(texts_of(plan, node), folder / node) for node in nodes}
    gpus = gpus_of(texts[nodes[0]])
    ranks = [(node, gpu) for node in nodes for gpu in gpus]
    with rack(prefix, plan, nodes, profile.sockets, plan, plan):
        started = []
        for node, order in zip(nodes, orders, strict=True):
            _place(plan, node, texts[node], order, folder / node)
        common = {node: _environment(plan, node, gpus, libraries, folder / node) for node in nodes}
        for rank, (node, gpu) in enumerate(ranks):
            own = {
                "STAND_IN_GPU": gpu,
                "STAND_IN_QUEUE_PAIRS": f"{folder}/queue-pairs.{rank}",
                "NCCL_DEBUG_FILE": f"{folder}/log.{rank}",
            }
            command = [sys.executable, HERE / "rank.py", rank, len(ranks), folder / "meeting", *MESSAGES]
            with inside(f"{prefix}{node}"), (folder / f"printed.{rank}").open("w") as printed:
                started.append(
                    subprocess.Popen(
                        list(map(str, command)),
                        stdout=printed,
                        stderr=subprocess.STDOUT,
                        env=common[node] | own | dict(more or {}),
                    )
                )
        _wait(started, patience_s)
        version = plan.address_version(profile.sockets)
        names = (*nodes, *switches_of(plan, nodes, profile.sockets))
        lost = tuple(f"{name}: {rule}" for name in names for rule in dropped(f"{prefix}{name}", version))
    said = {kind: tuple(_text(folder / f"{kind}.{rank}") for rank in range(len(ranks))) for kind in ("printed", "log")}
    return Job(folder, texts[nodes[0]], tuple(each.returncode for each in started), said["printed"], said["log"], lost)


def gpus_of(texts: Texts) -> tuple[str, ...]:
    """The PCI addresses of a node's GPUs, in CUDA's order, which is theirs."""
    return tuple(sorted(bridges_of(texts, "0x0302")))


def bridges_of(texts: Texts, kind: str) -> dict[str, str]:
    """The bridge above each device of a PCI class (``0x0302`` GPUs, ``0x02`` adapters), by PCI address."""
    found: dict[str, str] = {}

    def walk(element: Element, above: str) -> None:
        here = element.attributes.get("busid", above)
        if element.attributes.get("class", "").startswith(kind):
            found[here] = above
        for child in element.children:
            walk(child, here)

    walk(read_topology(texts[_topology_in(texts)]), "")
    return found


def _topology_in(texts: Texts) -> str:
    (path,) = (path for path in texts if re.fullmatch(r"etc/nccl/topology-.*\.xml", path))
    return path


def gid_of(port: HostNic) -> bytes:
    """The GID of a port's address: an IPv4 address as one of IPv6 holds it."""
    assert port.address is not None
    if port.version == 6:
        return IPv6Address(port.address).packed
    return bytes(10) + b"\xff\xff" + IPv4Address(port.address).packed


def modules_of(texts: Texts) -> list[str]:
    """The kernel modules that a node loads when it starts."""
    lines = texts["etc/modules-load.d/clusterwright.conf"].splitlines()
    return [line for line in lines if not line.startswith("#")]


def ports_of(plan: Plan, node: str) -> tuple[HostNic, ...]:
    """The adapters of a node that have a name among RDMA devices."""
    return tuple(port for nic in nics_of(plan, plan.by_name[node]) for port in nic.ports if port.rdma_device)


def _started(texts: Texts, folder: Path) -> Texts:
    """The files of a node that has started: nccl.conf is made then where a partition's index is part of it."""
    if CONF in texts:
        return texts
    partition = read_partition(texts[PARTS[1]])
    assert partition is not None
    place(texts, dict.fromkeys(partition[1], (0x7FFF, int(partition[0], 16))), folder)
    assert start(texts, folder).returncode == 0
    made = (folder / "run/nccl/nccl.conf").read_text()
    (folder / CONF).unlink()
    return {**texts, CONF: made}


def _place(plan: Plan, node: str, texts: Texts, order: Order, folder: Path) -> None:
    """Write what NCCL reads on a node: its files, and what Linux would say of its adapters."""
    topology = _topology_in(texts)
    write(texts, (CONF, topology), folder)
    (folder / topology).rename(folder / "topology.xml")
    for name in modules_of(texts):
        module = folder / "sys/module" / name
        module.mkdir(parents=True)
        (module / "version").touch()
    (folder / "sys/bus/pci").mkdir(parents=True)
    lines = []
    for at, nic in enumerate(order(ports_of(plan, node)), 1):
        assert nic.rdma_device is not None
        assert nic.pci is not None
        device = folder / "sys/devices" / nic.pci
        device.mkdir(parents=True)
        (device / "subsystem").symlink_to(folder / "sys/bus/pci")
        adapter = folder / "sys/class/infiniband" / nic.rdma_device
        types = adapter / "ports/1/gid_attrs/types"
        types.mkdir(parents=True)
        (adapter / "device").symlink_to(device)
        gids = [IPv6Address(f"fe80::{at:x}").packed]
        if nic.address is not None:
            gids = [gid for gid in (*gids, gid_of(nic)) for _ in range(2)]
        for number, kind in enumerate(GID_TYPES[: len(gids)]):
            (types / str(number)).write_text(f"{kind}\n")
        link = "IB" if nic.fabric.technology == "infiniband" else "RoCE"
        (cable,) = (c for c in plan.cables_of[node] if c.a.device == node and c.a.port == nic.interface)
        code = SPEED_CODES[cable.speed_gbps]
        lines.append(f"{nic.rdma_device} {link} {code} {at} {','.join(gid.hex() for gid in gids)}\n")
    (folder / "adapters").write_text("".join(lines))


def _environment(plan: Plan, node: str, gpus: Sequence[str], libraries: Libraries, folder: Path) -> dict[str, str]:
    kind = plan.spec.catalogue[plan.by_name[node].model].gpus
    assert kind is not None
    return {
        "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
        "PYTHONDONTWRITEBYTECODE": "1",
        "LD_LIBRARY_PATH": f"{libraries.stand_ins}:{libraries.nccl}/lib",
        "LD_PRELOAD": f"{libraries.stand_ins}/paths.so",
        "STAND_IN_GPUS": ",".join(gpus),
        "STAND_IN_CAPABILITY": CAPABILITIES[kind.model.partition("-")[0]],
        "STAND_IN_ADAPTERS": f"{folder}/adapters",
        "STAND_IN_ROOT": str(folder),
        "NCCL_CONF_FILE": f"{folder}/{CONF}",
        "NCCL_TOPO_FILE": f"{folder}/topology.xml",
        "NCCL_HOSTID": node,
        "NCCL_DEBUG": "INFO",
        "NCCL_DEBUG_SUBSYS": "INIT,ENV,NET,GRAPH,TUNING",
        **WITHOUT,
    }


def _wait(started: Sequence[subprocess.Popen[bytes]], patience_s: float) -> None:
    """Until all have ended, or one has failed and the others had a moment to say so, or patience ends."""
    deadline = time.monotonic() + patience_s
    while time.monotonic() < deadline and any(each.poll() is None for each in started):
        if any(each.returncode for each in started):
            deadline = min(deadline, time.monotonic() + 2)
        time.sleep(0.05)
    for each in started:
        each.kill()
        each.wait()


def _text(path: Path) -> str:
    return path.read_text(errors="replace") if path.exists() else ""
