"""The smallest cuts, beside networkx's maximum flow on the same text."""

from __future__ import annotations

import random
import re
from pathlib import Path

import networkx
import pytest
from tests.plans import plan_with
from tests.proofs.trees import CONFIG, FABRIC, Cables, text_of, tree, verdict

from clusterwright.output.rendering import Rendering
from clusterwright.proofs.check import ProofCheck
from clusterwright.proofs.declaration import Declaration
from clusterwright.proofs.infiniband.bisection import BISECTION
from clusterwright.proofs.infiniband.paths import PATH_BALANCE
from clusterwright.proofs.tree import tree_of
from clusterwright.rules.engine import lint_path


def flow(text: str, unit: str) -> int:
    """Links that can carry traffic between the adapters of a unit and all others, read from the text by itself."""
    graph = networkx.DiGraph()
    for block in text.split("\n\n"):
        if (head := re.search(r'^Switch\t\d+ "(S-\w+)"\t\t# "(.*)"$', block, re.M)) is None:
            continue
        for peer in re.findall(r'^\[\d+\]\t"(\S+)"\[', block, re.M):
            ours = head[2].startswith(unit)
            edge = (head[1], peer) if peer.startswith("S") else ("source", head[1]) if ours else (head[1], "sink")
            old = graph.get_edge_data(*edge, {"capacity": 0})["capacity"]
            graph.add_edge(*edge, capacity=old + 1)
    return int(networkx.maximum_flow_value(graph, "source", "sink"))


@pytest.mark.parametrize("seed", range(5))
def test_cuts_are_those_of_networkx(seed: int) -> None:
    chosen = random.Random(seed)
    cables = Cables(text_of("lab-ib", FABRIC))
    for _ in range(12):
        leaf = f"leaf-s0{chosen.randrange(2)}-0{chosen.randrange(8)}"
        cables.unplug(leaf, chosen.choice([port for port in cables.ports(leaf) if port > 8]))
    result = verdict("ib-bisection", tree("lab-ib", {FABRIC: lambda _: cables.text}))
    expected = {unit: flow(cables.text, f"leaf-s0{unit}") for unit in range(2)}
    for unit, links in expected.items():
        assert links < 64
        message = f"unit of gpu-s0{unit}r00n0: {links} links carry 64 adapters"
        assert any(message in example.message for example in result.counterexamples)


THREE_TIERS = """nodes:
  - name: compute
    count: 16
    levels: [{name: rack, of: 4, within: su}, {name: su, of: 1, within: pod}, {name: pod, of: 2}]
fabrics:
  - name: backend
    tiers:
      - {role: leaf, up: {links: 4}}
      - {role: spine, per: pod, up: {links: 8, speed_gbps: 400}}
      - {role: core, model: qm9790, per: cluster, count: 4}
expect:
  - {figure: gpus, value: 128, assumed: "What is tried here."}
  - {figure: switches.leaf, value: 32, assumed: "What is tried here."}
  - {figure: oversubscription.backend.spine, value: %s, tolerance: %s, assumed: "Narrow above the pods."}
"""
LAST_POD_HALF_FULL = (
    THREE_TIERS.replace("count: 16", "count: 12").replace("value: 128", "value: 96").replace("value: 32", "value: 24")
)
PLANES_IN_A_UNIT = """nodes:
  - {name: compute, count: 8, levels: [{name: rack, of: 1, within: su}, {name: su, of: 4}]}
fabrics:
  - name: backend
    accepts_single_failures: "A plane has one spine."
    tiers:
      - {role: leaf, count: 3, up: {links: 3}}
      - {role: spine, per: su, join: position, count: 1, up: {links: 3, speed_gbps: 400}}
      - {role: core, model: qm9790, per: cluster, count: 3}
expect:
  - {figure: gpus, value: 64, assumed: "What is tried here."}
  - {figure: switches.leaf, value: 48, assumed: "What is tried here."}
  - {figure: oversubscription.backend.leaf, value: 0.444, tolerance: 0.01, assumed: "Three uplinks for a host or two."}
  - {figure: oversubscription.backend.spine, value: 3.556, tolerance: %s, assumed: "Hosts fill planes in turn."}
"""
THREE_SPINES = """fabrics: [{name: backend, tiers: [{role: spine, count: 3}]}]
expect:
  - {figure: oversubscription.backend.leaf, value: 1, tolerance: %s, assumed: "A link in 64 may have no partner."}
"""
# Of more than two units a pair is not all: what lint does not foretell of a pair has to be proven of it.
UNITS_BESIDE = """nodes: [{name: compute, count: %d, levels: [{name: rack, of: 4, within: su}, {name: su, of: 1}]}]
fabrics:
  - name: backend
    accepts_single_failures: "A lab that tries how links spread."
    tiers: [{role: leaf, up: {links: %d}}, {role: spine, count: %d}]
expect:
  - {figure: gpus, value: %d, assumed: "What is tried here."}
  - {figure: switches.leaf, value: %d, assumed: "What is tried here."}
  - {figure: switches.spine, value: %d, assumed: "What is tried here."}
  - {figure: oversubscription.backend.leaf, value: %s, assumed: "What is tried here."}
"""


