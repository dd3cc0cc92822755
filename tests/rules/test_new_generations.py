"""Designs of new generations: what is refused says how to write it, and what it says passes."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from tests.plans import plan_with
from tests.rules.overlays import findings_of

from clusterwright.lists.records import Inventory
from clusterwright.output.rendering import Rendering
from clusterwright.plan.build import build_plan
from clusterwright.proofs.declaration import Declaration
from clusterwright.proofs.registry import CHECKS
from clusterwright.proofs.tree import tree_of
from clusterwright.spec.load import load_spec

SWITCH = """version: 1
kind: hardware
models:
  - name: new-switch
    kind: switch
    manufacturer: Example
    part: X1
    technology: [{technologies}]
    network_os: {system}
    units: {{value: 2, assumed: "a model of a test"}}
    power_w: {{value: 2000, assumed: "a model of a test"}}
    weight_kg: {{value: 25, assumed: "a model of a test"}}
    management: {{name: eth0, speed_gbps: 1, assumed: "a model of a test"}}
    ports:
      - block: all
        cages: "{cages}"
        connector: {connector}
        assumed: "a model of a test"
        modes:
{modes}
"""
FAST_MODES = """          - {name: 1x1600, speed_gbps: 1600, subports: ["/1"]}
          - {name: 2x400, speed_gbps: 400, subports: ["/1", "/5"]}"""
USUAL_MODES = """          - {name: 1x800, speed_gbps: 800, subports: ["/1"]}
          - {name: 2x400, speed_gbps: 400, subports: ["/1", "/5"]}"""
QUANTUM_MODES = """          - {name: 1x400, speed_gbps: 400, subports: [""]}"""
ROCE = """version: 1
name: new-roce
hardware: [switch.yaml]
site: {{domain: a.example.net}}
nodes:
  - name: compute
    model: dgx-h100
    role: node
    count: 16
    levels: [{{name: rack, of: 4, within: pod}}, {{name: pod, of: 2}}]
fabrics:
  - name: backend
    technology: roce
    mtu: 9000
    attach: [{{nodes: compute, nics: backend}}]
    {balancing}
    classes:
      - {{name: rdma, dscp: [26], queue: 3, priority: 3, weight: 80}}
      - {{name: other, dscp: ["0-25", "27-63"], queue: 0, weight: 20}}
    tiers:
      - role: leaf
        model: new-switch
        per: pod
        join: rail
        up: {{links: {links}, speed_gbps: {speed}}}
        asn: {{base: 4200100000, per: switch}}
      - {{role: spine, model: new-switch, per: cluster, count: 2, asn: {{base: 4200000100, per: tier}}}}
    addressing:
      loopbacks: "10.255.0.0/20"
      links: "10.192.0.0/13"
      hosts: "10.0.0.0/10"
      hosts_per_switch: 24
      host_links: point-to-point
"""


def switch(folder: Path, system: str, modes: str, *, asic: str = "", connector: str = "osfp") -> None:
    """A hardware file with one model of a switch."""
    text = SWITCH.format(
        technologies="ethernet, roce", system=system, cages="Ethernet[1-64]", connector=connector, modes=modes
    )
    if asic:
        text = text.replace(f"network_os: {system}", f"network_os: {system}\n    asic: {asic}")
    (folder / "switch.yaml").write_text(text)


def errors(folder: Path, text: str) -> dict[str, str]:
    """Code and hint of each error."""
    return {
        finding.code: finding.hint or "" for finding in findings_of(folder, text) if finding.severity.name == "ERROR"
    }


def test_ports_of_1600_gigabits_are_planned_where_a_system_takes_them(tmp_path: Path) -> None:
    text = ROCE.format(balancing="", links=2, speed=1600)
    switch(tmp_path, "external", FAST_MODES)
    assert errors(tmp_path, text) == {}
    plan = build_plan(load_spec(tmp_path / "spec.yaml"))
    assert Counter(cable.speed_gbps for cable in plan.cables) == {400: 128, 1600: 32}


def test_a_speed_without_a_published_word_is_refused_on_its_line(tmp_path: Path) -> None:
    switch(tmp_path, "eos", FAST_MODES, asic="tomahawk5")
    findings = findings_of(tmp_path, ROCE.format(balancing="", links=2, speed=1600))
    words = [finding for finding in findings if finding.code == "CW334"]
    assert [word.message for word in words] == [
        f"{role} has ports at 1600G, for which no published keyword of EOS is known (Arista, EOS user manual,"
        " Ethernet ports: speed 10g to 800g-8)."
        for role in ("leaf", "spine")
    ]
    assert "network_os: external" in (words[0].hint or "")


def test_cumulus_has_no_word_for_a_speed_that_its_newest_switch_splits(tmp_path: Path) -> None:
    switch(tmp_path, "nvue", FAST_MODES, asic="spectrum-4")
    findings = findings_of(tmp_path, ROCE.format(balancing="", links=2, speed=1600))
    messages = [finding.message for finding in findings if finding.code == "CW334"]
    assert len(messages) == 2
    assert all("SN6600_LD, whose cages carry 1.6T, 800G Spectrum-6" in message for message in messages)


def test_a_model_without_a_chip_is_told_where_to_name_it(tmp_path: Path) -> None:
    text = ROCE.format(balancing="", links=8, speed=400)
    switch(tmp_path, "eos", USUAL_MODES)
    found = errors(tmp_path, text)
    assert sorted(found) == ["CW431", "CW443"]
    assert all("Name the chip of new-switch by `asic`" in hint for hint in found.values())
    switch(tmp_path, "eos", USUAL_MODES, asic="tomahawk5")
    assert errors(tmp_path, text) == {}


@pytest.mark.parametrize(
    ("system", "asic", "reason"),
    [
        ("eos", "tomahawk5", "no public page its commands"),
        ("nvue", "spectrum-4", "no word for flowlets"),
    ],
)
def test_flowlets_are_refused_with_the_reason(tmp_path: Path, system: str, asic: str, reason: str) -> None:
    text = ROCE.format(balancing="balancing: {kind: flowlet}", links=8, speed=400)
    switch(tmp_path, system, USUAL_MODES, asic=asic)
    refused = [finding for finding in findings_of(tmp_path, text) if finding.code == "CW276"]
    assert len(refused) == 1
    assert reason in refused[0].message


def test_flowlets_are_taken_on_switches_of_another_system(tmp_path: Path) -> None:
    switch(tmp_path, "external", USUAL_MODES)
    assert errors(tmp_path, ROCE.format(balancing="balancing: {kind: flowlet}", links=8, speed=400)) == {}


def test_co_packaged_optics_are_on_no_list(tmp_path: Path) -> None:
    def optics(connector: str) -> int:
        text = SWITCH.format(
            technologies="infiniband", system="unmanaged", cages="[1-64]", connector=connector, modes=QUANTUM_MODES
        )
        (tmp_path / "switch.yaml").write_text(text)
        overlay = """hardware: [switch.yaml]
