"""slurmctld reads the rendered files and answers with the topology we meant."""

from __future__ import annotations

import itertools
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.render.plans import plan_of

from clusterwright.artifact import Artifact
from clusterwright.plan.model import Plan
from clusterwright.render import slurm
from clusterwright.render.slurm_hostlist import hostlist
from clusterwright.render.slurm_topology import blocks

PACKAGES = {"slurmctld": "slurmctld", "scontrol": "slurm-client", "munged": "munge"}

# slurmctld gets the rendered files, a host name and its planned address, which every compute node shares.
SCRIPT = """
set -e
mkdir -p /etc/slurm
mount --bind {folder}/etc/slurm /etc/slurm
mount --bind {folder}/hosts /etc/hosts
mount -t tmpfs none /run
mount -t tmpfs none /var/spool
mount -t tmpfs none /var/log
mkdir -p /run/munge /var/log/munge /var/log/slurm /var/spool/slurmctld
chown munge /run/munge /var/log/munge
chown slurm /var/log/slurm /var/spool/slurmctld
hostname {controller}
ip link set lo up
ip address add {address} dev lo nodad
runuser -u munge -- munged --force
slurmctld -D -c > {folder}/slurmctld.out 2>&1 &
controller=$!
for try in $(seq 300); do
    scontrol ping > {folder}/ping 2>&1 && grep -q "is UP" {folder}/ping && break
    kill -0 $controller || exit 1
    sleep 0.1
done
scontrol show topology > {folder}/topology
scontrol show config > {folder}/config
scontrol show nodes > {folder}/nodes
kill $controller $(cat /run/munge/munged.pid)
wait
"""


def _files(plan: Plan, device: str) -> dict[str, Artifact]:
    return {artifact.path: artifact for artifact in slurm.render(plan, plan.by_name[device])}


def _controller_answers(plan: Plan, folder: Path) -> dict[str, str]:
    """What a real controller says about our files: topology, config and nodes."""
    for program, package in PACKAGES.items():
        assert shutil.which(program), f"{program} is missing: apt-get install {package}"
    controller = slurm.controllers(plan)[0]
    for path, artifact in _files(plan, controller).items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(artifact.content)
    host = re.search(r"^SlurmctldHost=\S+\((\S+)\)$", (folder / "etc/slurm/slurm.conf").read_text(), re.M)
    assert host is not None
    assert plan.spec.scheduler is not None
    names = [d.name for d in plan.devices if d.node_group == plan.spec.scheduler.nodes]
    lines = ["127.0.0.1 localhost", f"{host[1]} {controller}", *(f"{host[1]} {name}" for name in names)]
    (folder / "hosts").write_text("\n".join(lines) + "\n")
    script = SCRIPT.format(folder=folder, controller=controller, address=host[1])
    done = subprocess.run(
        ["unshare", "--mount", "--net", "--uts", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c", script],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    said = (folder / "slurmctld.out").read_text() if (folder / "slurmctld.out").exists() else ""
    assert done.returncode == 0, done.stdout + done.stderr + said
    assert "fatal" not in said, said
    assert "Running as primary controller" in said, said
    return {name: (folder / name).read_text() for name in ("topology", "config", "nodes")}


@pytest.mark.parametrize(("name", "leaves", "middle"), [("lab-roce", 4, 2), ("lab-ib", 2, 0), ("roce-24k", 1536, 8)])
def test_slurmctld_sees_the_planned_tree(name: str, leaves: int, middle: int, tmp_path: Path) -> None:
    plan = plan_of(name)
    answers = _controller_answers(plan, tmp_path)
    levels: dict[int, set[str]] = {}
    for switch, level in re.findall(r"^SwitchName=(\S+) Level=(\d+) ", answers["topology"], re.M):
        levels.setdefault(int(level), set()).add(switch)
    assert len(levels[0]) == leaves
    assert sum(len(found) for level, found in levels.items() if 0 < level < max(levels)) == middle
    assert levels[max(levels)] == {"cluster"}
    assert plan.spec.scheduler is not None
    nodes = re.findall(r"^NodeName=(\S+)", answers["nodes"], re.M)
    assert set(nodes) == {d.name for d in plan.devices if d.node_group == plan.spec.scheduler.nodes}
    assert "topology/tree" in answers["config"]


def test_compute_nodes_ask_the_controller() -> None:
    plan = plan_of("lab-roce")
    files = _files(plan, "gpu-p00r00n0")
    assert files["etc/default/slurmd"].content.decode().endswith('--conf-server svc-v00n0:6817"\n')
    drop_in = files["etc/systemd/system/slurmd.service.d/90-clusterwright.conf"].content.decode()
    assert "Requires=roce-qos.service" in drop_in
    assert "RequiresMountsFor=/home" in drop_in


def test_blocks_hold_every_node_once() -> None:
    plan = plan_of("lab-roce")
    assert plan.spec.scheduler is not None
    assert [f"{block.name}:{block.nodes}" for block in blocks(plan, plan.spec.scheduler)] == [
        "p00r00:gpu-p00r00n[0-1]",
        "p00r01:gpu-p00r01n[0-1]",
        "p01r00:gpu-p01r00n[0-1]",
        "p01r01:gpu-p01r01n[0-1]",
    ]


def test_hostlists_fold_products() -> None:
    names = [f"gpu-p{pod:02d}r{rack:03d}n{node}" for pod in range(8) for rack in range(192) for node in range(2)]
    assert hostlist(names) == "gpu-p[00-07]r[000-191]n[0-1]"
    assert hostlist([name for name in names if name != "gpu-p00r000n0"]).count("gpu-") == 3
    assert hostlist(["a1", "a2", "a4", "b", "c"]) == "a[1-2,4],b,c"
    assert hostlist(["single9"]) == "single9"
    assert hostlist([]) == ""


@given(st.sets(st.tuples(st.integers(0, 12), st.integers(0, 12)), min_size=1, max_size=60))
def test_hostlists_expand_to_what_was_folded(pairs: set[tuple[int, int]]) -> None:
    names = {f"gpu-r{rack:02d}n{node}" for rack, node in pairs}
    assert sorted(_expand(hostlist(sorted(names)))) == sorted(names)


def _expand(expression: str) -> list[str]:
    """The reading of a hostlist expression, written independently of the folding."""
    found: list[str] = []
    for entry in re.findall(r"(?:[^,\[]|\[[^\]]*\])+", expression):
        choices: list[list[str]] = []
        for text, numbers in re.findall(r"([^\[]+)|\[([^\]]*)\]", entry):
            if text:
                choices.append([text])
                continue
            values: list[str] = []
            for part in numbers.split(","):
                low, _, high = part.partition("-")
                values.extend(str(n).zfill(len(low)) for n in range(int(low), int(high or low) + 1))
            choices.append(values)
        found.extend("".join(parts) for parts in itertools.product(*choices))
    return found
