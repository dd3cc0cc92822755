"""Bandwidth of every switch: groups with few NICs do not hide those with many, to lint and to the proof."""

from __future__ import annotations

from pathlib import Path

import pytest

from clusterwright.output.rendering import Rendering
from clusterwright.plan.build import build_plan
from clusterwright.plan.figures import figures
from clusterwright.plan.skeleton import build_skeleton
from clusterwright.proofs.declaration import Declaration
from clusterwright.proofs.ethernet.bandwidth import ETHERNET_BISECTION
from clusterwright.proofs.tree import tree_of
from clusterwright.rules.engine import lint_path
from clusterwright.spec.load import load_spec

SPEC = """version: 1
name: mean
site: {{domain: mean.example.net}}
nodes:
  - name: compute
    model: dgx-h100
    role: node
    count: {nodes}
    levels: [{{name: rack, of: 4, within: su}}, {{name: su, of: 8, within: cluster}}, {{name: pod, of: 4}}]
fabrics:
  - name: backend
    technology: roce
    mtu: 9000
    pfc_watchdog: {{detection_ms: 200, recovery_ms: 100}}
    classes:
      - {{name: rdma, dscp: [26], queue: 3, priority: 3, weight: 80}}
      - {{name: other, dscp: ["0-25", "27-63"], queue: 0, weight: 20}}
    addressing:
      loopbacks: "10.255.0.0/18"
      links: "10.192.0.0/12"
      hosts: "10.0.0.0/9"
      hosts_per_switch: 24
      host_links: point-to-point
    attach: [{{nodes: compute, nics: backend}}]
    tiers:
{tiers}
{expect}"""
LAST_UNIT_OF_TWO = """\
      - {role: leaf, model: sn5600, per: su, join: rail, up: {links: 17, speed_gbps: 400},
         asn: {base: 4200100000, per: switch}}
      - {role: spine, model: sn5600, per: cluster, count: 17,
         asn: {base: 4200000100, per: tier}}"""
LAST_POD_OF_ONE = """\
      - {role: leaf, model: sn5600, per: su, join: rail, up: {links: 32, speed_gbps: 400},
         asn: {base: 4200100000, per: switch}}
      - {role: spine, model: sn5600, per: pod, join: rail, count: 8, up: {links: 10, speed_gbps: 400},
         asn: {base: 4200010000, per: group}}
      - {role: core, model: sn5600, per: cluster, join: position, count: 2,
         asn: {base: 4200000100, per: tier}}"""
ASSUMED = 'assumed: "What this test is about."'


def _written(folder: Path, nodes: int, tiers: str, expected: dict[str, float]) -> Path:
    lines = [f"  - {{figure: {figure}, value: {value}, {ASSUMED}}}" for figure, value in expected.items()]
    expect = "\n".join(["expect:", *lines]) if lines else ""
    path = folder / "mean.yaml"
    path.write_text(SPEC.format(nodes=nodes, tiers=tiers, expect=expect))
    return path


def _counterexamples(path: Path) -> list[str]:
    plan = build_plan(load_spec(path))
    tree = tree_of(plan.name, Rendering(plan).of_kinds(ETHERNET_BISECTION.kinds), Declaration(plan))
    return [f"{found.device} {found.message}" for found in ETHERNET_BISECTION.run(tree).counterexamples]


def test_full_units_do_not_hide_behind_a_last_one(tmp_path: Path) -> None:
    path = _written(tmp_path, 34, LAST_UNIT_OF_TWO, {"oversubscription.backend.leaf": 1})
    (error,) = lint_path(path).errors
    assert error.code == "CW224"
    assert "leaf-s00-00 has 6,800 Gb/s of uplinks for 12,800 Gb/s of NICs, 1.882 to 1" in error.message
    assert _counterexamples(path) == [
        "leaf-s00-00 is oversubscribed 1.8824 to 1 from the NICs below it, the spec promises 1 to 1 of each leaf"
    ]


def test_full_pods_do_not_hide_behind_a_last_one_above_the_lowest_tier(tmp_path: Path) -> None:
    path = _written(tmp_path, 160, LAST_POD_OF_ONE, {})
    (error,) = lint_path(path).errors
    assert (error.code, "Above spine-p00-00 there is 1.60 times less" in error.message) == ("CW204", True)
    path = _written(tmp_path, 160, LAST_POD_OF_ONE, {"oversubscription.backend.spine": 1})
    (error,) = lint_path(path).errors
    assert (error.code, "spine-p00-00 has" in error.message) == ("CW224", True)
    (found,) = _counterexamples(path)
    assert found.startswith("spine-p00-00 is oversubscribed 1.6000 to 1 from the NICs below it")


@pytest.mark.parametrize(
    ("nodes", "tiers", "role", "mean", "narrowest"),
    [(34, LAST_UNIT_OF_TWO, "leaf", 1, 32 / 17), (160, LAST_POD_OF_ONE, "spine", 1, 1.6)],
)
def test_what_the_narrowest_switch_may_have_can_be_promised(
    tmp_path: Path, nodes: int, tiers: str, role: str, mean: float, narrowest: float
) -> None:
    expected = {f"oversubscription.backend.{role}": mean, f"narrowest.backend.{role}": narrowest}
    path = _written(tmp_path, nodes, tiers, expected)
    assert not lint_path(path).errors
    assert not _counterexamples(path)
    spec = load_spec(path)
    assert figures(spec, build_skeleton(spec))[f"narrowest.backend.{role}"] == pytest.approx(narrowest)


def test_the_promise_of_the_narrowest_switch_alone_is_held_too(tmp_path: Path) -> None:
    path = _written(tmp_path, 34, LAST_UNIT_OF_TWO, {"narrowest.backend.leaf": 1.5})
    assert {error.code for error in lint_path(path).errors} == {"CW203", "CW224"}
    (found,) = _counterexamples(path)
    assert "the spec promises 1.5 to 1 of each leaf" in found