fabrics:
  - name: backend
    tiers:
      - {role: leaf, model: new-switch, up: {medium: smf}}
      - {role: spine, model: new-switch}
"""
        findings_of(tmp_path, overlay, base="lab-ib")
        materials = Inventory(build_plan(load_spec(tmp_path / "spec.yaml"))).materials()
        return sum(
            material.quantity for material in materials if material.item == "optic" and material.connector == connector
        )

    assert optics("mpo") == 0
    assert optics("osfp") > 0


def test_ports_of_a_node_that_share_a_cage_have_one_optic(tmp_path: Path) -> None:
    switch(tmp_path, "external", USUAL_MODES)
    findings_of(tmp_path, ROCE.format(balancing="", links=8, speed=400))
    plan = build_plan(load_spec(tmp_path / "spec.yaml"))
    optics = [
        material for material in Inventory(plan).materials() if material.item == "optic" and material.connector is None
    ]
    # A DGX H100 has four cages for its eight adapters.
    assert [each.quantity for each in optics if each.speed_gbps == 400] == [16 * 4]


def test_a_mean_that_hides_a_full_switch_is_written_as_a_bound(tmp_path: Path) -> None:
    text = "expect:\n  - {figure: oversubscription.backend.leaf, value: 1.5, source: 'a table'}\n"
    (findings,) = [finding for finding in findings_of(tmp_path, text, base="lab-ib") if finding.code == "CW203"]
    assert "write `at_most: 1.5`" in (findings.hint or "")
    text = text.replace("value", "at_most")
    assert "CW203" not in {finding.code for finding in findings_of(tmp_path, text, base="lab-ib")}


def test_a_bond_over_two_planes_says_how_to_join_them(tmp_path: Path) -> None:
    text = """fabrics:
  - name: frontend
    attach:
      - {nodes: compute, nics: frontend, bond: {interface: bond0}}
"""
    (findings,) = [finding for finding in findings_of(tmp_path, text, base="lab-ib") if finding.code == "CW225"]
    assert (findings.hint or "").startswith("Give the tier `join: all`")


def test_groups_without_a_tier_above_are_refused_as_no_dragonfly(tmp_path: Path) -> None:
    spec = ROCE.format(balancing="", links=8, speed=400).replace("per: cluster, count: 2", "per: pod, count: 2")
    switch(tmp_path, "external", USUAL_MODES)
    (refused,) = [finding for finding in findings_of(tmp_path, spec) if finding.code == "CW214"]
    assert "dragonfly" in (refused.hint or "")


def test_planes_inside_switches_are_noted_under_what_follows_paths(tmp_path: Path) -> None:
    plan = plan_with(tmp_path, "lab-ib", "fabrics:\n  - {name: backend, tiers: [{role: leaf, model: q3400}]}\n")
    noted = []
    for check in CHECKS:
        if check.name.startswith("ib-"):
            verdict = check.run(tree_of(plan.name, Rendering(plan).of_kinds(check.kinds), Declaration(plan)))
            if any("checked as one plane" in note for note in verdict.notes):
                noted.append(check.name)
    assert noted == ["ib-up-down", "ib-path-balance", "ib-bisection", "ib-failures"]
