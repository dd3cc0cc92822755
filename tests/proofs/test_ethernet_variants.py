"""Specs that no reference spec is like: IPv4 throughout, EOS or SONiC on the racks. The proofs hold there too."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest
from tests.plans import plan_with
from tests.proofs.ethernet_trees import EOS, tree, verdict

from clusterwright.artifact import Artifact
from clusterwright.output.rendering import Rendering
from clusterwright.proofs.check import Verdict
from clusterwright.proofs.ethernet.network import KINDS
from clusterwright.proofs.registry import CHECKS
from clusterwright.proofs.tree import tree_of

CHECKED = ("ethernet-links", "bgp-sessions", "reachability", "valley-free", "qos", "ecmp-hash")
IPV4 = """
  - name: backend
    tiers: [{{role: rtsw, model: {backend}, down: {{blocks: [{down}]}}, up: {{blocks: [{up}]}}}}]
    addressing: {{loopbacks: "10.10.255.0/24", links: "10.10.248.0/22", hosts: "10.10.0.0/20", hosts_per_switch: 26}}
  - name: frontend
    tiers: [{{role: rsw, model: {frontend}, up: {{blocks: [{front_up}]}}}}]
    addressing: {{loopbacks: "10.20.255.0/24", links: "10.20.252.0/24", hosts: "10.20.0.0/20", hosts_per_switch: 26}}
"""
EOS_RACKS = IPV4.format(backend="dcs-7804r3", down="card3", up="card4", frontend="dcs-7804r3", front_up="card4")
SONIC_RACKS = IPV4.format(
    backend="dcs-7060x6-64pe-sonic", down="cages", up="cages", frontend="wedge400-grand-teton", front_up="uplink"
)


@cache
def artifacts_with(overlay: str, folder: Path) -> tuple[Artifact, ...]:
    return tuple(Rendering(plan_with(folder, "lab-roce", f"fabrics:{overlay}")).of_kinds(KINDS))


def verdicts(artifacts: tuple[Artifact, ...]) -> dict[str, Verdict]:
    tree = tree_of("lab-roce", artifacts)
    return {check.name: check.run(tree) for check in CHECKS if check.name in CHECKED}


@pytest.mark.parametrize("overlay", [EOS_RACKS, SONIC_RACKS], ids=["eos", "sonic"])
def test_a_cluster_of_ipv4_is_proven(overlay: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    found = verdicts(artifacts_with(overlay, tmp_path_factory.getbasetemp()))
    assert set(found) == set(CHECKED)
    assert {name: verdict.counterexamples for name, verdict in found.items() if not verdict.is_settled} == {}


def test_the_interface_of_a_vlan_limits_the_packets_of_its_hosts(tmp_path_factory: pytest.TempPathFactory) -> None:
    artifacts = artifacts_with(EOS_RACKS, tmp_path_factory.getbasetemp())
    short = tuple(
        Artifact(
            artifact.device,
            artifact.path,
            re.sub(rb"(?s)(interface Vlan.*?mtu) 9000", rb"\1 1500", artifact.content),
            artifact.kind,
        )
        if (artifact.device, artifact.path) == ("rsw-p00r00", EOS)
        else artifact
        for artifact in artifacts
    )
    counterexamples = verdicts(short)["ethernet-links"].counterexamples
    assert {example.device for example in counterexamples} == {"rsw-p00r00"}
    lines = next(a.content for a in short if (a.device, a.path) == ("rsw-p00r00", EOS)).decode().split("\n")
    assert {lines[example.line - 1].strip() for example in counterexamples if example.line} == {"mtu 1500"}
    assert "1500 bytes, the other hops 9000" in counterexamples[0].message


TOP_PLANES = "\n  - name: backend\n    tiers: [{role: atsw, join: position}]\n"
TWO_PLANES = """
  - name: backend
    tiers:
      - {role: rtsw, count: 2, up: {links: 8}}
      - {role: ctsw, remove: true}
      - {role: atsw, join: position}
"""
FRONTEND_PLANES = """
  - name: frontend
    tiers:
      - {role: rsw, count: 2}
      - {role: ssw, join: position}
nodes:
  - {name: storage, model: flashblade}
"""


@pytest.mark.parametrize(
    "overlay",
    [TOP_PLANES, TWO_PLANES, FRONTEND_PLANES],
    ids=["planes of the top tier", "planes from rack to top", "planes of the frontend"],
)
def test_two_planes_are_proven(overlay: str, tmp_path: Path) -> None:
    found = verdicts(artifacts_with(overlay, tmp_path))
    assert {name: verdict.counterexamples for name, verdict in found.items() if not verdict.is_settled} == {}


def test_a_node_in_one_plane_only_does_not_meet_the_other(tmp_path: Path) -> None:
    lost = ("gpu-p00r00n0", "etc/systemd/network/20-fe1.network")
    artifacts = artifacts_with(FRONTEND_PLANES, tmp_path)
    left = tuple(artifact for artifact in artifacts if (artifact.device, artifact.path) != lost)
    assert len(left) == len(artifacts) - 1
    counterexamples = verdicts(left)["reachability"].counterexamples
    assert [example for example in counterexamples if "no cable joins them" in example.message]


def test_the_gateway_of_hosts_without_files_here_takes_packets_of_the_spec_s_length() -> None:
    def shorten(text: str) -> str:
        return re.sub(r"(?s)(interface Vlan.*?mtu) 1500", r"\1 900", text)

    assert verdict("ethernet-links", tree("lab-roce")).is_proven
    counterexamples = verdict("ethernet-links", tree("lab-roce", {("mgmt-00", EOS): shorten})).counterexamples
    assert {example.device for example in counterexamples} == {"mgmt-00"}
    assert "takes packets of 900 bytes, the other hops 1500" in counterexamples[0].message


def test_a_route_without_its_gateway_is_told_though_another_table_leads_there() -> None:
    place = ("gpu-p00r00n0", "etc/systemd/network/20-fe0.network")

    def forget(text: str) -> str:
        return re.sub(r"(?m)^(Destination=fd00:1ab:f::/56\n)Gateway=.*\n(?=Table=)", r"\1", text)

    (example,) = verdict("reachability", tree("lab-roce", {place: forget})).counterexamples
    assert (example.device, example.file) == place
    assert example.line > 0
    assert "no gateway to fd00:1ab:f::/56" in example.message
