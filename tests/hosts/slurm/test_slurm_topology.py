"""slurmctld reads the rendered files and answers with the topology we meant."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import yaml
from tests.hosts.slurm.controller import acting, controller_answers, controller_files, only_slurm
from tests.hosts.slurm.test_hostlist import expand
from tests.plans import plan_of, plan_with

from clusterwright.hosts.slurm import gpu_devices
from clusterwright.hosts.slurm.topology import blocks
from clusterwright.plan.model import Plan
from clusterwright.spec.hardware.models import Gpus


def test_slurmctld_takes_partitions_and_a_backup(tmp_path: Path) -> None:
    """Two tenants: a partition each with its own nodes, and a second controller that has the state of the first."""
    answers = controller_answers(plan_of("lab-tenants"), tmp_path)
    _is_the_planned_tree(plan_of("lab-tenants"), answers, 2, 0)
    parts = dict(re.findall(r"^PartitionName=(\S+)\n(.*?)\n\n", answers["partitions"] + "\n\n", re.M | re.S))
    assert parts.keys() == {"vision", "language"}
    for name, prefix, is_default in (("vision", "vis-p00", "YES"), ("language", "lang-p01", "NO")):
        nodes = re.search(r"^   Nodes=(\S+)$", parts[name], re.M)
        assert nodes is not None
        assert {node[: len(prefix)] for node in expand(nodes[1])} == {prefix}
        assert f"AllowGroups={name} " in parts[name]
        assert f"Default={is_default} " in parts[name]
    assert re.findall(r"^SlurmctldHost\[(\d)\] *= (\S+)\(", answers["config"], re.M) == [
        ("0", "svc-v00n0"),
        ("1", "svc-v00n1"),
    ]
    assert re.search(r"^TreeWidth *= 64$", answers["config"], re.M)


TWO_SLURMS = """scheduler:
  - {name: vision, kind: slurm, nodes: vision, plugin: tree, leaf: pod, munge: {by_site: "a key on each machine"}}
  - name: language
    kind: slurm
    nodes: language
    plugin: tree
    leaf: pod
    munge: {by_site: "a key on each machine"}
    controllers: {nodes: second}
nodes:
  - name: second
    model: service-server
    role: service
    count: 1
    prefix: ctl
    zone: services
    levels: [{name: rack, of: 2, code: x}]
fabrics:
  - name: frontend
    attach:
      - {nodes: vision, nics: frontend}
      - {nodes: language, nics: frontend}
      - {nodes: storage, nics: frontend}
      - {nodes: services, nics: frontend}
      - {nodes: second, nics: frontend, bond: {interface: bond0}}
zones:
  - {name: services, nodes: [services, second]}
"""


def test_two_slurms_of_two_tenants_run_side_by_side(tmp_path: Path) -> None:
    """Two real controllers at once, each on its machine: a cluster of its own name, and its tenant's nodes alone."""
    (tmp_path / "0").mkdir()
    (tmp_path / "1").mkdir()
    plan = plan_with(tmp_path, "lab-tenants", TWO_SLURMS)
    assert [acting(plan, at) for at in (0, 1)] == ["svc-v00n0", "ctl-x00n0"]
    with ThreadPoolExecutor(2) as pool:
        both = list(pool.map(lambda at: controller_answers(plan, tmp_path / str(at), scheduler=at), (0, 1)))
    for tenant, prefix, answers in zip(("vision", "language"), ("vis", "lang"), both, strict=True):
        nodes = re.findall(r"^NodeName=(\S+)", answers["nodes"], re.M)
        assert set(nodes) == {d.name for d in plan.devices if d.node_group == tenant}
        assert all(node.startswith(f"{prefix}-") for node in nodes)
        assert re.search(rf"^ClusterName *= lab-tenants-{tenant}$", answers["config"], re.M)
        assert re.findall(r"^PartitionName=(\S+)$", answers["partitions"], re.M) == [tenant]


@pytest.mark.parametrize(("name", "leaves", "middle"), [("lab-roce", 4, 2), ("lab-ib", 2, 0)])
def test_slurmctld_sees_the_planned_tree(name: str, leaves: int, middle: int, tmp_path: Path) -> None:
    plan = plan_of(name)
    _is_the_planned_tree(plan, controller_answers(plan, tmp_path), leaves, middle)


def _is_the_planned_tree(plan: Plan, answers: dict[str, str], leaves: int, middle: int) -> None:
    levels: dict[int, set[str]] = {}
    for switch, level in re.findall(r"^SwitchName=(\S+) Level=(\d+) ", answers["topology"], re.M):
        levels.setdefault(int(level), set()).add(switch)
    assert len(levels[0]) == leaves
    assert sum(len(found) for level, found in levels.items() if 0 < level < max(levels)) == middle
    assert levels[max(levels)] == {"cluster"}
    nodes = re.findall(r"^NodeName=(\S+)", answers["nodes"], re.M)
    assert set(nodes) == {d.name for d in plan.devices if d.node_group in only_slurm(plan).nodes}
    assert "topology/tree" in answers["config"]


