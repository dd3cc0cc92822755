"""Where Kueue places pods and what ibdm compares a fabric with, read from the text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import pytest
from tests.plans import plan_of

from clusterwright.artifact import Artifact
from clusterwright.output.rendering import Rendering
from clusterwright.proofs.check import ProofCheck, Verdict
from clusterwright.proofs.declaration import Declaration
from clusterwright.proofs.infiniband.topology import SUBNET_TOPOLOGY
from clusterwright.proofs.operation.kueue import KUEUE
from clusterwright.proofs.tree import RenderedTree, tree_of

OBJECTS, POD, NCCL = "etc/kueue/topology.yaml", "etc/kueue/pod.yaml", "etc/kueue/nccl.yaml"
KUBELET, NODE, CONTROLLER = "etc/default/kubelet", "gpu-p01r01n1", "svc-v00n0"
TOPOLOGY, NETLIST, MANAGER = (
    "etc/opensm/topology/backend.topo",
    "etc/opensm/topology/qm9790.ibnl",
    "gpu-s00r00n0",
)
Edit = Callable[[str], str]


@cache
def whole(name: str) -> RenderedTree:
    plan = plan_of(name)
    own, images = Rendering(plan).of_kinds_by_image(KUEUE.kinds | SUBNET_TOPOLOGY.kinds)
    return tree_of(plan.name, own, Declaration(plan), ((image.members, image.files) for image in images))


def verdict(check: ProofCheck, device: str, path: str, edit: Edit | None, *, declared: bool = True) -> Verdict:
    """The verdict with one file edited, or taken away where there is no edit."""
    tree = whole("lab-roce" if check is KUEUE else "lab-ib")
    files = dict(tree.files)
    before = files.pop((device, path))
    if edit is not None:
        text = edit(before.read())
        assert text != before.read(), "the edit changes nothing"
        files.update(tree_of(tree.cluster, [Artifact(device, path, text.encode(), before.kind)]).files)
    return check.run(replace(tree, files=files, declaration=tree.declaration if declared else None))


def changed(old: str, new: str) -> Edit:
    return lambda text: text.replace(old, new, 1)


def test_what_we_render_is_proven() -> None:
    result = KUEUE.run(whole("lab-roce"))
    assert result.is_proven, [str(example) for example in result.counterexamples]
    assert [fact.value for fact in result.facts] == [1, 8]
    assert SUBNET_TOPOLOGY.run(whole("lab-ib")).is_proven


@pytest.mark.parametrize(
    ("device", "path", "edit", "message"),
    [
        (CONTROLLER, OBJECTS, changed('    - nodeLabel: "topology.lab.example.net/rack"\n', ""), "are planned"),
        (CONTROLLER, OBJECTS, changed("example.net/pod", "example.net/rack"), "Kueue refuses the levels"),
        (CONTROLLER, OBJECTS, changed('"compute"', '"storage"'), "and no planned group"),
        (CONTROLLER, OBJECTS, changed('topologyName: "lab-roce"', 'topologyName: "lab"'), "which is not there"),
        (CONTROLLER, OBJECTS, changed('name: "h100"', 'name: "a100"'), "jobs ask for h100"),
        (CONTROLLER, OBJECTS, changed("kind: Topology", "kind: ClusterQueue"), "which no check reads"),
        (CONTROLLER, OBJECTS, changed("metadata:", "metadata: ["), "it does not read"),
        (CONTROLLER, OBJECTS, changed('  topologyName: "lab-roce"\n', ""), "levels of compute are none"),
        (CONTROLLER, OBJECTS, None, "Kueue knows no topology"),
        (CONTROLLER, POD, changed("hostNetwork: true", "hostNetwork: false"), "a network of their own"),
        (CONTROLLER, POD, changed('gpu": 8', 'gpu": 4'), "a pod has 4 of nvidia.com/gpu, and a node 8"),
        (CONTROLLER, POD, changed('          "rdma/hca_shared_devices_a": 1\n', ""), "a pod has nothing of rdma/"),
        (CONTROLLER, POD, changed("emptyDir: {medium: Memory}", "emptyDir: {}"), "share 64 MB"),
        (CONTROLLER, POD, changed("IPC_LOCK", "SYS_NICE"), "IPC_LOCK is missing"),
        (CONTROLLER, NCCL, changed("name: clusterwright-nccl", "name: nccl"), "which is not there"),
        (
            CONTROLLER,
            POD,
            changed('        - {name: "file", mountPath: "/etc/nccl.conf", readOnly: true}\n', ""),
            "/etc/nccl.conf of gpu-p00r00n0 is not mounted",
        ),
        (
            CONTROLLER,
            POD,
            changed('mountPath: "/etc/nccl",', 'mountPath: "/opt/nccl",'),
            "NCCL_TUNER_CONFIG_FILE is /etc/nccl/tuner.csv, which is not mounted",
        ),
        (
            CONTROLLER,
            POD,
            changed('hostPath: {path: "/run/nccl"', 'hostPath: {path: "/run"'),
            "/run/nccl is the node's /run",
        ),
        (CONTROLLER, POD, None, "a pod has nothing of nvidia.com/gpu"),
        (NODE, KUBELET, changed("rack=p01r01", "rack=p01r00"), "is its place"),
        (NODE, KUBELET, changed(",topology.lab.example.net/node-group=compute", ""), "is its place"),
        (NODE, KUBELET, changed('"\n', ' --node-labels=a=b"\n'), "nothing that is known here"),
        (NODE, KUBELET, None, "registers without its place"),
    ],
)
def test_faults_of_kueue_are_told(device: str, path: str, edit: Edit | None, message: str) -> None:
    result = verdict(KUEUE, device, path, edit)
    assert message in " ".join(example.message for example in result.counterexamples)
    assert {example.device for example in result.counterexamples} == {device}


@pytest.mark.parametrize(
    ("path", "edit"),
    [
        (OBJECTS, lambda text: text.replace("\n---\n", "\n---\n# a comment\n")),
        (OBJECTS, lambda text: text.replace('"', "'")),
        (POD, changed("dnsPolicy: ClusterFirstWithHostNet", "dnsPolicy: Default")),
    ],
)
def test_harmless_edits_of_kueue_are_none(path: str, edit: Edit) -> None:
    assert verdict(KUEUE, CONTROLLER, path, edit).is_proven


@pytest.mark.parametrize(
    ("path", "edit", "message"),
    [
        (
            TOPOLOGY,
            changed("P1/1 -> dgx-h100 gpu-s00r00n0 be0", "P1/1 -> dgx-h100 gpu-s00r00n0 be1"),
            "no cable is planned",
        ),
        (
            TOPOLOGY,
            changed("  P1/1 -> dgx-h100 gpu-s00r00n0 be0\n", ""),
            "gpu-s00r00n0 be0 and leaf-s00-00 P1/1 is missing",
        ),
        (TOPOLOGY, changed("P1/1 -> dgx-h100", "P1/1 -> dgx-h200"), "is of the model dgx-h100 elsewhere"),
        (NETLIST, changed("-> P1/1\n", "-> P1/9\n"), "qm9790 has no port P1/1"),
        (NETLIST, None, "ibdm knows no qm9790"),
    ],
)
def test_faults_of_a_topology_are_told(path: str, edit: Edit | None, message: str) -> None:
    result = verdict(SUBNET_TOPOLOGY, MANAGER, path, edit)
    assert message in " ".join(example.message for example in result.counterexamples)
    assert {example.device for example in result.counterexamples} == {MANAGER}


def test_lines_of_a_topology_that_nobody_knows_leave_it_open() -> None:
    result = verdict(SUBNET_TOPOLOGY, MANAGER, TOPOLOGY, lambda text: text + "a -> b\n")
    assert not result.is_settled
    assert not result.is_refuted
    assert verdict(SUBNET_TOPOLOGY, MANAGER, TOPOLOGY, lambda text: text + "# planned\n").is_proven
