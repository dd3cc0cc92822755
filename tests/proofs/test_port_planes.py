"""GPUs with two ports, each in a plane of its own: planned, cabled, proven, and kept while the cluster grows."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

import pytest
from tests.generated.ports import TWO_PORTS
from tests.plans import plan_with

from clusterwright import data_files
from clusterwright.output.rendering import Rendering
from clusterwright.plan.allocation.record import record
from clusterwright.plan.allocation.writing import allocation_text
from clusterwright.plan.model import Plan
from clusterwright.proofs.declaration import Declaration
from clusterwright.proofs.ethernet.failures import ETHERNET_FAILURES
from clusterwright.proofs.ethernet.reachability import REACHABILITY
from clusterwright.proofs.tree import tree_of
from clusterwright.rules.engine import lint_path

NODE = "gpu-p00r00n0"
# As published for a fabric of two planes with two rack switches: a switch for each port of each rail of a segment, and
# above them those of the first ports and those of the second ports, which meet in the nodes alone.
DUAL_PLANE = f"""hardware: ["{TWO_PORTS}"]
nodes:
  - {{name: compute, model: two-port-node}}
fabrics:
  - name: backend
    tiers:
      - {{role: rtsw, per: pod, join: rail, up: {{links: 4}}}}
      - {{role: ctsw, per: cluster, join: port, count: 4, up: null}}
      - {{role: atsw, remove: true}}
  - name: management
    tiers:
      - {{role: mgmt, count: 2, up: {{links: 2, speed_gbps: 25}}}}
      - {{role: mgmtagg, model: dcs-7050sx3-48yc8, per: cluster, count: 2, asn: {{base: 4201000000, per: tier}}}}
expect:
  - {{figure: switches.rtsw, value: 32, assumed: "One for each port of a rail of a pod."}}
  - {{figure: oversubscription.backend.rtsw, value: 0.25, assumed: "Few nodes."}}
  - {{figure: oversubscription.backend.ctsw, remove: true}}
