"""Two zones behind the same leaves: filters grow with switches and digits of nodes, and let nothing else pass."""

from __future__ import annotations

from pathlib import Path

from tests.plans import plan_with

from clusterwright.intent.edge_filters import entry_counts
from clusterwright.intent.filter_bound import FilterBound
from clusterwright.output.rendering import Rendering
from clusterwright.plan.model import Plan
from clusterwright.plan.skeleton import build_skeleton
from clusterwright.proofs.declaration import Declaration
from clusterwright.proofs.registry import CHECKS
from clusterwright.proofs.tree import tree_of
from clusterwright.spec.hardware.systems import ONE_ENTRY_EACH, systems

SHARED = """nodes:
  - {{name: vision, count: {nodes}}}
  - {{name: language, count: {nodes}}}
fabrics:
  - name: backend
    tiers:
      - {{role: leaf, per: cluster, up: {{links: {nodes}}}}}
"""


def plan_of(folder: Path, nodes: int) -> Plan:
    return plan_with(folder, "lab-tenants", SHARED.format(nodes=nodes))


def entries_of(plan: Plan) -> int:
    return max(count for device, count in entry_counts(plan) if device.role == "leaf")


def test_entries_grow_with_the_digits_of_the_nodes_and_not_with_their_pairs(tmp_path: Path) -> None:
    counted = {nodes: entries_of(plan_of(tmp_path, nodes)) for nodes in (8, 16, 32)}
    assert counted[32] < 6_000
    assert counted[16] < 1.8 * counted[8]
    assert counted[32] < 1.8 * counted[16]


def test_what_passes_is_still_what_the_matrix_declares(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, 3)
    check = next(check for check in CHECKS if check.name == "isolation")
    verdict = check.run(tree_of(plan.name, Rendering(plan).of_kinds(check.kinds), Declaration(plan)))
    assert verdict.is_proven, (verdict.word, verdict.counterexamples[:2])


def test_no_switch_has_more_entries_than_its_bound(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, 8)
    bound = FilterBound(plan.spec, build_skeleton(plan.spec))
    fabric = next(fabric for fabric in bound.skeleton.fabrics if fabric.fabric.name == "backend")
    system = systems()["nvue"]
    most = max(bound.entries(fabric.fabric, own, system, ONE_ENTRY_EACH) for own in bound.tenants["backend"].values())
    assert entries_of(plan) <= most