def test_a_job_of_a_pod_s_size_gets_one_pod(tmp_path: Path) -> None:
    """The whole cluster in a real controller, once ten nodes of the first pod are taken."""
    plan = plan_of("roce-24k")
    any_pod = "|".join(f"p{number:02d}" for number in range(8))
    requests = ("--nodes=10", "--nodes=384", f"--nodes=300 --constraint=[{any_pod}]", "--nodes=2", "--nodes=385")
    answers = controller_answers(plan, tmp_path, requests)
    _is_the_planned_tree(plan, answers, 1536, 8)
    reply = answers["jobs"]
    given = [expand(line.split()[1]) for line in reply.splitlines()]
    assert [len(nodes) for nodes in given] == [10, 384, 300, 2, 385], reply
    pods = [{plan.by_name[node].pod for node in nodes} for nodes in given]
    assert [len(each) for each in pods] == [1, 1, 1, 1, 2]
    assert pods[1] != pods[0]  # the first pod is no longer whole
    assert len({plan.by_name[node].rack for node in given[0]}) == 5
    assert len({plan.by_name[node].rack for node in given[3]}) == 1


def test_nodes_have_their_processors_memory_and_pod() -> None:
    plan = plan_of("lab-roce")
    text = controller_files(plan)["etc/slurm/slurm.conf"].content.decode()
    assert (
        "NodeName=gpu-p00r[00-01]n[0-1] Sockets=2 CoresPerSocket=56 ThreadsPerCore=2 RealMemory=1953125 "
        "Gres=gpu:nvidia_h100_80gb_hbm3:8 Feature=p00 State=UNKNOWN\n"
    ) in text


# What NVML calls them, as nvidia-smi prints it, by a spec that has them.
NVML_NAMES = {
    "lab-roce": "NVIDIA H100 80GB HBM3",
    "lab-ib": "NVIDIA H100 80GB HBM3",
    "rsc-phase1": "NVIDIA A100-SXM4-80GB",
}


@pytest.mark.parametrize(("name", "nvml"), NVML_NAMES.items())
def test_slurmd_finds_the_gpus_of_the_written_type(name: str, nvml: str) -> None:
    """gres.conf(5): the type has to be a part of NVML's name in small letters, with ``_`` for blanks."""
    plan = plan_of(name)
    text = controller_files(plan)["etc/slurm/slurm.conf"].content.decode()
    types = set(re.findall(r" Gres=gpu:(\S+):8", text))
    assert types
    assert all(each in nvml.lower().replace(" ", "_") for each in types)


def test_gpus_that_nobody_knows_nvml_s_name_of_have_no_type() -> None:
    assert gpu_devices.gres(Gpus(8, "X1000", 80)) == "gpu:8"


@pytest.mark.parametrize("name", ["lab-roce", "lab-ib", "roce-24k", "ib-24k", "rsc"])
def test_topology_yaml_says_what_topology_conf_says(name: str) -> None:
    """Against the documented grammar (topology.yaml(5)); test_newest.py has a release that reads it."""
    plan = plan_of(name)
    files = controller_files(plan)
    (entry,) = yaml.safe_load(files["etc/slurm/topology.yaml"].content)
    assert set(entry) == {"topology", "cluster_default", "tree"}
    assert entry["cluster_default"] is True
    lines = files["etc/slurm/topology.conf"].content.decode().splitlines()[1:]
    in_conf = {name: (key, members) for name, key, members in (re.split(r" |=", line)[1:] for line in lines)}
    keys = {"Nodes": "nodes", "Switches": "children"}
    assert [set(switch) for switch in entry["tree"]["switches"]] == [
        {"switch", keys[key]} for key, _ in in_conf.values()
    ]
    for switch in entry["tree"]["switches"]:
        key, members = in_conf[switch["switch"]]
        assert switch[keys[key]] == members
        assert len(switch["switch"]) <= 64


def test_blocks_in_both_forms(tmp_path: Path) -> None:
    overlay = "scheduler: {kind: slurm, nodes: compute, plugin: block, leaf: rack, block_sizes: [2, 4, 8]}\n"
    plan = plan_with(tmp_path, "lab-roce", overlay)
    files = controller_files(plan)
    (entry,) = yaml.safe_load(files["etc/slurm/topology.yaml"].content)
    assert entry["block"]["block_sizes"] == [2, 4, 8]
    assert [f"BlockName={each['block']} Nodes={each['nodes']}" for each in entry["block"]["blocks"]] == [
        line for line in files["etc/slurm/topology.conf"].content.decode().splitlines() if line.startswith("BlockName")
    ]
    assert "BlockSizes=2,4,8" in files["etc/slurm/topology.conf"].content.decode()
    assert "TopologyPlugin=topology/block" in files["etc/slurm/slurm.conf"].content.decode()


def test_messages_reach_a_large_cluster_in_three_hops() -> None:
    for name, nodes in (("lab-roce", 8), ("roce-24k", 3072)):
        plan = plan_of(name)
        text = controller_files(plan)["etc/slurm/slurm.conf"].content.decode()
        width, timeout = (int(re.findall(rf"^{key}=(\d+)$", text, re.M)[0]) for key in ("TreeWidth", "MessageTimeout"))
        assert width**3 >= nodes
        assert timeout == (60 if nodes > 1024 else 10)


def test_blocks_hold_every_node_once() -> None:
    plan = plan_of("lab-roce")
    assert [f"{block.name}:{block.nodes}" for block in blocks(plan, only_slurm(plan))] == [
        "p00r00:gpu-p00r00n[0-1]",
        "p00r01:gpu-p00r01n[0-1]",
        "p01r00:gpu-p01r00n[0-1]",
        "p01r01:gpu-p01r01n[0-1]",
    ]
