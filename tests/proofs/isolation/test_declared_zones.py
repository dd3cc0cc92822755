"""What a spec means by its zones and flows: whoever belongs to a zone, and what a flow lets through."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.plans import plan_of, plan_with

from clusterwright.output.rendering import Rendering
from clusterwright.plan.model import Plan
from clusterwright.proofs.check import Verdict
from clusterwright.proofs.declaration import Declaration
from clusterwright.proofs.isolation.proof import ISOLATION, KINDS
from clusterwright.proofs.tree import tree_of
from clusterwright.rules.engine import lint_path

# What lab-roce and lab-ib say by `nodes`, said by the groups' own `zone` alone.
BY_GROUP = "zones:\n  - {name: compute, nodes: []}\n  - {name: storage, nodes: []}\n"


def proof(plan: Plan) -> Verdict:
    """The isolation proof of everything that a plan renders for it."""
    return ISOLATION.run(tree_of(plan.name, Rendering(plan).of_kinds(KINDS), Declaration(plan)))


@pytest.mark.parametrize(("protocol", "passes"), [("any", "TCP"), ("icmp", "ICMP")])
def test_ports_of_a_protocol_without_ports_open_nothing_that_is_proven(
    protocol: str, passes: str, tmp_path: Path
) -> None:
    """Writers may not agree with the proof on the slip: the proof reads ports as ports."""
    plan = plan_with(tmp_path, "lab-roce", f"flows:\n  - {{name: ssh, protocol: {protocol}, ports: [22]}}\n")
    found = [str(example) for example in proof(plan).counterexamples]
    assert found
    assert any("no flow allows it" in each for each in found), found


@pytest.mark.parametrize("name", ["lab-roce", "lab-ib"])
def test_a_zone_that_groups_name_is_the_zone_that_lists_them(name: str, tmp_path: Path) -> None:
    plan = plan_with(tmp_path, name, BY_GROUP)
    listed = {(a.device, a.path): a.content for a in Rendering(plan_of(name)).of_kinds(KINDS)}
    named = {(a.device, a.path): a.content for a in Rendering(plan).of_kinds(KINDS)}
    assert named == listed
    assert lint_path(tmp_path / "overlay.yaml").findings == ()
    assert not proof(plan).counterexamples
