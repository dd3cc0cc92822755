"""Zones over InfiniBand: partitions join what the spec's partitions join, both ways, and every edit is told."""

from __future__ import annotations

import random
import re
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from tests.golden_files import assert_golden
from tests.hosts.subnet_specs import SHARED, WITH_UFM
from tests.plans import plan_with
from tests.proofs.isolation.test_isolation import replaced
from tests.proofs.isolation.trees import Edit

from clusterwright.artifact import Artifact
from clusterwright.hosts.opensm.reader.partitions import parse_partitions
from clusterwright.hosts.opensm.writer import configuration as opensm
from clusterwright.hosts.ufm import writer as ufm
from clusterwright.plan.model import Plan
from clusterwright.proofs.check import Verdict
from clusterwright.proofs.declaration import Declaration
from clusterwright.proofs.isolation.proof import ISOLATION
from clusterwright.proofs.tree import tree_of

# A third zone, in no partition.
APART = SHARED.replace(
    "fabrics:\n",
    "  - {name: gate, model: infiniband-server, role: service, count: 1, zone: services,\n"
    "     levels: [{name: rack, of: 1, code: g}]}\n"
    "fabrics:\n",
).replace("to: leaf}\n", "to: leaf}\n      - {nodes: gate, nics: fabric, to: leaf}\n")
PARTITIONS, CONFIG = "etc/opensm/partitions.conf", "etc/opensm/opensm.conf"
MANAGER = "gpu-s00r00n0"
EDITS = 40


@cache
def shared(overlay: str = APART) -> Plan:
    with TemporaryDirectory() as folder:
        return plan_with(Path(folder), "lab-ib", overlay)


def verdict(path: str = "", edit: Edit = lambda text: text, *, removed: str = "") -> Verdict:
    plan = shared()
    made = [
        Artifact(artifact.device, artifact.path, edit(artifact.content.decode()).encode(), artifact.kind)
        if (artifact.device, artifact.path) == (MANAGER, path)
        else artifact
        for device in plan.devices
        if opensm.applies(plan, device)
        for artifact in opensm.render(plan, device)
        if (artifact.device, artifact.path) != (MANAGER, removed)
    ]
    return ISOLATION.run(tree_of("shared", made, Declaration(plan)))


def members() -> tuple[list[str], list[str], list[str]]:
    """GUIDs of compute, storage and the gate, as the file writes them."""
    plan = shared()
    found: dict[str, list[str]] = {}
    for guid, (device, _) in sorted(Declaration(plan).endpoints.items()):
        found.setdefault(plan.by_name[device].node_group, []).append(f"0x{guid:016x}")
    return found["compute"], found["files"], found["gate"]


def without_default(text: str) -> str:
    return "\n".join(line for line in text.split("\n") if not line.startswith("Default"))


def test_what_is_rendered_is_proven_for_both_managers() -> None:
    result = verdict()
    assert not result.counterexamples
    facts = {fact.name: fact.value for fact in result.facts}
    assert facts["InfiniBand ports in partitions"] == 128 + 4 + 2
    assert facts["pairs of zones over InfiniBand"] == 9  # compute, storage and services, each with each
    plan = shared(WITH_UFM)
    made = [artifact for host in plan.devices if ufm.applies(plan, host) for artifact in ufm.render(plan, host)]
    assert not ISOLATION.run(tree_of("ufm", made, Declaration(plan))).counterexamples


def test_each_edit_names_two_ports_their_zones_and_the_line() -> None:
    compute, storage, gate = members()
    last = compute[-1]
    cases: dict[str, Verdict] = {
        "everybody is full by default": verdict(PARTITIONS, replaced("ALL=limited", "ALL=full")),
        "no default partition": verdict(PARTITIONS, without_default),
        "a file that opensm does not read": verdict(PARTITIONS, replaced("=full,", "=owner,")),
        "no file": verdict(removed=PARTITIONS),
        "switches enforce nothing": verdict(CONFIG, lambda text: re.sub(r"part_enforce \S+", "part_enforce off", text)),
        "a full member that should be limited": verdict(
            PARTITIONS, lambda text: f"{text}Default=0x7fff : {last}=full;\n"
        ),
        "a limited member that should be full": verdict(
            PARTITIONS, replaced(f"{storage[0]}=full", f"{storage[0]}=limited")
        ),
        "a node left out": verdict(
            PARTITIONS, lambda text: re.sub(rf"    {compute[9]}=(?:full|limited)[,;]\n", "", text)
        ),
        "the gate among the training": verdict(
            PARTITIONS,
            replaced(
                "training=0x0001, defmember=limited :\n",
                f"training=0x0001, defmember=limited :\n    {gate[0]}=full,\n",
            ),
        ),
        "an adapter that is not planned": verdict(
            PARTITIONS,
            replaced("files=0x0010, defmember=limited :\n", "files=0x0010, defmember=limited :\n    0x1=full,\n"),
        ),
    }
    lines = []
    for name, found in cases.items():
        assert found.counterexamples, name
        told = [re.sub(r":\d+: ", ":N: ", str(example), count=1) for example in found.counterexamples]
        lines += [f"{name}:", *(f"  {each}" for each in told)]
    assert_golden("isolation/partition-pairs", "\n".join([*lines, ""]).encode())


@pytest.mark.parametrize("guid", ["0x1", "0xno", "0x", "0"])
def test_a_manager_bound_to_no_port_of_the_fabric_is_judged_by_its_host(guid: str) -> None:
    def edit(text: str) -> str:
        return re.sub(
            r"^part_enforce \S+", "part_enforce off", re.sub(r"^guid \S+", f"guid {guid}", text, flags=re.M), flags=re.M
        )

    assert verdict(CONFIG, edit).counterexamples


def _pairs(text: str, ports: list[str]) -> set[tuple[str, str]]:
    """Who reaches whom, worked out port by port."""
    seats: dict[str, dict[int, str]] = {port: {} for port in ports}
    for statement in parse_partitions(text):
        for member in statement.members:
            for port in ports if member.keyword == "ALL" else [f"0x{member.guid:016x}"]:
                seats.setdefault(port, {})[statement.pkey or 0] = member.membership
    return {
        (one, other)
        for one in seats
        for other in seats
        if one < other
        and any(pkey in seats[other] and "full" in (own, seats[other][pkey]) for pkey, own in seats[one].items())
    }


def test_random_edits_that_change_who_reaches_whom_are_caught() -> None:
    chosen = random.Random(11)
    compute, storage, gate = members()
    some = [*chosen.sample(compute, 6), *storage, *gate]
    plan = shared()
    before = next(a for a in opensm.render(plan, plan.by_name[MANAGER]) if a.path == PARTITIONS).content.decode()
    changing = caught = 0
    for _ in range(EDITS):
        lines = before.split("\n")
        at = chosen.choice([n for n, line in enumerate(lines) if any(port in line for port in some)])
        kind = chosen.randrange(3)
        if kind == 0:
            lines[at] = re.sub("full|limited", lambda word: "limited" if word[0] == "full" else "full", lines[at])
        elif kind == 1 and lines[at].endswith(","):
            del lines[at]
        else:
            lines[at] = lines[at].replace(lines[at].strip()[:18], chosen.choice(some), 1)
        after = "\n".join(lines)
        if _pairs(before, some) == _pairs(after, some):
            continue
        changing += 1
        caught += bool(verdict(PARTITIONS, lambda _, text=after: text).counterexamples)  # type: ignore[misc]  # bound now
    assert changing > EDITS // 4
    assert caught == changing
