"""Fabrics in pieces: refuted against the spec's fabric, unless it declares planes and every two nodes share one."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
from tests.plans import plan_with

from clusterwright.output.rendering import Rendering
from clusterwright.plan.model import Plan
from clusterwright.proofs.check import Verdict
from clusterwright.proofs.declaration import Declaration
from clusterwright.proofs.ethernet.network import KINDS
from clusterwright.proofs.isolation.proof import KINDS as FILTERS
from clusterwright.proofs.registry import CHECKS
from clusterwright.proofs.tree import RenderedFile, RenderedTree, tree_of
from clusterwright.rules.engine import lint_path

NO_RACKS = """fabrics:
  - name: backend
    tiers:
      - {role: rtsw, remove: true}
      - {role: ctsw, remove: true}
      - {role: atsw, %s}
"""
LEAVES = NO_RACKS % "count: 4"
RAIL_ONLY = NO_RACKS % "count: 1, join: rail"
MANAGEMENT = "fabrics:\n  - name: management\n    tiers: [{role: mgmt, count: 3}]\n"
UPLINKS = (
    "fabrics:\n  - name: frontend\n    tiers:\n      - {role: rsw, up: {links: 1}}\n      - {role: ssw, count: 6}\n"
)
PLANES = """nodes: [{name: storage, model: flashblade}]
fabrics:
  - name: frontend
    tiers:
      - {role: rsw, count: 2}
      - {role: ssw, join: position}
"""
LONE_STORAGE = PLANES.replace("nodes: [{name: storage, model: flashblade}]\n", "")
SITE_BESIDE = """zones:
  - {name: site-services, kind: services, prefixes: ["fd00:1ab:f:100::/56"]}
"""
BORDER = """borders:
  - name: site
    device: ssw-02
    port: Ethernet6/36/1
    speed_gbps: 400
    address: "fd00:1ab:f:fffd::/127"
    neighbour: "fd00:1ab:f:fffd::1"
    asn: 64601
    zones: [site-services]
    authentication: {secret: bgp-site}
