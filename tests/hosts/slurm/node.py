"""A real slurmctld and a real slurmd over the rendered files, and what jobs see there.

Nodes are those of a lab on a model whose processors and memory are this machine's, or whose processors hwloc is told:
slurmd finds what the catalogue has. Only the node check is stood in for: no machine here has a node's parts.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import yaml
from tests.hosts.slurm.controller import acting
from tests.plans import plan_with

from clusterwright import data_files
from clusterwright.intent.scheduling import login_groups
from clusterwright.output.rendering import Rendering
from clusterwright.plan.model import Plan

GPUS = 8
# Controller and node share a network, as behind a switch; each has its own name and its own files.
_SCRIPT = """
set -eu
ip link set lo up
for address in {addresses}; do ip address add $address dev lo; done
mount --bind {folder}/hosts /etc/hosts
mount -t tmpfs none /run
mount -t tmpfs none /var/spool
mount -t tmpfs none /var/log
mkdir -p /run/munge /var/log/munge /var/log/slurm /etc/slurm
chown munge /run/munge /var/log/munge
chown slurm /var/log/slurm
runuser -u munge -- munged --force 2> /dev/null
rm -rf /tmp/spmix_appdir_65534_*  # of a run that was killed: slurmstepd starts no step of the same number beside it
unshare --mount --uts sh -eu {folder}/controller.sh > {folder}/slurmctld.out 2>&1 &
controller=$!
unshare --mount --uts sh -eu {folder}/node.sh > {folder}/slurmd.out 2>&1 &
node=$!
mount --bind {folder}/controller/etc/slurm /etc/slurm
for try in $(seq 300); do
    scontrol show node {node} > {folder}/node.txt 2>&1 || :
    ! grep -q "State=\\(IDLE\\|INVALID\\|DOWN\\)" {folder}/node.txt || break
    kill -0 $controller && kill -0 $node || break
    sleep 0.1
done
sinfo --noheader --Node --nodes={node} --format='%T %G %E' > {folder}/state 2>&1 || :
cd /
{jobs}
kill $node $controller $(cat /run/munge/munged.pid)
wait
"""
_CONTROLLER = """
hostname {name}
mount --bind {folder}/controller/etc/slurm /etc/slurm
mkdir -p {state}
chown slurm {state}
exec setpriv --reuid slurm --regid slurm --clear-groups slurmctld -D -c
"""
# slurmd as its unit starts it, with the options of the rendered file; not with its limits, which take a right to raise.
_NODE = """
hostname {name}
mount -t tmpfs none /etc/slurm
mount --bind {folder}/node/usr/local /usr/local
mount --rbind {folder}/dev /dev
. {folder}/node/etc/default/slurmd
exec slurmd -D $SLURMD_OPTIONS
"""
# The epilog of the job before ends what its user runs, srun too: the next one waits for it.
_JOB = """
for try in $(seq 100); do scontrol show node {node} | grep -q "State=IDLE " && break; sleep 0.1; done
setpriv --reuid 65534 --regid 65534 --clear-groups timeout 60 srun --nodelist={node} {request} > {file} 2>&1 || :
"""


@dataclass(frozen=True, slots=True)
class JobReport:
    """What a node is to the controller, and what each request's job wrote."""

    state: str
    node: str
    jobs: tuple[str, ...]
    logs: str


