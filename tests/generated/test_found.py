"""What the campaign found, each as small as it gets: before it was mended, lint was clean and a proof refuted."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.plans import plan_with

from clusterwright.data_files import folder
from clusterwright.intent.switch_links import links_of
from clusterwright.intent.switch_sessions import sessions_of
from clusterwright.output.rendering import Rendering
from clusterwright.plan.build import build_plan
from clusterwright.plan.meeting import AttachedEnd, wiring_of_ends
from clusterwright.plan.model import Plan
from clusterwright.proofs.check import Verdict
from clusterwright.proofs.declaration import Declaration
from clusterwright.proofs.registry import CHECKS
from clusterwright.proofs.tree import tree_of
from clusterwright.rules.engine import lint_path
from clusterwright.spec.hardware.platforms import platforms
from clusterwright.spec.load import load_spec

RACKS_OF_100G = """fabrics:
  - name: frontend
    tiers:
      - {role: rsw, up: {speed_gbps: 100}}
      - {role: ssw, down: {mode: 1x100}}
"""
MORE_HOSTS_ABOVE = """fabrics:
  - name: management
    accepts_single_failures: "A lab, with one way up in places."
    tiers:
      - {role: mgmt, remove: true}
      - role: mrack
        model: dcs-7010tx-48
        per: pod
        up: {links: 2, speed_gbps: 25}
        asn: {base: 4200000400, per: switch}
      - {role: mspine, model: dcs-7050sx3-48yc8, per: cluster, asn: {base: 4200000310, per: tier}}
    addressing: {hosts: 10.99.0.0/22, hosts_per_switch: 26}
"""
TWO_KINDS_OF_NODES = """nodes:
  - name: special
    model: grand-teton-h100
    role: node
    count: 6
    prefix: sp
    zone: compute
    image: training
    levels: [{name: rack, of: 2, code: x}, {name: pod, of: 3, code: y}]
zones:
  - {name: compute, nodes: [compute, special]}
fabrics:
  - {name: backend, attach: [{nodes: compute, nics: backend}, {nodes: special, nics: backend}]}
  - name: frontend
    attach:
      - {nodes: compute, nics: frontend}
      - {nodes: special, nics: frontend}
      - {nodes: storage, nics: frontend}
      - {nodes: services, nics: frontend}
expect:
  - {figure: gpus, value: 112, assumed: "Both kinds of nodes."}
  - {figure: switches.rtsw, value: 7, assumed: "One for each rack."}
  - {figure: oversubscription.backend.ctsw, value: 9.333, tolerance: 0.001, assumed: "Narrow above the pod."}
  - {figure: narrowest.backend.ctsw, value: 12, assumed: "The special nodes have three racks a pod, the others two."}
"""
WITHOUT_RAILS = """fabrics:
  - name: backend
    tiers:
      - {role: leaf, join: all, count: 2, up: {links: 16}}
expect:
  - {figure: switches.leaf, value: 4, assumed: "Two for each unit."}
  - {figure: oversubscription.backend.leaf, value: 2, assumed: "Narrow above the unit."}
"""
ONE_LEAF_FOR_ALL_RAILS = """nodes:
  - {name: compute, levels: [{name: su, of: 1}]}
fabrics:
  - name: backend
    tiers:
      - {role: leaf, join: all, up: {links: 16}}
expect:
  - {figure: switches.leaf, value: 4, assumed: "One for each unit."}
  - {figure: oversubscription.backend.leaf, value: 2, assumed: "Narrow above the unit."}
"""

TWO_PLANES = """fabrics:
  - name: backend
    accepts_single_failures: "A lab, with one way up in places."
    tiers:
      - {role: rtsw, count: 2}
      - {role: ctsw, remove: true}
      - {role: atsw, count: 1, join: position}
expect:
  - {figure: switches.rtsw, value: 8, assumed: "Two for each rack."}
  - {figure: oversubscription.backend.rtsw, value: 0.5, tolerance: 0.01, assumed: "Sixteen uplinks for eight NICs."}
  - {figure: oversubscription.backend.ctsw, remove: true}
"""
UPLINK_OF_A_PLANE = """exceptions:
  - {device: rtsw-p00r00-00, port: eth8/1/1, state: drained, reason: "dirty optics"}
"""
DISJOINT_UPLINKS = """fabrics:
  - name: backend
    accepts_single_failures: "A lab, with one way up in places."
    tiers:
      - {role: rtsw, remove: true}
      - {role: ctsw, remove: true}
      - {role: atsw, remove: true}
      - role: leaf
        model: dcs-7804r3
        per: cluster
        count: 5
        up: {links: 2, speed_gbps: 400}
        asn: {base: 4200100000, per: switch}
      - {role: spine, model: dcs-7804r3, per: cluster, count: 5, asn: {base: 4200000100, per: tier}}
