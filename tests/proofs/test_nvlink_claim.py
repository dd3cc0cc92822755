"""NVLink domains: rendered for IMEX, NCCL and Slurm, and refuted where members do not list each other, alike."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from tests.plans import nccl_values, plan_of, plan_with

from clusterwright.artifact import Artifact
from clusterwright.output.rendering import Rendering
from clusterwright.plan.nvlink import nvlink_domains
from clusterwright.proofs.check import Verdict
from clusterwright.proofs.declaration import Declaration
from clusterwright.proofs.operation.nvlink import NVLINK_DOMAINS
from clusterwright.proofs.tree import RenderedTree, tree_of

MEMBERS, SETTINGS, NCCL = "etc/nvidia-imex/nodes_config.cfg", "etc/nvidia-imex/config.cfg", "etc/nccl/nccl.conf"
NODE = "gpu-s00r00n0"
OVERLAY = """\
nodes:
  - {name: compute, model: gb200-nvl72-tray, nvlink_domain: rack}
scheduler: {plugin: block, leaf: rack, block_sizes: [4]}
expect: [{figure: gpus, remove: true}, {figure: switches.leaf, remove: true}]
"""
Edit = Callable[[str], str]


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> RenderedTree:
    plan = plan_with(tmp_path_factory.mktemp("nvlink"), "lab-ib", OVERLAY)
    own, images = Rendering(plan).of_kinds_by_image(NVLINK_DOMAINS.kinds)
    return tree_of(plan.name, own, Declaration(plan), ((image.members, image.files) for image in images))


def verdict(tree: RenderedTree, device: str, path: str, edit: Edit | None, *, declared: bool = True) -> Verdict:
    """The verdict with one file of a node edited, or taken away where there is no edit."""
    files = dict(tree.files)
    before = files.pop((device, path))
    if edit is not None:
        text = edit(before.read())
        assert text != before.read(), "the edit changes nothing"
        files.update(tree_of(tree.cluster, [Artifact(device, path, text.encode(), "node-memory-exchange")]).files)
    return NVLINK_DOMAINS.run(replace(tree, files=files, declaration=tree.declaration if declared else None))


def changed(old: str, new: str) -> Edit:
    return lambda text: text.replace(old, new, 1)


def test_each_rack_is_a_domain_whose_members_list_each_other(tree: RenderedTree) -> None:
    result = NVLINK_DOMAINS.run(tree)

    assert result.counterexamples == ()
    assert [fact.value for fact in result.facts] == [4, 16]
    assert tree.text(NODE, MEMBERS) == "10.98.0.2\n10.98.0.3\n10.98.0.4\n10.98.0.5\n"


@pytest.mark.parametrize("declared", [True, False])
@pytest.mark.parametrize(
    ("path", "edit", "says"),
    [
        (MEMBERS, changed("10.98.0.5\n", ""), "not those of"),
        (MEMBERS, changed("10.98.0.2\n10.98.0.3\n", "10.98.0.3\n10.98.0.2\n"), "not those of"),
        (MEMBERS, changed("10.98.0.2\n", ""), "no member of its own domain"),
        (MEMBERS, changed("10.98.0.5", "10.98.0.250"), "no node with IMEX has the address"),
        (MEMBERS, changed("10.98.0.3", "10.98.0.2"), "stands twice"),
        (MEMBERS, changed("10.98.0.3", "gpu-1"), "does not start"),
        (SETTINGS, changed("SERVER_PORT=50000", "SERVER_PORT=50001"), "it listens at 50001"),
        (SETTINGS, changed("/nodes_config.cfg", "/others.cfg"), "which is not read"),
        (SETTINGS, None, "the file is missing"),
    ],
)
def test_a_member_that_others_refuse_is_refuted(
    tree: RenderedTree, path: str, edit: Edit | None, says: str, declared: bool
) -> None:
    result = verdict(tree, NODE, path, edit, declared=declared)
    assert any(says in example.message for example in result.counterexamples), result.counterexamples


def test_a_node_without_a_list_is_refuted_by_the_spec(tree: RenderedTree) -> None:
    result = verdict(tree, NODE, MEMBERS, None)
    assert [example.message for example in result.counterexamples if example.device == NODE] == [
        "the file is missing: the node shares no memory over NVLink"
    ]


def test_two_domains_that_are_one_list_are_refuted_by_the_spec(tree: RenderedTree) -> None:
    files = dict(tree.files)
    both = "".join(tree.text(f"gpu-s00r0{rack}n0", MEMBERS) or "" for rack in range(2))
    for rack in range(2):
        for node in range(4):
            artifact = Artifact(f"gpu-s00r0{rack}n{node}", MEMBERS, both.encode(), "node-memory-exchange")
            files.update(tree_of(tree.cluster, [artifact]).files)

    result = NVLINK_DOMAINS.run(replace(tree, files=files))

    assert any("the list and s00r00 differ in" in example.message for example in result.counterexamples)


def test_nccl_that_leaves_nvlink_out_is_refuted(tree: RenderedTree) -> None:
    result = verdict(tree, NODE, NCCL, changed("MNNVL_ENABLE=2", "MNNVL_ENABLE=0"))
    assert any("by the network inside the domain" in example.message for example in result.counterexamples)


def test_slurm_gives_channels_and_places_by_domain(tmp_path: Path) -> None:
    plan = plan_with(tmp_path, "lab-ib", OVERLAY)
    artifacts = [artifact for artifact in Rendering(plan).of_kinds({"slurm"}) if artifact.device == "svc-v00n0"]
    texts = {artifact.path: artifact.content.decode() for artifact in artifacts}

    assert "SwitchType=switch/nvidia_imex\n" in texts["etc/slurm/slurm.conf"]
    assert texts["etc/slurm/topology.conf"].count("BlockName=") == 4
    assert nccl_values(plan)["NCCL_MNNVL_ENABLE"] == "2"


def test_nodes_with_nvlink_switches_of_their_own_have_no_domain() -> None:
    assert nvlink_domains(plan_of("lab-ib")) == {}
    assert "NCCL_MNNVL_ENABLE" not in nccl_values(plan_of("lab-ib"))
