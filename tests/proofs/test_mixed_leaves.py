"""Leaves of two models below one spine are proven from text, and each planted fault is refuted."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

import pytest
from tests.plan.mixed_leaves import MODELS, mixed_plan
from tests.plans import plan_with
from tests.proofs.trees import FABRIC

from clusterwright.artifact import Artifact
from clusterwright.output.rendering import Rendering
from clusterwright.proofs.check import Verdict
from clusterwright.proofs.declaration import Declaration
from clusterwright.proofs.ethernet.network import KINDS
from clusterwright.proofs.infiniband.subnet import KINDS as IB_KINDS
from clusterwright.proofs.registry import CHECKS
from clusterwright.proofs.tree import tree_of

CHECKED = (
    "ethernet-links",
    "bgp-sessions",
    "reachability",
    "valley-free",
    "ethernet-bisection",
    "ethernet-failures",
    "qos",
    "ecmp-hash",
)
FILES = {"eos": "mnt/flash/startup-config", "nvue": "etc/clusterwright/nvue.yaml"}
OTHER_LEAF = "bleaf-u00"
# What happens, the claim that is refuted, and by system a pattern and what takes its place.
FAULTS = {
    "a cable moved to the other leaf's port": (
        "bgp-sessions",
        {
            "eos": (r"(?<=description to spine-00 )Ethernet5/1", "Ethernet1/1"),
            "nvue": (r'(?<=description: "to spine-00 )swp5(?=")', "swp1"),
        },
    ),
    "a cable moved to another spine": (
        "bgp-sessions",
        {
            "eos": (r"(?<=description to )spine-00 Ethernet5/1", "spine-01 Ethernet5/1"),
            "nvue": (r'(?<=description: "to )spine-00 swp5(?=")', "spine-01 swp5"),
        },
    ),
    "a session left out": (
        "bgp-sessions",
        {
            "eos": (r"^   neighbor 10\.254\.0\.67 .*\n", ""),
            "nvue": (r'^( +)"?10\.254\.0\.67"?:\n(?:\1 +.*\n)+', ""),
        },
    ),
    "an AS number of the other leaf": (
        "bgp-sessions",
        {
            "eos": (r"(?<=^router bgp )4200110000", "4200100000"),
            "nvue": (r"(?<=autonomous-system: )4200110000", "4200100000"),
        },
    ),
    "uplinks at the other leaf's speed": (
        "ethernet-links",
        {"eos": (r"(?<=   speed )800g-8", "400g-8"), "nvue": (r'(?<=speed: ")800G', "400G")},
    ),
}


@cache
def artifacts(system: str) -> tuple[Artifact, ...]:
    return tuple(Rendering(mixed_plan(system)).of_kinds(KINDS))


def verdicts(system: str, made: tuple[Artifact, ...]) -> Mapping[str, Verdict]:
    tree = tree_of("two-leaves", made, Declaration(mixed_plan(system)))
    return {check.name: check.run(tree) for check in CHECKS if check.name in CHECKED}


def edited(system: str, edit: Callable[[str], str]) -> tuple[Artifact, ...]:
    """The lab's files with that of one leaf edited."""
    made = []
    for artifact in artifacts(system):
        content = artifact.content
        if (artifact.device, artifact.path) == (OTHER_LEAF, FILES[system]):
            content = edit(content.decode()).encode()
            assert content != artifact.content
        made.append(Artifact(artifact.device, artifact.path, content, artifact.kind))
    return tuple(made)


@pytest.mark.parametrize("system", MODELS)
def test_two_leaves_are_proven(system: str) -> None:
    verdict_by_check = verdicts(system, artifacts(system))
    assert set(verdict_by_check) == set(CHECKED)
    refuted = [name for name, verdict in verdict_by_check.items() if verdict.counterexamples]
    assert refuted == []
    facts = {fact.name: fact.value for fact in verdict_by_check["ethernet-bisection"].facts}
    assert facts["bleaf-leaf-spine: leaf oversubscription"] == "1.0"
    assert facts["bleaf-leaf-spine: bleaf oversubscription"] == "1.0"
    assert verdict_by_check["ethernet-bisection"].cases.count == 2
    paths = {fact.name: fact.value for fact in verdict_by_check["reachability"].facts}
    # Four spines, with four cables to each leaf at either end.
    assert paths["bleaf-leaf-spine: equal paths between bottom switches 2 hops apart"] == str(4 * 4 * 4)