expect:
  - {figure: switches.rtsw, remove: true}
  - {figure: oversubscription.backend.rtsw, remove: true}
  - {figure: oversubscription.backend.ctsw, remove: true}
  - {figure: oversubscription.backend.leaf, value: 6.4, assumed: "Narrow above the leaves."}
  - {figure: narrowest.backend.leaf, value: 6.5, assumed: "128 NICs on five leaves."}
"""
MARKING_AND_A_LOST_RACK_SWITCH = """fabrics:
  - name: backend
    classes:
      - {name: rdma, ecn: mark, marking: {min_kbytes: 150, max_kbytes: 1500, percent: 10}}
exceptions:
  - {device: rtsw-p00r00, state: out-of-service, reason: "line card swap"}
"""
PLANE_STATES = """exceptions:
  - {device: atsw-00, state: STATE, reason: "line card swap"}
"""

NO_FLOW_BETWEEN = """version: 1
name: quiet
site: {domain: example.net}
nodes:
  - {name: compute, model: dgx-h100, role: node, count: 2, zone: compute, levels: [{name: rack, of: 2}]}
  - name: storage
    model: hammerspace-dsx
    role: storage
    count: 1
    zone: storage
    image: server
    levels: [{name: rack, of: 1, code: s}]
fabrics:
  - name: frontend
    technology: ethernet
    mtu: 9000
    attach: [{nodes: compute, nics: frontend}, {nodes: storage, nics: frontend}]
    tiers:
      - role: rsw
        model: dcs-7804r3
        per: rack
        up: {links: 2, speed_gbps: 400}
        asn: {base: 4200000000, per: switch}
      - {role: ssw, model: dcs-7804r3, per: cluster, count: 2, asn: {base: 4200001000, per: tier}}
    addressing:
      loopbacks: 10.1.255.0/25
      links: 10.1.255.128/25
      hosts: 10.1.0.0/20
      hosts_per_switch: 24
      host_links: shared
zones:
  - {name: compute, nodes: [compute]}
  - {name: storage, nodes: [storage]}
  - {name: site, kind: services, prefixes: [10.200.0.0/24]}
flows:
  - {name: ssh, from: site, to: storage, protocol: tcp, ports: [22], reason: "configuration over SSH", owner: systems}
images:
  - {name: server, distribution: "Debian 13", kernel: {package: linux-image-amd64}, limits: {memlock: unlimited}}
"""


PAST_A_TIER = """    tiers:
      - {role: rsw, model: dcs-7804r3, per: rack, up: {links: 2, speed_gbps: 400}, asn: {base: 4200000000, per: switch}}
      - role: fsw
        model: dcs-7804r3
        per: rack
        count: 2
        up: {links: 2, speed_gbps: 400}
        asn: {base: 4200001000, per: group}
      - role: psw
        model: dcs-7804r3
        per: pod
        count: 2
        up: {links: 4, speed_gbps: 400}
        asn: {base: 4200002000, per: group}
      - {role: bsw, model: wedge400, per: cluster, count: 2, asn: {base: 4200003000, per: tier}}
"""


UNDER_THE_TIER_ABOVE = """    tiers:
      - {role: rsw, model: dcs-7804r3, per: pod, up: {links: 2, speed_gbps: 400}, asn: {base: 4200000000, per: switch}}
      - role: ssw
        model: wedge400
        per: cluster
        count: 2
        down: {medium: dac, length_m: 9}
        asn: {base: 4200003000, per: tier}