"""


# Planes without rails: a leaf of a pod for the first ports of all its GPUs, and one for the second ports.
WITHOUT_RAILS = DUAL_PLANE.replace("join: rail, up: {links: 4}", "join: port, up: {links: 32}").replace(
    "value: 32", "value: 4"
)


@cache
def dual_plane() -> Plan:
    return plan_with(Path(mkdtemp()), "lab-nvue", DUAL_PLANE)


def test_each_plane_has_one_port_of_every_gpu() -> None:
    plan = dual_plane()
    uppers: dict[str, set[str]] = {}
    for cable in plan.cables:
        if cable.fabric == "backend" and cable.a.side != "host":
            uppers.setdefault(cable.a.device, set()).add(cable.b.device)
    planes: dict[int, set[str]] = {}
    for cable in plan.cables:
        if cable.fabric == "backend" and cable.a.side == "host":
            planes.setdefault(int(cable.a.port.removeprefix("be")) % 2, set()).update(uppers[cable.b.device])
    assert [len(each) for each in planes.values()] == [4, 4]
    assert not planes[0] & planes[1]


def test_the_planes_are_proven_one_by_one(tmp_path: Path) -> None:
    plan = dual_plane()
    verdict = REACHABILITY.run(tree_of("dual", Rendering(plan).of_kinds(REACHABILITY.kinds), Declaration(plan)))
    assert not verdict.counterexamples
    assert ("backend: planes by port, which meet in the nodes alone; each is proven by itself", 2) in [
        (fact.name, fact.value) for fact in verdict.facts
    ]


def test_planes_need_no_rails(tmp_path: Path) -> None:
    plan = plan_with(tmp_path, "lab-nvue", WITHOUT_RAILS)
    leaves: dict[str, set[int]] = {}
    for cable in plan.cables:
        if cable.fabric == "backend" and cable.a.side == "host":
            leaves.setdefault(cable.b.device, set()).add(int(cable.a.port.removeprefix("be")) % 2)
    assert leaves == {"rtsw-p00-00": {0}, "rtsw-p00-01": {1}, "rtsw-p01-00": {0}, "rtsw-p01-01": {1}}

    verdict = REACHABILITY.run(tree_of("planes", Rendering(plan).of_kinds(REACHABILITY.kinds), Declaration(plan)))

    assert not verdict.counterexamples
    assert ("backend: planes by port, which meet in the nodes alone; each is proven by itself", 2) in [
        (fact.name, fact.value) for fact in verdict.facts
    ]


def test_a_plane_that_loses_a_leaf_is_refuted(tmp_path: Path) -> None:
    plan = plan_with(tmp_path, "lab-nvue", WITHOUT_RAILS)
    made = [artifact for artifact in Rendering(plan).of_kinds(REACHABILITY.kinds) if artifact.device != "rtsw-p01-01"]
    assert REACHABILITY.run(tree_of("planes", made, Declaration(plan))).counterexamples


def test_every_gpu_keeps_a_port_without_any_one_switch() -> None:
    """Each has two ports at two switches; where the text lacks one of them, it has one."""
    plan = dual_plane()
    made = list(Rendering(plan).of_kinds(ETHERNET_FAILURES.kinds))
    verdict = ETHERNET_FAILURES.run(tree_of("dual", made, Declaration(plan)))
    assert not verdict.counterexamples
    gpus = "backend: GPUs with ports at several switches, which leave one without any of them"
    assert [fact.value for fact in verdict.facts if fact.name == gpus] == [64]
    text = [a for a in made if (a.device, a.path) != (NODE, "etc/systemd/network/20-be1.network")]
    assert len(text) == len(made) - 1
    verdict = ETHERNET_FAILURES.run(tree_of("dual", text, Declaration(plan)))
    assert "GPU 0 is at rtsw-p00-00 alone, by be0, and the spec has its ports on backend at several switches" in [
        example.message for example in verdict.counterexamples if example.device == NODE
    ]


def test_gpus_of_nodes_that_bring_their_own_system_are_not_judged() -> None:
    """Nothing is written for such a node, so that nothing here says at which switches its ports are."""
    plan = dual_plane()
    strangers = replace(plan, devices=tuple(replace(device, image=None) for device in plan.devices))
    assert Declaration(plan).gpu_ports
    assert not Declaration(strangers).gpu_ports


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (("model: two-port-node", "model: grand-teton-h100"), "Each GPU has one port on backend"),
        (("join: rail", "join: all"), "ctsw has no planes below"),
    ],
)
def test_planes_of_ports_need_gpus_with_ports(edit: tuple[str, str], message: str, tmp_path: Path) -> None:
    file = tmp_path / "cluster.yaml"
    file.write_text(f"extends: {data_files.folder('inventory')}/lab-nvue.yaml\n{DUAL_PLANE.replace(*edit)}")
    assert any(finding.code == "CW210" and finding.message.startswith(message) for finding in lint_path(file).findings)


def test_a_pod_more_leaves_the_planes_where_they_are(tmp_path: Path) -> None:
    grown = plan_with(tmp_path, "lab-nvue", DUAL_PLANE.replace("two-port-node}", "two-port-node, count: 12}"))
    (tmp_path / "overlay.allocated.yaml").write_text(
        allocation_text(dual_plane().spec, record(dual_plane(), date(2026, 3, 1)))
    )
    again = plan_with(tmp_path, "lab-nvue", DUAL_PLANE.replace("two-port-node}", "two-port-node, count: 12}"))
    before = {(c.a.device, c.a.port): (c.b.device, c.b.port) for c in dual_plane().cables}
    after = {(c.a.device, c.a.port): (c.b.device, c.b.port) for c in again.cables}
    assert len(grown.cables) == len(again.cables)
    assert {end: after[end] for end in before} == before