"""
LEAF_OUT = "exceptions:\n  - {device: rsw-p00r00-00, state: out-of-service, reason: dead board}\n"
BOTH_DRAINED = (
    "exceptions:\n  - {device: ssw-00, state: drained, reason: upgrade}\n"
    "  - {device: ssw-01, state: out-of-service, reason: broken}\n"
)
LEFT = (
    "exceptions:\n  - {device: gpu-p00r00n0, port: be3, state: out-of-service, reason: broken cage}\n"
    "  - {device: gpu-p01r00n1, state: drained, reason: dead board}\n"
    "  - {device: rsw-p01r01, state: out-of-service, reason: dead board}\n"
)


@cache
def tree(overlay: str, folder: Path, *, declaration: bool = True) -> RenderedTree:
    plan: Plan = plan_with(folder, "lab-roce", overlay)
    return tree_of(
        "lab-roce", tuple(Rendering(plan).of_kinds(KINDS | FILTERS)), Declaration(plan) if declaration else None
    )


def verdict(check: str, subject: RenderedTree) -> Verdict:
    return next(each for each in CHECKS if each.name == check).run(subject)


@pytest.mark.parametrize(
    ("overlay", "pair", "why"),
    [
        (
            LEAVES,
            "gpu-p00r00n0 be0 (at atsw-00) does not reach gpu-p00r00n1 be1 (at atsw-01)",
            "backend is in 4 pieces",
        ),
        (MANAGEMENT, "bmc (at mgmt-00) does not reach", "management is in 3 pieces"),
        (UPLINKS, "fe0 (at rsw-p00r00) does not reach gpu-p00r01n0 fe0", "no cable joins them"),
        (LONE_STORAGE, "st-s00n0 fe0 (at rsw-s00-00) does not reach st-s00n1 fe0", "frontend is in 2 pieces"),
        (BOTH_DRAINED, "fe0 (at rsw-p00r00) does not reach", "no cable joins them"),
    ],
    ids=["leaves", "management", "uplinks", "planes not shared", "drained"],
)
def test_a_fabric_in_pieces_is_refuted_with_a_pair(overlay: str, pair: str, why: str, tmp_path: Path) -> None:
    found = [str(example) for example in verdict("reachability", tree(overlay, tmp_path)).counterexamples]
    assert [each for each in found if pair in each and why in each], found


@pytest.mark.parametrize(
    ("overlay", "fact", "planes"),
    [
        (RAIL_ONLY, "backend: planes by rail, which meet in the nodes alone; each is proven by itself", 8),
        (PLANES, "frontend: planes by position, which meet in the nodes alone; each is proven by itself", 2),
    ],
    ids=["rails", "positions"],
)
def test_declared_planes_are_proven_plane_by_plane(overlay: str, fact: str, planes: int, tmp_path: Path) -> None:
    result = verdict("reachability", tree(overlay, tmp_path))
    assert result.is_proven, result.counterexamples
    assert {fact.name: fact.value for fact in result.facts}[fact] == planes
    names = [fact.name for fact in result.facts]
    assert len(names) == len(set(names)), "two planes are told apart by their NICs"


def test_nodes_send_to_hosts_of_a_plane_by_its_own_nic(tmp_path: Path) -> None:
    subject = tree(PLANES, tmp_path)
    text = subject.text("gpu-p00r00n0", "etc/systemd/network/20-fe0.network") or ""
    beyond = "Destination=fd00:1ab:f::/56\nMultiPathRoute=fd00:1ab:f::1@fe0\nMultiPathRoute=fd00:1ab:f:1::1@fe1\n"
    assert beyond not in text, "half of the packets would go where the destination is not"


@pytest.mark.parametrize("rest", [SITE_BESIDE, LEAF_OUT, BORDER], ids=["a zone beside the hosts", "a leaf", "a border"])
def test_planes_stay_proven_beside_a_zone_a_dead_leaf_and_a_border(rest: str, tmp_path: Path) -> None:
    result = verdict("reachability", tree(PLANES + rest, tmp_path))
    assert result.is_proven, result.counterexamples


def test_nodes_send_what_lies_outside_by_the_plane_of_its_border(tmp_path: Path) -> None:
    subject = tree(PLANES + BORDER, tmp_path)
    texts = [subject.text("gpu-p00r00n0", f"etc/systemd/network/20-fe{nic}.network") or "" for nic in (0, 1)]
    main = [[each for each in text.split("\n[Route]") if "fff0::" in each and "Table=" not in each] for text in texts]
    assert not main[0]
    assert len(main[1]) == 1


def test_a_route_to_outside_by_a_plane_without_a_border_is_refuted(tmp_path: Path) -> None:
    subject = tree(PLANES + BORDER, tmp_path)
    path = "etc/systemd/network/20-fe0.network"
    old = subject.files["gpu-p00r00n0", path]
    text = f"{old.read()}\n[Route]\nDestination=fd00:1ab:f:fff0::/64\nGateway=fd00:1ab:f::1\nMetric=10\n"
    files = {**subject.files, ("gpu-p00r00n0", path): RenderedFile(old.device, old.path, old.kind, lambda: text)}
    result = verdict("reachability", RenderedTree(subject.cluster, files, subject.declaration))
    (example,) = result.counterexamples
    assert "packets to fd00:1ab:f:fff0::/64 leave by fe0, whose plane does not have these hosts" in str(example)


@pytest.mark.parametrize("state", ["drained", "out-of-service"])
def test_lint_tells_an_exception_that_cuts_a_plane(state: str, tmp_path: Path) -> None:
    """The nodes still meet in the other plane; their addresses in this one are dead."""
    accepted = 'join: position, count: 1}\n    accepts_single_failures: "The other plane leads there."'
    one = PLANES.replace("join: position}", accepted)
    plan_with(tmp_path, "lab-roce", f"{one}exceptions:\n  - {{device: ssw-00, state: {state}, reason: upgrade}}\n")
    (error,) = lint_path(tmp_path / "overlay.yaml").errors
    assert error.code == "CW240"
    assert "gpu-p00r00n0 fe0 (at rsw-p00r00-00) to gpu-p00r01n0 fe0" in error.message


def test_without_a_spec_planes_are_taken_for_such_and_said(tmp_path: Path) -> None:
    result = verdict("reachability", tree(PLANES, tmp_path, declaration=False))
    assert any("taken for planes" in note for note in result.notes)
    result = verdict("reachability", tree(MANAGEMENT, tmp_path, declaration=False))
    assert any("3 mgmt switches stand alone" in note for note in result.notes)


def test_what_the_spec_takes_out_of_service_alone_refutes_nothing(tmp_path: Path) -> None:
    result = verdict("reachability", tree(LEFT, tmp_path))
    assert result.is_proven, result.counterexamples


def test_a_flow_that_no_path_carries_refutes_isolation(tmp_path: Path) -> None:
    found = [str(example) for example in verdict("isolation", tree(UPLINKS, tmp_path)).counterexamples]
    assert any(
        "flow nfs is permitted and cannot be carried: no path leads from gpu-p00r00n0 to st-s00n0" in e for e in found
    )


def test_a_flow_to_where_no_border_leads_is_said(tmp_path: Path) -> None:
    notes = verdict("isolation", tree("", tmp_path)).notes
    assert any("no border leads to operations" in note and "operate, monitor" in note for note in notes)


def test_devices_side_by_side_on_top_are_said(tmp_path: Path) -> None:
    """The management ports of two spines, at two uppermost management switches: what is below both reaches each."""
    overlay = """fabrics:
  - name: management
    tiers:
      - {role: mgmt, per: rack, up: {links: 2, speed_gbps: 10}, asn: {base: 4200000300, per: switch}}
      - {role: magg, model: dcs-7050sx3-48yc8, per: cluster, count: 2, asn: {base: 4200000400, per: tier}}
    addressing: {hosts: "10.99.0.0/20", loopbacks: "10.99.255.0/24", links: "10.99.254.0/24"}
"""
    result = verdict("reachability", tree(overlay, tmp_path))
    assert result.is_proven, result.counterexamples
    assert any("both are at uppermost switches" in note for note in result.notes)