"""


def of_pods(tiers: str) -> str:
    """The spec whose compute nodes stand in a pod and whose storage does not, with these tiers."""
    head, _, rest = NO_FLOW_BETWEEN.partition("    tiers:\n")
    _, _, tail = rest.partition("    addressing:\n")
    text = f"{head}{tiers}    addressing:\n{tail}"
    return text.replace("{name: rack, of: 2}]", "{name: rack, of: 1}, {name: pod, of: 2}]")


def planned(tmp_path: Path, base: str, text: str) -> Plan:
    plan = plan_with(tmp_path, base, text)
    errors = lint_path(tmp_path / "overlay.yaml").errors
    assert not errors, errors[0].message
    return plan


def verdict(plan: Plan, name: str) -> Verdict | None:
    check = next(check for check in CHECKS if check.name == name)
    tree = tree_of(plan.name, Rendering(plan).of_kinds(check.kinds), Declaration(plan))
    return check.run(tree) if check.applies(tree) else None


def test_a_mode_named_for_a_side_decides_how_many_lanes_its_ports_have(tmp_path: Path) -> None:
    plan = planned(tmp_path, "lab-roce", RACKS_OF_100G)
    text = next(
        file.content.decode() for file in Rendering(plan).of_device("ssw-00") if file.path.endswith("startup-config")
    )
    assert "speed 100g-4" in text
    result = verdict(plan, "ethernet-links")
    assert result is not None
    assert result.is_proven, result.counterexamples[:1]


def test_a_port_that_shares_its_cage_takes_its_own_lanes_on_fboss() -> None:
    port = platforms()["fboss", "PLATFORM_WEDGE400"].port("eth1/17/1", None)
    assert [port.profile("eth1/17/1", 100, "dac", lanes) for lanes in (4, 2)] == [22, 46]


@pytest.mark.parametrize("name", ["reachability", "valley-free", "ethernet-bisection"])
def test_the_spec_says_which_tier_is_lowest_and_not_where_most_hosts_are(tmp_path: Path, name: str) -> None:
    result = verdict(planned(tmp_path, "lab-roce", MORE_HOSTS_ABOVE), name)
    assert result is not None
    assert not result.is_refuted, result.counterexamples[:1]


def test_nodes_without_the_nccl_profile_are_not_asked_for_it(tmp_path: Path) -> None:
    result = verdict(planned(tmp_path, "lab-roce", TWO_KINDS_OF_NODES), "qos")
    assert result is not None
    assert not result.is_refuted, result.counterexamples[:1]


@pytest.mark.parametrize("overlay", [WITHOUT_RAILS, ONE_LEAF_FOR_ALL_RAILS])
@pytest.mark.parametrize("has_spec", [True, False])
def test_a_fabric_that_is_not_joined_by_rail_has_no_rails_to_keep_pure(
    tmp_path: Path, overlay: str, *, has_spec: bool
) -> None:
    plan = planned(tmp_path, "lab-ib", overlay)
    check = next(check for check in CHECKS if check.name == "ib-rail-purity")
    tree = tree_of(plan.name, Rendering(plan).of_kinds(check.kinds), Declaration(plan) if has_spec else None)
    result = check.run(tree)
    assert check.applies(tree)
    assert result.word == "nothing to prove: no adapters of several rails on leaves for one each"
    assert not result.facts


def test_the_usual_subnet_prefix_can_be_written(tmp_path: Path) -> None:
    text = "fabrics:\n  - name: backend\n    subnet_manager: {subnet_prefix: 0xfe80000000000000}\n"
    fabric = planned(tmp_path, "lab-ib", text).spec.fabric("backend")
    assert fabric is not None
    assert fabric.subnet_manager is not None
    assert fabric.subnet_manager.subnet_prefix == 0xFE80000000000000


def test_nodes_without_a_flow_have_a_route_to_their_fabric_all_the_same(tmp_path: Path) -> None:
    (tmp_path / "quiet.yaml").write_text(NO_FLOW_BETWEEN)
    assert not lint_path(tmp_path / "quiet.yaml").errors
    result = verdict(build_plan(load_spec(tmp_path / "quiet.yaml")), "reachability")
    assert result is not None
    assert not result.is_refuted, result.counterexamples[:1]


@pytest.mark.parametrize("state", ["drained", "out-of-service"])
def test_a_plane_without_its_upper_switch_is_no_way_for_its_nics(tmp_path: Path, state: str) -> None:
    plan = plan_with(tmp_path, "lab-roce", TWO_PLANES + PLANE_STATES.replace("STATE", state))
    (error,) = lint_path(tmp_path / "overlay.yaml").errors
    assert error.code == "CW240"
    assert "gpu-p00r00n0 be0 (at rtsw-p00r00-00) to gpu-p00r01n0 be0 (at rtsw-p00r01-00)" in error.message
    result = verdict(plan, "reachability")
    assert result is not None
    assert "gpu-p00r00n0 be0 (at rtsw-p00r00-00) does not reach" in result.counterexamples[0].message


def test_two_switches_of_a_group_that_meet_nowhere_above_are_refused(tmp_path: Path) -> None:
    plan_with(tmp_path, "lab-roce", DISJOINT_UPLINKS)
    (error,) = lint_path(tmp_path / "overlay.yaml").errors
    assert error.code == "CW214"
    assert "2 uplinks of each leaf reach 2 of 5 spine switches" in error.message


def test_a_promise_is_for_all_planes_of_a_fabric_together(tmp_path: Path) -> None:
    result = verdict(planned(tmp_path, "lab-roce", TWO_PLANES + UPLINK_OF_A_PLANE), "ethernet-bisection")
    assert result is not None
    assert result.is_proven, result.counterexamples[:1]


@pytest.mark.parametrize(
    "exception",
    [
        "device: ctsw-p00-00, state: drained",
        "device: ctsw-p00-00, state: out-of-service",
        "device: rtsw-p00r00, state: drained",
        "device: atsw-01, state: drained",
        "device: rtsw-p00r00, port: eth8/1/1, state: drained",
        "device: rtsw-p00r00, port: eth8/1/1, state: out-of-service",
        "device: gpu-p00r00n0, state: drained",
        "group: p00r00, state: out-of-service",
        "group: p00, state: drained",
    ],
)
def test_what_exceptions_leave_of_a_promise_is_the_same_to_lint_and_to_the_proof(
    tmp_path: Path, exception: str
) -> None:
    text = f'exceptions:\n  - {{{exception}, reason: "line card swap"}}\n'
    plan = plan_with(tmp_path, "lab-roce", text)
    messages = [found.message for found in lint_path(tmp_path / "overlay.yaml").findings if found.code == "CW245"]
    found = verdict(plan, "ethernet-bisection")
    assert found is not None
    assert len(found.counterexamples) == len(messages), (messages, found.counterexamples)


@pytest.mark.parametrize("has_spec", [True, False])
def test_roles_with_a_dash_are_tiers_of_their_own(tmp_path: Path, *, has_spec: bool) -> None:
    text = (folder("inventory") / "lab-roce.yaml").read_text()
    (tmp_path / "dash.yaml").write_text(text.replace("rtsw", "gpu-rtsw").replace("ctsw", "gpu-ctsw"))
    plan = build_plan(load_spec(tmp_path / "dash.yaml"))
    check = next(check for check in CHECKS if check.name == "ethernet-bisection")
    tree = tree_of(plan.name, Rendering(plan).of_kinds(check.kinds), Declaration(plan) if has_spec else None)
    result = check.run(tree)
    assert not result.is_refuted, result.counterexamples[:1]
    assert "gpu-rtsw-gpu-ctsw-atsw: gpu-rtsw oversubscription" in {fact.name for fact in result.facts}


def test_nics_at_a_switch_out_of_service_are_not_held_to_what_it_marks(tmp_path: Path) -> None:
    result = verdict(planned(tmp_path, "lab-roce", MARKING_AND_A_LOST_RACK_SWITCH), "qos")
    assert result is not None
    assert not result.is_refuted, result.counterexamples[:1]


def test_bfd_watches_what_no_group_shares_with_a_system_without_it(tmp_path: Path) -> None:
    """Storage's racks have no pod: their upper switches lead past the pods' tier, to systems that have no BFD."""
    file = tmp_path / "cluster.yaml"
    file.write_text(of_pods(PAST_A_TIER))
    assert not (errors := lint_path(file).errors), errors[0].message
    plan = build_plan(load_spec(file))
    result = verdict(plan, "bgp-sessions")
    assert result is not None
    assert result.is_proven, result.counterexamples[:1]
    watched = {
        (session.neighbour.split("-")[0], session.bfd)
        for device in plan.devices
        if device.role == "fsw"
        for session in sessions_of(plan, device, links_of(plan, device))
    }
    assert watched == {("rsw", True), ("psw", True), ("bsw", False)}


def test_hosts_under_a_higher_tier_are_judged_by_the_switches_that_they_are_cabled_to(tmp_path: Path) -> None:
    """Storage's rack has no pod: its cables and its filter are the upper tier's, which has copper and no ranges."""
    file = tmp_path / "cluster.yaml"
    flow = """  - {name: rpc, from: storage, to: compute, protocol: tcp, ports: ["20000-20999"], reason: rpc, owner: us}