@pytest.mark.parametrize(
    ("overlay", "refused"),
    [
        (THREE_TIERS % (2, 0), ""),
        (LAST_POD_HALF_FULL % (1.5, 0), "CW224"),
        (LAST_POD_HALF_FULL % (1.5, 0.4), ""),
        (PLANES_IN_A_UNIT % 0.4, "CW224"),
        (PLANES_IN_A_UNIT % 0.5, ""),
        (THREE_SPINES % 0, "CW219"),
        (THREE_SPINES % 0.02, ""),
        (UNITS_BESIDE % (16, 4, 5, 128, 32, 5, 1), "CW219"),
        (UNITS_BESIDE % (12, 4, 5, 96, 24, 5, 1), ""),
        (UNITS_BESIDE % (12, 2, 3, 96, 24, 3, "2, tolerance: 0.05"), ""),
    ],
    ids=[
        "an upper tier",
        "a fuller pod",
        "a fuller pod within its tolerance",
        "a fuller plane",
        "a fuller plane within its tolerance",
        "uneven",
        "uneven within its tolerance",
        "units beside each other, uneven",
        "three units beside each other",
        "three units beside each other, narrow",
    ],
)
def test_lint_and_proof_judge_one_promise(overlay: str, refused: str, tmp_path: Path) -> None:
    """What the proof refutes lint refuses first; what a promise covers is proven."""
    plan = plan_with(tmp_path, "lab-ib", overlay)
    assert [error.code for error in lint_path(tmp_path / "overlay.yaml").errors] == [refused] * bool(refused)
    files = tuple(Rendering(plan).of_kinds(BISECTION.kinds))
    result = BISECTION.run(tree_of(plan.name, files, Declaration(plan)))
    assert result.is_proven or refused, result.counterexamples


# --- engines ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("check", [BISECTION, PATH_BALANCE], ids=lambda check: str(check.name))
@pytest.mark.parametrize("engine", ["updn", "minhop", "dfsssp", "ftree,updn", "ar_updn"])
def test_only_ftree_loads_links_as_they_are_cabled(check: ProofCheck, engine: str) -> None:
    """Real opensm put 32 times the mean on links of a regular tree by updn."""
    edit = {CONFIG: lambda text: text.replace("routing_engine ftree", f"routing_engine {engine}", 1)}
    result = check.run(tree("lab-ib", edit))
    assert not result.is_proven
    assert not result.is_refuted, result.counterexamples
    assert engine.removeprefix("ftree,") in result.word
    assert not any("load of an uplink" in fact.name for fact in result.facts)
    assert check.run(tree("lab-ib")).is_proven


def test_an_engine_is_known_by_the_text_and_not_by_the_spec(tmp_path: Path) -> None:
    overlay = "fabrics: [{name: backend, subnet_manager: {routing_engine: updn}}]\n"
    plan = plan_with(tmp_path, "lab-ib", overlay)
    assert [finding.code for finding in lint_path(tmp_path / "overlay.yaml").findings] == ["CW323"]
    artifacts = tuple(Rendering(plan).of_kinds(BISECTION.kinds))
    for declaration in (Declaration(plan), None):
        assert "updn loads links otherwise" in BISECTION.run(tree_of(plan.name, artifacts, declaration)).word