def plan_on(folder: Path, lab: str, host: Mapping[str, int] = MappingProxyType({}), overlay: str = "") -> Plan:
    """A lab whose compute nodes have processors and memory that slurmd will find here."""
    catalogue = yaml.safe_load((data_files.folder("inventory") / "hardware/nodes.yaml").read_text())
    model: dict[str, Any] = next(each for each in catalogue["models"] if each["name"] == "dgx-h100")
    model["name"] = "small-h100"
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 10**9
    model["host"].update({"memory_gb": max(1, memory // 2), **host})
    (folder / "small.yaml").write_text(yaml.safe_dump({"version": 1, "kind": "hardware", "models": [model]}))
    return plan_with(
        folder, lab, f"hardware: [small.yaml]\nnodes:\n  - {{name: compute, model: small-h100}}\n{overlay}"
    )


def _write(plan: Plan, device: str, folder: Path) -> None:
    for artifact in Rendering(plan).of_device(device):
        place = folder / artifact.path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(artifact.content)
        place.chmod(artifact.mode)


def run_jobs(
    plan: Plan, folder: Path, node: str, requests: tuple[str, ...] = (), processors: str = "", then: str = ""
) -> JobReport:
    """Start both daemons, and one job after another: ``requests`` are srun's arguments.

    ``then`` are commands of a shell beside the controller, once these jobs have ended.

    ``processors`` is what hwloc takes the machine for; without it, it looks.
    """
    controller = acting(plan)
    _write(plan, controller, folder / "controller")
    _write(plan, node, folder / "node")
    conf = (folder / "controller/etc/slurm/slurm.conf").read_text()
    (scheduler,) = plan.spec.schedulers
    host = re.search(r"^SlurmctldHost=\S+\((\S+)\)$", conf, re.M)
    assert host is not None
    address = host[1]
    prefix = 128 if ":" in address else 32
    other = "2001:db8::1" if prefix == 128 else "192.0.2.1"
    names = [device.name for device in plan.devices if device.node_group in scheduler.nodes]
    login_nodes = [device.name for device in plan.devices if device.node_group in login_groups(scheduler)]
    lines = [
        "127.0.0.1 localhost",
        " ".join((address, controller, node, *login_nodes)),
        *(f"{other} {name}" for name in names if name != node),
    ]
    (folder / "hosts").write_text("\n".join(lines) + "\n")
    for check in ("node-health", "node-health-prolog", "node-health-drain"):
        (folder / "node/usr/local/sbin" / check).write_text("#!/bin/sh\nexit 0\n")
    (folder / "dev").mkdir()
    jobs = "\n".join(
        _JOB.format(node=node, request=request, file=folder / f"job{index}") for index, request in enumerate(requests)
    )
    words = {"folder": folder, "state": scheduler.controllers.state}
    (folder / "controller.sh").write_text(_CONTROLLER.format(name=controller, **words))
    (folder / "node.sh").write_text(_devices(folder) + _NODE.format(name=node, **words))
    script = _SCRIPT.format(folder=folder, addresses=f"{address}/{prefix}", node=node, jobs=jobs + then)
    # Programs of this room read hwloc's own variables; without them it looks at the machine.
    told = {"HWLOC_SYNTHETIC": processors, "HWLOC_THISSYSTEM": "1"} if processors else {}
    done = subprocess.run(
        [
            "unshare",
            "--mount",
            "--net",
            "--uts",
            "--pid",
            "--fork",
            "--kill-child",
            "--mount-proc",
            "bash",
            "-c",
            script,
        ],
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
        env={"PATH": os.environ["PATH"], **told},
    )
    logs = "".join(
        (folder / f"{name}.out").read_text() for name in ("slurmctld", "slurmd") if (folder / f"{name}.out").exists()
    )
    assert (folder / "state").exists(), done.stdout + done.stderr + logs
    return JobReport(
        state=(folder / "state").read_text().strip(),
        node=(folder / "node.txt").read_text(),
        jobs=tuple((folder / f"job{index}").read_text() for index in range(len(requests))),
        logs=logs,
    )


def _devices(folder: Path) -> str:
    """A /dev with the files of NVIDIA's driver, behind which no GPU answers."""
    nodes = "".join(
        f"mknod {folder}/dev/nvidia{index} c 195 {index}; chmod 666 {folder}/dev/nvidia{index}\n"
        for index in range(GPUS)
    )
    common = "null zero random urandom full tty"
    return (
        f"mount -t tmpfs none {folder}/dev\n"
        f"for each in {common}; do cp -a /dev/$each {folder}/dev/; done\n"
        f"mkdir {folder}/dev/shm; mount --bind /dev/shm {folder}/dev/shm; ln -s /proc/self/fd {folder}/dev/fd\n{nodes}"
    )
