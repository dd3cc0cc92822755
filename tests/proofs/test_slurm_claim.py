"""Where Slurm places jobs, read from the text: a node, a GPU, a partition or a leaf that is another one is told."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from tests.plans import plan_of, plan_with

from clusterwright.artifact import Artifact
from clusterwright.hosts.slurm.hostlist import hostlist
from clusterwright.hosts.slurm.reader import (
    CGROUP_CONF,
    GRES_CONF,
    SLURM_CONF,
    SLURMD_DEFAULTS,
    TOPOLOGY_CONF,
    TOPOLOGY_YAML,
    names_of,
)
from clusterwright.output.rendering import Rendering
from clusterwright.proofs.check import Verdict
from clusterwright.proofs.declaration import Declaration
from clusterwright.proofs.operation.slurm import SLURM_NODES
from clusterwright.proofs.tree import RenderedTree, tree_of

CONTROLLER, NODE = "svc-v00n0", "gpu-p00r00n0"
Edit = Callable[[str], str]


@cache
def whole(name: str = "lab-roce") -> RenderedTree:
    plan = plan_of(name)
    own, images = Rendering(plan).of_kinds_by_image(SLURM_NODES.kinds)
    return tree_of(plan.name, own, Declaration(plan), ((image.members, image.files) for image in images))


def verdict(device: str, path: str, edit: Edit | None, *, declared: bool = True) -> Verdict:
    """The verdict with one file edited, or taken away where there is no edit."""
    tree = whole()
    files = dict(tree.files)
    before = files.pop((device, path))
    if edit is not None:
        text = edit(before.read())
        assert text != before.read(), "the edit changes nothing"
        files.update(tree_of(tree.cluster, [Artifact(device, path, text.encode(), "slurm")]).files)
    return SLURM_NODES.run(replace(tree, files=files, declaration=tree.declaration if declared else None))


def changed(old: str, new: str) -> Edit:
    return lambda text: text.replace(old, new, 1)


def without(start: str) -> Edit:
    return lambda text: "".join(line for line in text.splitlines(keepends=True) if not line.startswith(start))


@pytest.mark.parametrize(("name", "counts"), [("lab-roce", [8, 64]), ("lab-ib", [16, 128]), ("lab-tenants", [64, 512])])
def test_what_we_render_is_proven(name: str, counts: list[int]) -> None:
    result = SLURM_NODES.run(whole(name))
    assert result.is_proven, [str(example) for example in result.counterexamples]
    assert [fact.value for fact in result.facts] == counts


def test_units_of_a_slurm_with_accounts_and_a_key_are_known(tmp_path: Path) -> None:
    overlay = (
        "scheduler:\n  munge: {by_site: null, secret: munge-key}\n"
        "  accounting: {nodes: services, database: {host: db.lab.example.net, secret: slurm-database}}\n"
        "secrets:\n  - {name: munge-key, source: environment, key: MUNGE_KEY}\n"
        "  - {name: slurm-database, source: environment, key: DATABASE}\n"
    )
    plan = plan_with(tmp_path, "lab-roce", overlay)
    own, images = Rendering(plan).of_kinds_by_image(SLURM_NODES.kinds)
    groups = ((image.members, image.files) for image in images)
    result = SLURM_NODES.run(tree_of(plan.name, own, Declaration(plan), groups))
    assert result.is_proven, result.unjudged


@pytest.mark.parametrize(
    ("path", "edit", "message"),
    [
        (SLURM_CONF, changed("hbm3:8", "hbm3:7"), "7 GPUs, the model has 8"),
        (SLURM_CONF, changed("Gres=gpu:nvidia_h100_80gb_hbm3:8", ""), "0 GPUs, of which gres.conf has 8"),
        (SLURM_CONF, changed("CoresPerSocket=56", "CoresPerSocket=64"), "2 x 64 x 2 sockets, cores and threads"),
        (SLURM_CONF, changed("RealMemory=1953125", "RealMemory=2953125"), "Slurm drains a node with less"),
        (SLURM_CONF, changed("NodeName=gpu-p00r[00-01]", "NodeName=gpu-p00r[00-02]"), "no node of this Slurm"),
        (SLURM_CONF, changed("NodeName=gpu-p00r[00-01]", "NodeName=gpu-p00r[00-00]"), "missing: no job is placed"),
        (SLURM_CONF, changed("p00 State=UNKNOWN", "p00 State=DOWN"), "State=DOWN, and the spec has it in service"),
        (SLURM_CONF, changed("p00 State", "p00 NodeAddr=192.0.2.1 State"), "nodeaddr 192.0.2.1 leads elsewhere"),
        (SLURM_CONF, changed("Nodes=gpu-p[00-01]", "Nodes=gpu-p[00-00]"), "compute and the spec differ in gpu-p01"),
        (SLURM_CONF, changed("Nodes=gpu-p[00-01]", "Nodes=gpu-p[00-02]"), "which no line defines"),
        (SLURM_CONF, changed("PartitionName=compute", "PartitionName=other"), "the partition compute is missing"),
        (SLURM_CONF, changed("OverSubscribe", "AllowGroups=eve OverSubscribe"), "lets in eve by allowgroups"),
        (SLURM_CONF, changed("State=UP", "State=INACTIVE"), "compute is INACTIVE"),
        (SLURM_CONF, changed("SlurmctldHost=svc-v00n0(", "SlurmctldHost=svc-v00n0(2001:db8::1)#"), "has no address"),
        (SLURM_CONF, changed("SlurmctldHost=svc-v00n0", "SlurmctldHost=svc-v00n1"), "the controllers are svc-v00n1"),
        (SLURM_CONF, lambda text: text + "Include /etc/slurm/more.conf\n", "another file is included"),
        (SLURM_CONF, lambda text: text + "NodeName=DEFAULT State=DOWN\n", "changes what the lines below it say"),
        (SLURM_CONF, lambda text: text + "NodeName=gpu-p00r00n0 State=DOWN\n", "stands on two lines"),
        (SLURM_CONF, changed("n[0-1] Sockets", "n[0-x] Sockets"), "is no"),
        (SLURM_CONF, changed("auth/munge", "auth/none"), "a daemon believes every client"),
        (SLURM_CONF, without("Prolog="), "prolog is left as it is: jobs start on nodes that are not fit"),
        (SLURM_CONF, lambda text: text + "HealthCheckProgram=/bin/true\n", "healthcheckprogram is /bin/true"),
        (SLURM_CONF, without("Epilog="), "what a job leaves stays"),
        (CGROUP_CONF, changed("ConstrainDevices=yes", "ConstrainDevices=no"), "jobs see the GPUs of others"),
        (CGROUP_CONF, None, "the file is missing"),
        (SLURM_CONF, None, "the file is missing"),
        (GRES_CONF, changed("[4-7]", "[4-6]"), "8 GPUs, of which gres.conf has 7 device files"),
        (GRES_CONF, changed("[4-7]", "[3-6]"), "/dev/nvidia3 stands twice"),
        (GRES_CONF, lambda text: text + "AutoDetect=nvml\n", "for which slurmd needs a plugin"),
        (GRES_CONF, None, "the file is missing"),
        (TOPOLOGY_CONF, changed("gpu-p00r00n[0-1]", "gpu-p00r00n[0-0]"), "at no leaf"),
        (TOPOLOGY_CONF, changed("gpu-p00r00n[0-1]", "gpu-p00r0[0-1]n[0-1]"), "is at two leaves"),
        (TOPOLOGY_YAML, changed("gpu-p00r00n[0-1]", "gpu-p00r00n[0-0]"), "at no leaf"),
        (TOPOLOGY_YAML, changed("gpu-p00r00n[0-1]", "gpu-p00r0[0-1]n[0-1]"), "is at two leaves"),
        (TOPOLOGY_YAML, changed("topology: tree", "topology: flat"), "the topology flat has no leaves"),
        (TOPOLOGY_YAML, lambda text: text + "- topology: other\n  flat: true\n", "2 topologies"),
        (TOPOLOGY_YAML, lambda text: text + "  - [\n", "while parsing"),
    ],
)
def test_what_another_line_does_is_told_with_its_file(path: str, edit: Edit | None, message: str) -> None:
    result = verdict(CONTROLLER, path, edit)
    assert result.is_refuted
    assert any(message in str(example) for example in result.counterexamples), result.counterexamples
    assert {example.device for example in result.counterexamples} == {CONTROLLER}


def test_a_leaf_of_two_racks_is_told() -> None:
    def joined(text: str) -> str:
        text = text.replace("Nodes=gpu-p00r01n[0-1]", "Nodes=gpu-p01r00n[0-1]", 1)
        return text.replace("SwitchName=p01r00 Nodes=gpu-p01r00n[0-1]", "SwitchName=p01r00 Nodes=gpu-p00r01n[0-1]", 1)

    assert not verdict(CONTROLLER, TOPOLOGY_CONF, joined).is_refuted, "leaves are called otherwise and join the same"

    def mixed(text: str) -> str:
        text = text.replace("gpu-p00r00n[0-1]", "gpu-p00r0[0-1]n0", 1)
        return text.replace("gpu-p00r01n[0-1]", "gpu-p00r0[0-1]n1", 1)

    result = verdict(CONTROLLER, TOPOLOGY_CONF, mixed)
    assert any("is at the leaf" in str(example) for example in result.counterexamples)


def test_the_two_files_of_the_topology_say_the_same() -> None:
    """Slurm 25.05 and later read topology.yaml in place of topology.conf; without a spec too they have to agree."""

    def mixed(text: str) -> str:
        text = text.replace("gpu-p00r00n[0-1]", "gpu-p00r0[0-1]n0", 1)
        return text.replace("gpu-p00r01n[0-1]", "gpu-p00r0[0-1]n1", 1)

    result = verdict(CONTROLLER, TOPOLOGY_YAML, mixed, declared=False)
    assert any("the release of Slurm decides" in str(example) for example in result.counterexamples)
    assert verdict(CONTROLLER, TOPOLOGY_YAML, None, declared=False).is_proven, "releases before 25.05 read none"


def test_devices_of_no_node_are_those_of_all() -> None:
    """gres.conf(5): without NodeName a line is about every node that reads the file."""
    for_all = changed(
        "NodeName=gpu-p[00-01]r[00-01]n[0-1] Name=gpu Type=nvidia_h100_80gb_hbm3 File=/dev/nvidia[0-3]",
        "Name=gpu Type=nvidia_h100_80gb_hbm3 File=/dev/nvidia[0-3]",
    )
    assert verdict(CONTROLLER, GRES_CONF, for_all).is_proven


def test_slurmd_asks_the_controllers() -> None:
    result = verdict(NODE, SLURMD_DEFAULTS, changed("svc-v00n0", "svc-v00n1"))
    assert [str(example) for example in result.counterexamples] == [
        f"{NODE}:/{SLURMD_DEFAULTS}: slurmd asks svc-v00n1 for its configuration, the controllers are svc-v00n0"
    ]
    assert verdict(NODE, SLURMD_DEFAULTS, None).is_refuted


def test_a_folder_alone_is_judged_by_itself() -> None:
    assert verdict(CONTROLLER, SLURM_CONF, changed("CoresPerSocket=56", "CoresPerSocket=64"), declared=False).is_proven
    assert verdict(CONTROLLER, GRES_CONF, changed("[4-7]", "[4-6]"), declared=False).is_refuted


@pytest.mark.parametrize("expression", ["", "a[", "a[0-", "a[x]", "a]b", "a[3-99999999]", "a,,b"])
def test_what_is_no_list_of_names_is_no_list(expression: str) -> None:
    with pytest.raises(ValueError, match="is no"):
        names_of(expression)


def test_names_are_those_that_were_folded() -> None:
    names = [f"gpu-p{pod:02}r{rack:03}n{node}" for pod in range(3) for rack in (1, 2, 10) for node in range(2)]
    assert sorted(names_of(hostlist(names))) == sorted(names)
