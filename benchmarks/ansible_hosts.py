"""What a host costs when trees go out over SSH, to hosts with real sshd on this machine: both ends share its cores.

Wall time is therefore that of both ends, and of whatever else the machine does; processor time is the control node's
alone, and what an execution node would need in its place. Needs root: the hosts are network namespaces.
"""

from __future__ import annotations

import resource
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.lab.sshfleet import SshFleet

from clusterwright.artifact import Artifact
from clusterwright.deploy.ansible.ssh import Access
from clusterwright.deploy.ansible.target import AnsibleTarget
from clusterwright.deploy.target import DeviceTree

HOSTS, FEWEST_HOSTS = (10, 40, 160), (2,)
CLUSTER_HOSTS = 3072
EXECUTION_NODES = (1, 4, 8)
CORES = 2  # as many as the machine has that this is measured on
NETWORK_FILES = 20  # of 400 bytes, as a node with ten NICs has


def tree(device: str) -> DeviceTree:
    """As many files as a GPU node has, with running state in three of them."""
    files = {
        "etc/hostname": f"{device}\n",
        "etc/nftables.conf": "flush ruleset\ntable inet bench {\n  chain input { ct state established accept; }\n}\n",
        "etc/sysctl.d/90-bench.conf": "net.ipv4.ip_forward = 1\nnet.ipv4.conf.all.rp_filter = 1\n",
        **{f"etc/systemd/network/20-{number}.network": "#" * 400 for number in range(NETWORK_FILES)},
    }
    return tuple(Artifact(device, path, text.encode(), "bench") for path, text in files.items())


def cost(work: Callable[[], object]) -> tuple[float, float]:
    """Wall time, and processor time of the control node's processes, in seconds."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    work()
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure(hosts: int) -> Iterator[str]:
    """One table row for each kind of run over ``hosts`` hosts."""
    addresses = {f"n{index}": f"10.213.{index // 250 + 1}.{index % 250 + 1}" for index in range(hosts)}
    batch = {device: tree(device) for device in addresses}
    with (
        tempfile.TemporaryDirectory() as folder,
        SshFleet(addresses) as fleet,
        fleet.as_controller(),
    ):
        target = AnsibleTarget(Path(folder), Access(addresses, fleet.private_key, fleet.known_hosts))
        for name, work in (
            ("first apply", lambda: target.apply(batch)),
            ("nothing to change", lambda: target.apply(batch)),
            ("check", lambda: target.apply(batch, check=True)),
            ("read", lambda: target.read(batch)),
        ):
            wall_s, processor_s = cost(work)
            control = f"{hosts / wall_s:.1f} | {1000 * processor_s / hosts:.0f}"
            minutes = " | ".join(f"{extrapolated(processor_s / hosts, nodes):.1f}" for nodes in EXECUTION_NODES)
            yield f"| {hosts} | {name} | {wall_s:.2f} | {control} | {minutes} |"


def extrapolated(processor_s: float, nodes: int) -> float:
    """Minutes that a cluster's hosts take ``nodes`` machines of ``CORES`` cores at so much processor time a host.

    A straight line through the origin: nobody waits for a host, and all cores are busy to the end.
    """
    return processor_s * CLUSTER_HOSTS / (nodes * CORES) / 60


def report(*, is_smallest: bool = False) -> str:
    """The rows for 10, 40 and 160 hosts as a Markdown table, and each extrapolated to a cluster; for two hosts when
    ``is_smallest``.
    """
    ahead = " | ".join(f"{nodes} of {CORES} cores, min" for nodes in EXECUTION_NODES)
    head = [
        f"Minutes: {CLUSTER_HOSTS:,} hosts by that many machines, by processor time alone.",
        "",
        f"| hosts | run | seconds | hosts a second | one host, ms of processor | {ahead} |",
        "| ---: | --- | ---: | ---: | ---: |" + " ---: |" * len(EXECUTION_NODES),
    ]
    return "\n".join([*head, *(row for hosts in (FEWEST_HOSTS if is_smallest else HOSTS) for row in measure(hosts))])
