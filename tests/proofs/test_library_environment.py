"""AMD's library reads nccl.conf only where jobs' environment names it: without that, no setting in it counts."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

import pytest
from click.testing import CliRunner

from clusterwright.artifact import Artifact
from clusterwright.cli.main import cli
from clusterwright.output.rendering import Rendering
from clusterwright.plan.build import build_plan
from clusterwright.proofs.declaration import Declaration
from clusterwright.proofs.registry import CHECKS
from clusterwright.proofs.tree import RenderedTree, tree_of
from clusterwright.spec.load import load_spec

NODE = "gpu-p00r00n0"
SHELL = "etc/profile.d/clusterwright-nccl.sh"
TASK = "usr/local/libexec/clusterwright/task-environment"
CLAIMS = {"roce": "qos", "infiniband": "ib-nccl"}
KINDS = frozenset(kind for check in CHECKS for kind in check.kinds)


@cache
def rendered(fabric: str) -> RenderedTree:
    folder = Path(mkdtemp())
    wish = ["init", str(folder), "--nodes", "2", "--node-model", "mi300x-8gpu", "--fabric", fabric, "--no-one-switch"]
    assert CliRunner().invoke(cli, wish, standalone_mode=False).return_value == 0
    plan = build_plan(load_spec(folder / "cluster.yaml"))
    return tree_of(plan.spec.name, Rendering(plan).of_kinds(KINDS), Declaration(plan))


def with_text(fabric: str, path: str, before: str, after: str) -> RenderedTree:
    """The tree with the first ``before`` of a node's file replaced."""
    tree = rendered(fabric)
    text = tree.text(NODE, path) or ""
    assert before in text
    edited = Artifact(NODE, path, text.replace(before, after, 1).encode(), "nccl")
    return replace(tree, files={**tree.files, **tree_of(tree.cluster, [edited]).files})


def verdict(fabric: str, tree: RenderedTree) -> str:
    (check,) = (check for check in CHECKS if check.name == CLAIMS[fabric])
    return check.run(tree).word


@pytest.mark.parametrize("fabric", CLAIMS)
def test_the_named_file_is_proven(fabric: str) -> None:
    assert verdict(fabric, rendered(fabric)) == "proven"


@pytest.mark.parametrize("fabric", CLAIMS)
@pytest.mark.parametrize("path", [SHELL, TASK])
def test_an_environment_that_names_no_file_is_refuted(fabric: str, path: str) -> None:
    without = with_text(fabric, path, "export NCCL_CONF_FILE=/etc/nccl.conf", "true")
    assert verdict(fabric, without) == "REFUTED"


@pytest.mark.parametrize("fabric", CLAIMS)
def test_another_file_is_refuted(fabric: str) -> None:
    elsewhere = with_text(fabric, SHELL, "/etc/nccl.conf", "/etc/rccl.conf")
    assert verdict(fabric, elsewhere) in {"REFUTED", "not proven"}
