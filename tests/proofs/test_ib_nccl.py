"""NCCL on InfiniBand, read from the text: off RDMA, off an adapter, out of the partition, each with its line."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache

import pytest
from tests.plans import plan_of

from clusterwright.artifact import Artifact
from clusterwright.output.rendering import Rendering
from clusterwright.proofs.declaration import Declaration
from clusterwright.proofs.infiniband.nccl import IB_NCCL
from clusterwright.proofs.tree import RenderedTree, tree_of

NODE = "gpu-s01r01n0"
CONF, PARTITION = "etc/nccl/nccl.conf", "etc/nccl/partition.conf"
UNIT, SCRIPT = "etc/systemd/system/nccl-partition.service", "usr/local/sbin/nccl-partition"
WANTS = "etc/systemd/system/multi-user.target.d/50-clusterwright-nccl.conf"
Edit = Callable[[str], str]


@cache
def whole(name: str) -> RenderedTree:
    own, images = Rendering(plan_of(name)).of_kinds_by_image(IB_NCCL.kinds)
    shared = ((image.members, image.files) for image in images)
    return tree_of(name, own, Declaration(plan_of(name)), shared)


def edited(edits: Mapping[str, Edit | None], name: str = "lab-ib") -> RenderedTree:
    """The tree with files of one node edited, or taken away where there is no edit."""
    tree = whole(name)
    files = dict(tree.files)
    made = []
    for path, edit in edits.items():
        before = files.pop((NODE, path))
        if edit is not None:
            after = edit(before.read())
            assert after != before.read(), f"the edit of {path} changes nothing"
            made.append(Artifact(NODE, path, after.encode(), before.kind))
    return replace(tree, files={**files, **tree_of(tree.cluster, made).files})


def added(line: str) -> Edit:
    return lambda text: f"{text}{line}\n"


def changed(old: str, new: str) -> Edit:
    return lambda text: text.replace(old, new, 1)


@pytest.mark.parametrize(("name", "nodes"), [("lab-ib", 16), ("rsc-phase1", 760), ("ib-24k", 3072)])
def test_what_we_render_is_proven(name: str, nodes: int) -> None:
    result = IB_NCCL.run(whole(name))
    assert result.is_proven, result.word
    assert {fact.value for fact in result.facts} == {nodes, 8 * nodes}


@pytest.mark.parametrize(
    ("path", "edit", "message"),
    [
        (CONF, added("NCCL_IB_DISABLE=1"), "NCCL_IB_DISABLE=1 switches InfiniBand and RoCE off"),
        (CONF, added("NCCL_IB_DISABLE=0x1"), "switches InfiniBand and RoCE off"),
        (CONF, added("NCCL_NET=Socket"), "NCCL_NET=Socket takes sockets"),
        (CONF, changed(",mlx5_11", ""), "leaves mlx5_11 on backend idle"),
        (CONF, changed(",mlx5_11", ",mlx5_7"), "uses mlx5_7, which backend does not serve"),
        (CONF, changed("HCA==", "HCA=^="), "names no whole devices"),
        (CONF, changed("NCCL_IB_HCA", "# NCCL_IB_HCA"), "NCCL_IB_HCA is missing"),
        (CONF, changed("NCCL_IB_SL=0", "NCCL_IB_SL=3"), "service level 3, the spec wants 0"),
        (CONF, added("NCCL_IB_PKEY=1"), "P_Key index 1 by number"),
        (CONF, None, "the file is missing"),
        (PARTITION, changed("0x8001", "0x8002"), "opens P_Key 0x8002, the spec wants 0x8001"),
        (PARTITION, changed(" mlx5_11", ""), "the index is looked up on"),
        (PARTITION, changed("PKEY=", "PKEY = "), "names no P_Key and adapters"),
        (PARTITION, None, "nothing finds the index of P_Key 0x8001"),
        (UNIT, None, "nothing finds the index of P_Key 0x8001"),
        (SCRIPT, None, "nothing finds the index of P_Key 0x8001"),
        (WANTS, changed("nccl-partition.service", ""), "nothing finds the index of P_Key 0x8001"),
    ],
)
def test_a_fault_of_one_node_is_told(path: str, edit: Edit | None, message: str) -> None:
    result = IB_NCCL.run(edited({path: edit}))
    assert result.is_refuted, result.word
    assert {example.device for example in result.counterexamples} == {NODE}
    assert any(message in example.message for example in result.counterexamples), result.counterexamples


def test_the_line_at_fault_is_named() -> None:
    (example,) = IB_NCCL.run(edited({CONF: added("NCCL_IB_DISABLE=1")})).counterexamples
    text = whole("lab-ib").text(NODE, CONF)
    assert text is not None
    assert (example.file, example.line) == (CONF, text.count("\n") + 1)


@pytest.mark.parametrize("line", ["NCCL_NET=AWS Libfabric", "NCCL_NET_PLUGIN=none", "NCCL_IBEXT_DISABLE=1", "odd"])
def test_a_setting_that_nobody_knows_leaves_the_claim_open(line: str) -> None:
    result = IB_NCCL.run(edited({CONF: added(line)}))
    assert not result.is_proven
    assert line in result.word


def test_a_folder_without_a_spec_still_shows_rdma_switched_off() -> None:
    assert IB_NCCL.run(replace(whole("lab-ib"), declaration=None)).is_proven
    alone = replace(edited({CONF: added("NCCL_IB_DISABLE=1")}), declaration=None)
    assert IB_NCCL.run(alone).is_refuted


def test_a_fabric_of_roce_is_none_of_its_business() -> None:
    assert not IB_NCCL.applies(whole("lab-roce"))
    assert not IB_NCCL.applies(replace(whole("lab-roce"), declaration=None))
