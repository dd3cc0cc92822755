"""Nodes with a NIC at each of two rack switches: proven to keep every way without one of them."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import mkdtemp

import pytest
from tests.plans import plan_with

from clusterwright.artifact import Artifact
from clusterwright.output.rendering import Rendering
from clusterwright.plan.model import Plan
from clusterwright.proofs.check import Verdict
from clusterwright.proofs.declaration import Declaration
from clusterwright.proofs.ethernet.failures import ETHERNET_FAILURES
from clusterwright.proofs.tree import tree_of

NODE = "gpu-p00r00n0"
MODELS = {
    "eos": "model: dcs-7804r3, up: {blocks: null}",
    "fboss": "model: wedge400-grand-teton",
    "nvue": "model: sn4700, up: {blocks: null}",
    "sonic": "model: sn4700-sonic, up: {blocks: null}",
}


LABS = {"eos": "lab-roce", "fboss": "lab-roce", "nvue": "lab-nvue", "sonic": "lab-sonic"}


@cache
def dual_homed(system: str) -> Plan:
    overlay = f"fabrics:\n  - name: frontend\n    tiers:\n      - {{role: rsw, count: 2, {MODELS[system]}}}\n"
    return plan_with(Path(mkdtemp()), "lab-roce", overlay)


@cache
def artifacts(system: str) -> tuple[Artifact, ...]:
    return tuple(Rendering(dual_homed(system)).of_kinds(ETHERNET_FAILURES.kinds))


def verdict(system: str, file: str = "", old: str = "", new: str = "", *, every: int = -1) -> Verdict:
    made = []
    for artifact in artifacts(system):
        text = artifact.content.decode()
        if artifact.device == NODE and file and artifact.path.endswith(file):
            assert old in text
            text = text.replace(old, new, every)
        made.append(Artifact(artifact.device, artifact.path, text.encode(), artifact.kind))
    return ETHERNET_FAILURES.run(tree_of("dual", made, Declaration(dual_homed(system))))


@pytest.mark.parametrize("system", MODELS)
def test_a_rack_switch_less_keeps_every_node(system: str) -> None:
    result = verdict(system)
    assert not result.counterexamples
    nodes = {c.a.device for c in dual_homed(system).cables if c.fabric == "frontend" and c.a.side == "host"}
    facts = [fact.value for fact in result.facts if "nodes at several switches" in fact.name]
    twice = [name for name in nodes if not name.startswith("st-")]
    assert facts == [len([name for name in twice if dual_homed(system).by_name[name].image is not None])]


@pytest.mark.parametrize("system", LABS)
def test_a_rack_switch_less_keeps_every_node_of_a_roce_fabric(system: str, tmp_path: Path) -> None:
    """NICs beside GPUs in turn at two rack switches, each with a subnet of its own, on every system."""
    model = ", model: dcs-7804r3, down: {blocks: null}, up: {blocks: null}" if system == "eos" else ""
    overlay = f"fabrics:\n  - name: backend\n    tiers: [{{role: rtsw, count: 2{model}}}]\n"
    plan = plan_with(tmp_path, LABS[system], overlay)
    made = tuple(Rendering(plan).of_kinds(ETHERNET_FAILURES.kinds))
    result = ETHERNET_FAILURES.run(tree_of("dual", made, Declaration(plan)))
    assert not result.counterexamples
    nodes = {c.a.device for c in plan.cables if c.fabric == "backend" and c.a.side == "host"}
    (fact,) = [fact.value for fact in result.facts if "nodes at several" in fact.name and "rtsw" in fact.name]
    assert fact == len(nodes)


def test_a_node_that_loses_its_second_way_is_refuted() -> None:
    """The route by fe1 alone and the hop by it are gone: fe0's switch takes the way with it."""
    text = next(a.content.decode() for a in artifacts("nvue") if (a.device, a.path[-11:]) == (NODE, "fe1.network"))
    start = text.index("\n[Route]", text.index("Metric=201") - 400)
    assert start > 0
    result = verdict("nvue", "20-fe1.network", "Metric=201", "Metric=201\nTable=109")
    assert not result.counterexamples, "the route over both has a hop by fe1 still"
    own = [
        Artifact(a.device, a.path, _without(a.content.decode()).encode(), a.kind)
        if a.device == NODE and a.path.endswith(("20-fe0.network", "20-fe1.network"))
        else a
        for a in artifacts("nvue")
    ]
    result = ETHERNET_FAILURES.run(tree_of("dual", own, Declaration(dual_homed("nvue"))))
    (message,) = [example.message for example in result.counterexamples if example.device == NODE]
    assert message.startswith("when rsw-p00r00-00 fails, no route leads to fd00:")


def _without(text: str) -> str:
    """A file whose main table has no way by fe1."""
    head, *routes = text.split("\n[Route]")
    kept = [route for route in routes if "@fe1" not in route and "Metric=201" not in route]
    return "\n[Route]".join((head, *kept))
