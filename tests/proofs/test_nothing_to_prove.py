"""A claim about no case at all is true and says nothing: no output calls it proven."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.plans import plan_of, plan_with

from clusterwright import data_files
from clusterwright.cli.main import cli
from clusterwright.output.rendering import Rendering
from clusterwright.plan.model import Plan
from clusterwright.proofs.check import Cases, Counterexample, Verdict
from clusterwright.proofs.declaration import Declaration
from clusterwright.proofs.registry import CHECKS
from clusterwright.proofs.tree import RenderedTree, tree_of

FAULT = Counterexample("gpu-0", "etc/opensm/opensm.conf", 1, "wrong")
# One scalable unit, with two thirds of its bandwidth upwards.
ONE_UNIT = """nodes:
  - name: compute
    count: 8
    levels: [{name: rack, of: 4, within: su}, {name: su, of: 2}]
fabrics:
  - name: backend
    tiers:
      - {role: leaf, up: {links: 4, speed_gbps: 400, medium: mmf, length_m: 20}}
expect:
  - {figure: gpus, value: 64, assumed: "One unit of eight nodes."}
  - {figure: switches.leaf, value: 8, assumed: "One unit of eight nodes."}
  - {figure: oversubscription.backend.leaf, value: 2, assumed: "One unit of eight nodes."}
"""


@pytest.mark.parametrize(
    ("verdict", "word", "is_settled"),
    [
        (Verdict((), (), Cases("cables", 3)), "proven", True),
        (Verdict((), (), Cases("cables", 0)), "nothing to prove: no cables", True),
        (Verdict((), (FAULT,), Cases("cables", 0)), "REFUTED", False),
        (Verdict((), (), Cases("cables", 0), (), "not compared"), "not compared", False),
    ],
)
def test_the_word_follows_from_the_cases(verdict: Verdict, word: str, is_settled: bool) -> None:
    assert verdict.word == word
    assert verdict.is_proven is (word == "proven")
    assert verdict.is_settled is is_settled


def answers(plan: Plan) -> dict[str, Verdict]:
    kinds = {kind for check in CHECKS for kind in check.kinds}
    tree = tree_of(plan.name, Rendering(plan).of_kinds(kinds), Declaration(plan))
    return {check.name: check.run(tree) for check in CHECKS if check.applies(tree)}


def test_one_unit_has_no_bisection(tmp_path: Path) -> None:
    reply = answers(plan_with(tmp_path, "lab-ib", ONE_UNIT))
    assert reply["ib-bisection"].word == "nothing to prove: no two units to cut between"
    assert reply["ib-up-down"].is_proven
    done = CliRunner().invoke(
        cli, ["verify", str(tmp_path / "overlay.yaml"), "--check", "ib-bisection"], standalone_mode=False
    )
    assert done.return_value == 0
    assert "proven" not in done.output


@pytest.mark.parametrize(
    ("name", "vacuous"),
    [
        # two switches of the frontend and one of the management network, which no cable joins
        ("lab-ib", {"bgp-sessions", "valley-free", "ethernet-bisection", "ethernet-failures"}),
        ("lab-roce", set()),
    ],
)
def test_what_is_proven_was_tried(name: str, vacuous: set[str]) -> None:
    reply = answers(plan_of(name))
    assert {check for check, verdict in reply.items() if not verdict.cases.count} == vacuous
    assert {check for check, verdict in reply.items() if not verdict.is_proven} == vacuous


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.name)
def test_an_empty_tree_proves_nothing(check: object) -> None:
    """Whatever a check finds in a tree without files, it is no proof."""
    made = next(each for each in CHECKS if each is check)
    tree = RenderedTree("nothing", {}, Declaration(plan_of("lab-ib")))
    if not made.applies(tree):
        return
    assert not made.run(tree).is_proven


def test_json_tells_the_cases() -> None:
    spec = str(data_files.folder("inventory") / "lab-ib.yaml")
    arguments = ["verify", spec, "--check", "valley-free", "--check", "ib-cabling", "--format", "json"]
    document = json.loads(CliRunner().invoke(cli, arguments, standalone_mode=False).output)
    assert document["proven"] is True
    valleys, cabling = document["checks"]
    assert (cabling["proven"], cabling["answer"], cabling["cases"], cabling["cases_are"]) == (
        True, "proven", 256, "cables",
    )  # fmt: skip
    assert (valleys["proven"], valleys["cases"]) == (False, 0)
    assert valleys["answer"] == "nothing to prove: no switches that pass routes on"