@pytest.mark.parametrize("system", FILES)
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_refuted(system: str, fault: str) -> None:
    check, edits = FAULTS[fault]
    pattern, replacement = edits[system]
    made = edited(system, lambda text: re.sub(pattern, replacement, text, flags=re.MULTILINE))
    assert verdicts(system, made)[check].counterexamples


def test_a_leaf_without_a_spine_breaks_its_own_promise() -> None:
    """The uplinks of the other model's leaves, which carry all that they should, do not hide it."""

    def shut_uplinks(text: str) -> str:
        shut, count = re.subn(r"(   description to spine-00 Ethernet\d/1\n)   no shutdown", r"\1   shutdown", text)
        assert count == 4
        return shut

    (counterexample,) = verdicts("eos", edited("eos", shut_uplinks))["ethernet-bisection"].counterexamples
    assert counterexample.device == OTHER_LEAF
    # 2 nodes of 8 adapters at 800G below each of two leaves; 16 and 12 uplinks of 800G above them.
    assert counterexample.message.startswith(f"bleaf is oversubscribed {32 / 28:.4f} to 1")


# InfiniBand: leaves for storage beside those of pods, each with uplinks of its own number.
STORAGE_LEAVES = """nodes:
  - name: lustre
    model: infiniband-server
    role: storage
    count: 4
    prefix: lst
    zone: storage
    levels: [{name: row, of: 4, code: w}]
fabrics:
  - name: backend
    attach:
      - {nodes: compute, nics: backend}
      - {nodes: lustre, nics: fabric}
    tiers:
      - {role: leaf, up: {to: [core]}}
      - {role: spine, remove: true}
      - {role: sleaf, model: qm9700, per: row, count: 2, up: {links: 4, speed_gbps: 400, to: [core]}}
      - {role: core, model: qm9790, per: cluster, count: 4}
"""


def test_storage_leaves_are_proven_on_infiniband(tmp_path: Path) -> None:
    plan = plan_with(tmp_path, "lab-ib", STORAGE_LEAVES)
    pairs = Counter((c.a.device, c.b.device) for c in plan.cables if c.fabric == "backend" and c.a.side == "up")
    assert Counter((lower.split("-")[0], count) for (lower, _), count in pairs.items()) == {
        ("leaf", 2): 2 * 8 * 4,
        ("sleaf", 1): 2 * 4,
    }
    made = tuple(Rendering(plan).of_kinds(IB_KINDS))
    checks = [check for check in CHECKS if check.name.startswith("ib-") and check.kinds <= IB_KINDS]
    tree = tree_of("storage-leaves", made, Declaration(plan))
    verdict_by_check = {check.name: check.run(tree) for check in checks}
    assert {"ib-cabling", "ib-rail-purity", "ib-bisection", "ib-failures"} <= set(verdict_by_check)
    assert [name for name, verdict in verdict_by_check.items() if verdict.counterexamples] == []


def test_a_moved_cable_of_a_storage_leaf_is_refuted(tmp_path: Path) -> None:
    plan = plan_with(tmp_path, "lab-ib", STORAGE_LEAVES)
    made = []
    for artifact in Rendering(plan).of_kinds(IB_KINDS):
        content = artifact.content
        if artifact.path == FABRIC:
            # To the port where the other storage leaf's cable ends.
            content = content.replace(b'[5]\t"S-02c1a51200000000"[33]', b'[5]\t"S-02c1a51200000000"[34]')
            assert content != artifact.content
        made.append(Artifact(artifact.device, artifact.path, content, artifact.kind))
    check = next(check for check in CHECKS if check.name == "ib-cabling")
    assert check.run(tree_of("storage-leaves", tuple(made), Declaration(plan))).counterexamples
