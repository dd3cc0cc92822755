"""Two tiers of InfiniBand leaves below one spine: proven, routed alike by a real opensm, and refuted where broken."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.hosts.subnet import routed_subnet
from tests.proofs.trees import FABRIC, Cables, verdict
from tests.rules.overlays import findings_of

from clusterwright.artifact import Artifact
from clusterwright.finding import Severity
from clusterwright.output.rendering import Rendering
from clusterwright.plan.build import build_plan
from clusterwright.plan.model import Plan
from clusterwright.proofs.declaration import Declaration
from clusterwright.proofs.infiniband.subnet import KINDS, subnets
from clusterwright.proofs.tree import RenderedTree, tree_of
from clusterwright.spec.load import load_spec

SPEC = """version: 1
name: two-ib-leaves
site: {domain: lab.example.net, rack_units: 52}
nodes:
  - {name: hopper, model: dgx-h100, role: node, count: 4, prefix: h, levels: [{name: su, of: 4}]}
  - {name: blackwell, model: dgx-b200, role: node, count: 4, prefix: b, levels: [{name: pod, of: 4}]}
fabrics:
  - name: backend
    technology: infiniband
    mtu: 4096
    attach: [{nodes: hopper, nics: backend}, {nodes: blackwell, nics: backend}]
    tiers:
      - {role: leaf, model: qm9790, per: su, join: rail, up: {links: 4, speed_gbps: 400, to: [spine]}}
      - {role: bleaf, model: qm9700, per: pod, join: rail, up: {links: 4, speed_gbps: 400, to: [spine]}}
      - {role: spine, model: qm9790, per: cluster, count: 2}
    subnet_manager: {nodes: hopper, count: 2, routing_engine: ftree}
expect:
  - {figure: oversubscription.backend.leaf, value: 1, assumed: "A port up for each port down."}
  - {figure: oversubscription.backend.bleaf, value: 1, assumed: "A port up for each port down."}
"""
STACKED = "per: su, join: rail, up: {links: 4, speed_gbps: 400, to: [bleaf]}"
CLAIMS = ("ib-cabling", "ib-rail-purity", "ib-up-down", "ib-path-balance", "ib-bisection", "ib-failures")


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    file = tmp_path_factory.mktemp("leaves") / "cluster.yaml"
    file.write_text(SPEC)
    return build_plan(load_spec(file))


def recabled(plan: Plan, edit: Callable[[Cables], Cables]) -> RenderedTree:
    """The rendered files with other cables in the fabric's file of each manager."""
    files = []
    for artifact in Rendering(plan).of_kinds(KINDS):
        content = artifact.content
        if artifact.path == FABRIC:
            content = edit(Cables(content.decode())).text.encode()
        files.append(Artifact(artifact.device, artifact.path, content, artifact.kind))
    return tree_with(plan, tuple(files))


def tree_with(plan: Plan, files: tuple[Artifact, ...] | None = None) -> RenderedTree:
    rendered = tuple(Rendering(plan).of_kinds(KINDS)) if files is None else files
    return tree_of(plan.name, rendered, Declaration(plan))


def test_leaves_of_one_height_are_accepted(tmp_path: Path) -> None:
    assert not [finding for finding in findings_of(tmp_path, SPEC) if finding.severity is Severity.ERROR]


def test_leaves_over_leaves_are_refused(tmp_path: Path) -> None:
    stacked = SPEC.replace("per: su, join: rail, up: {links: 4, speed_gbps: 400, to: [spine]}", STACKED)
    assert stacked != SPEC
    (finding,) = [finding for finding in findings_of(tmp_path, stacked) if finding.code == "CW253"]
    assert finding.message == "blackwell is cabled to bleaf, hopper to leaf."


def test_leaves_with_other_numbers_of_uplinks_are_refused(tmp_path: Path) -> None:
    text = SPEC.replace("per: pod, join: rail, up: {links: 4", "per: pod, join: rail, up: {links: 8")
    (finding,) = [finding for finding in findings_of(tmp_path, text) if finding.code == "CW253"]
    assert finding.path == "fabrics[backend].tiers[bleaf].up.links"
    assert finding.message == (
        "bleaf has 8 uplinks, leaf beside it 4: `verify` cannot follow paths that leaves share unevenly."
    )
    plan = build_plan(load_spec(tmp_path / "spec.yaml"))
    assert verdict("ib-path-balance", tree_with(plan)).counterexamples


@pytest.mark.parametrize("claim", CLAIMS)
def test_every_claim_holds(plan: Plan, claim: str) -> None:
    result = verdict(claim, tree_with(plan))
    assert result.is_proven
    assert result.facts


@pytest.mark.parametrize(
    ("claim", "one", "other"),
    [
        # A cable of rail 0 in the place of one of rail 1, at either kind of leaf.
        ("ib-rail-purity", ("leaf-s00-00", 1), ("leaf-s00-01", 1)),
        ("ib-rail-purity", ("bleaf-p00-00", 1), ("bleaf-p00-01", 1)),
        # A node of one generation in the place of one of the other.
        ("ib-rail-purity", ("leaf-s00-00", 1), ("bleaf-p00-00", 1)),
    ],
)
def test_exchanged_cables_are_refuted(plan: Plan, claim: str, one: tuple[str, int], other: tuple[str, int]) -> None:
    assert verdict(claim, recabled(plan, lambda cables: cables.swap(one, other))).counterexamples


@pytest.mark.parametrize("leaf", ["leaf-s00-00", "bleaf-p00-00"])
@pytest.mark.parametrize("claim", ["ib-path-balance", "ib-bisection"])
def test_a_lost_uplink_of_either_kind_is_refuted(plan: Plan, leaf: str, claim: str) -> None:
    def unplug(cables: Cables) -> Cables:
        uplink = next(port for port in cables.ports(leaf) if cables.peer(leaf, port)[0].startswith("spine"))
        return cables.unplug(leaf, uplink)

    assert verdict(claim, recabled(plan, unplug)).counterexamples


def test_opensm_routes_every_pair_over_both_kinds_of_leaf(plan: Plan, tmp_path: Path) -> None:
    (proven,) = subnets(tree_with(plan))
    fabric, rank = proven.fabric, proven.rank
    ends = {(int(a), int(p)): ("switch", int(b)) for a, p, b, _, _, _ in fabric.trunks}
    ends |= {(int(b), int(q)): ("switch", int(a)) for a, _, b, q, _, _ in fabric.trunks}
    ends |= {(int(s), int(p)): ("adapter", int(a)) for a, s, p, _, _ in fabric.taps}
    home = {int(adapter): int(switch) for adapter, switch, _, _, _ in fabric.taps}
    with routed_subnet(plan, "backend", tmp_path) as subnet:
        tables = [subnet.forwarding(switch.guid) for switch in fabric.switches]
        lids = [subnet.lids[adapter.guid] for adapter in fabric.adapters]
    crossed = 0
    for source in range(len(fabric.adapters)):
        for target in range(len(fabric.adapters)):
            if source == target:
                continue
            here, steps = home[source], []
            kind, following = ends[here, tables[here][lids[target]]]
            while kind == "switch":
                steps.append(int(rank[following] - rank[here]))
                here = following
                kind, following = ends[here, tables[here][lids[target]]]
            assert following == target
            assert steps in ([], [-1, 1])
            crossed += len(steps) // 2
    assert crossed == 64 * (64 - 4)