images:
"""
    file.write_text(of_pods(UNDER_THE_TIER_ABOVE).replace("images:\n", flow))
    told = {finding.code: finding.message for finding in lint_path(file).errors}
    assert told["CW513"] == "Flow rpc: ssw of frontend passes every port, and compute has no filter of its own."
    assert told["CW702"].startswith("Direct-attach copper of 9 m for the NICs below ssw")


def test_an_exception_that_leaves_two_pieces_is_told_though_nodes_have_a_port_in_both(tmp_path: Path) -> None:
    """With the pod gone nothing joins the two switches above, which storage is cabled to."""
    file = tmp_path / "cluster.yaml"
    gone = "exceptions:\n  - {group: p00, state: out-of-service, reason: move}\n"
    file.write_text(of_pods(UNDER_THE_TIER_ABOVE.replace("length_m: 9", "length_m: 2")) + gone)
    (error,) = lint_path(file).errors
    assert error.code == "CW240"
    result = verdict(build_plan(load_spec(file)), "reachability")
    assert result is not None
    assert result.is_refuted


def test_devices_on_top_are_beside_each_other_though_none_is_attached_below() -> None:
    above = {"leaf": frozenset({"spine-0", "spine-1"})}
    ends = tuple(AttachedEnd(f"switch-{at}", "eth0", f"spine-{at}") for at in (0, 1))
    assert wiring_of_ends(above, ends).parted is None
    assert wiring_of_ends(above, ends).beside == ends
    assert wiring_of_ends({}, ends).parted == ends
