"""The proofs beside a real subnet manager: what it forwards, and what it makes of partition files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import networkx
import pytest
from tests.hosts.subnet import routed_subnet
from tests.plans import plan_of, plan_with
from tests.proofs.trees import PARTITIONS, text_of, tree, verdict
from tests.rules.overlays import findings_of

from clusterwright.artifact import Artifact
from clusterwright.hosts.opensm.writer import configuration as opensm
from clusterwright.output.rendering import Rendering
from clusterwright.plan.model import Device, Plan
from clusterwright.proofs.declaration import Declaration
from clusterwright.proofs.infiniband.subnet import KINDS, subnets
from clusterwright.proofs.tree import RenderedTree, tree_of

LAB = "lab-ib"


DRAIN = """exceptions:
  - {device: %s, state: drained, reason: "fan tray to be replaced"}
"""
ENGINE = "  - {name: backend, subnet_manager: {routing_engine: %s}}\n"
# Spines in each unit below a tier of cores.
THREE_TIERS = """  - name: backend
    tiers:
      - {role: spine, per: su, join: all, up: {links: 16, speed_gbps: 400, medium: mmf, length_m: 20}}
      - {role: core, model: qm9790, per: cluster, count: 4, down: {medium: mmf, length_m: 20}}
"""


def tree_of_plan(plan: Plan) -> RenderedTree:
    return tree_of(plan.name, Rendering(plan).of_kinds(KINDS), Declaration(plan))


@pytest.mark.parametrize(
    ("overlay", "uplinks", "is_even"),
    # ftree shares 64 nodes among six uplinks as unevenly as when the drained spine is unplugged
    [("", 128, True), (DRAIN % "spine-01", 96, False)],
)
def test_opensm_routes_what_is_proven(overlay: str, uplinks: int, is_even: bool, tmp_path: Path) -> None:
    """Follow every pair's path through the forwarding tables: up, then down, as short as proven, without a loop."""
    plan = plan_with(tmp_path, LAB, overlay) if overlay else plan_of(LAB)
    (proven,) = subnets(tree_of_plan(plan))
    fabric, rank = proven.fabric, proven.rank
    ends = {(int(a), int(p)): ("switch", int(b)) for a, p, b, _, _, _ in fabric.trunks}
    ends |= {(int(b), int(q)): ("switch", int(a)) for a, _, b, q, _, _ in fabric.trunks}
    ends |= {(int(s), int(p)): ("adapter", int(a)) for a, s, p, _, _ in fabric.taps}
    home = {int(adapter): int(switch) for adapter, switch, _, _, _ in fabric.taps}
    with routed_subnet(plan, "backend", tmp_path) as subnet:
        tables = [subnet.forwarding(switch.guid) for switch in fabric.switches]
        lids = {index: subnet.lids[adapter.guid] for index, adapter in enumerate(fabric.adapters)}
    dependencies = networkx.DiGraph()
    load: Counter[tuple[int, int]] = Counter()
    for source in range(len(fabric.adapters)):
        for target in range(len(fabric.adapters)):
            if source == target:
                continue
            here, channels = home[source], []
            while True:
                port = tables[here][lids[target]]
                kind, following = ends[here, port]
                if kind == "adapter":
                    assert following == target
                    break
                channels.append((here, port, following))
                here = following
            steps = [int(rank[b] - rank[a]) for a, _, b in channels]
            assert steps == sorted(steps)
            assert len(steps) == (0 if home[source] == home[target] else 2)
            dependencies.add_edges_from(pairwise(channels))
            load.update((a, port) for a, port, b in channels if rank[b] < rank[a])
    assert networkx.is_directed_acyclic_graph(dependencies)
    assert len(load) == uplinks
    assert (max(load.values()) == min(load.values())) is is_even


@pytest.mark.parametrize(
    ("fabrics", "name", "is_avoided"),
    [
        (ENGINE % "ftree", "spine-01", True),
        (ENGINE % "updn", "spine-01", True),
        (ENGINE % "minhop", "spine-01", False),
        (ENGINE % "dnup", "spine-01", False),
        (ENGINE % "dfsssp", "spine-01", False),
        (ENGINE % "sssp", "spine-01", False),
        (ENGINE % "nue", "spine-01", False),
        (THREE_TIERS, "core-02", True),
        (THREE_TIERS, "spine-s00-01", False),
    ],
)
def test_lint_lets_drain_what_opensm_avoids(fabrics: str, name: str, is_avoided: bool, tmp_path: Path) -> None:
    """Entries of all other switches' tables that lead through the drained one, to anything but itself."""
    text = f"fabrics:\n{fabrics}{DRAIN % name}"
    plan = plan_with(tmp_path, LAB, text)
    (proven,) = subnets(tree_of_plan(plan))
    fabric = proven.fabric
    drained = next(index for index, switch in enumerate(fabric.switches) if switch.name == name)
    ends = {(int(a), int(p)): int(b) for a, p, b, _, _, _ in fabric.trunks}
    ends |= {(int(b), int(q)): int(a) for a, _, b, q, _, _ in fabric.trunks}
    assert drained in ends.values(), "a drained switch stays cabled"
    with routed_subnet(plan, "backend", tmp_path) as subnet:
        own = subnet.lids[fabric.switches[drained].guid]
        through = sum(
            ends.get((index, port)) == drained
            for index, switch in enumerate(fabric.switches)
            if index != drained
            for lid, port in subnet.forwarding(switch.guid).items()
            if lid != own
        )
    assert (through == 0) is is_avoided
    refused = [finding for finding in findings_of(tmp_path, text, LAB) if finding.code == "CW216"]
    assert (not refused) is is_avoided


def test_opensm_routes_to_a_drained_unit_and_nobody_else_through_it(tmp_path: Path) -> None:
    unit = DRAIN.replace("device: %s", "group: s01")
    plan = plan_with(tmp_path, LAB, unit)
    assert not [finding for finding in findings_of(tmp_path, unit, LAB) if finding.code == "CW216"]
    (proven,) = subnets(tree_of_plan(plan))
    fabric = proven.fabric
    drained = {at for at, switch in enumerate(fabric.switches) if plan.by_name[switch.name].state == "drained"}
    ends = {(int(a), int(p)): int(b) for a, p, b, _, _, _ in fabric.trunks}
    ends |= {(int(b), int(q)): int(a) for a, _, b, q, _, _ in fabric.trunks}
    below = {at: {fabric.switches[at].guid} for at in drained}
    for adapter, leaf, *_ in fabric.taps.tolist():
        if leaf in drained:
            below[leaf].add(fabric.adapters[adapter].guid)
    with routed_subnet(plan, "backend", tmp_path) as subnet:
        entered = {
            (ends[at, port], lid)
            for at, switch in enumerate(fabric.switches)
            for lid, port in subnet.forwarding(switch.guid).items()
            if ends.get((at, port)) in drained
        }
        assert entered == {(at, subnet.lids[guid]) for at, guids in below.items() for guid in guids}


def lines_of(plan: Plan) -> Iterator[int]:
    for cable in plan.cables:
        if cable.fabric == "backend" and cable.a.guid is not None:
            yield cable.a.guid


@pytest.mark.parametrize(
    ("addition", "table", "is_proven"),
    [
        ("", [0x7FFF, 0x8001], True),
        ("training=0x0001 : {guid}=limited;", [0x7FFF, 0x0001], False),
        ("other=0x0002 : {guid}=limited, {guid}=full;", [0x7FFF, 0x8001, 0x8002], False),
        ("training=0x0001, defmember=full : ALL_CAS;", [0x7FFF, 0x8001], False),
        ("Default=0x7fff : {guid}=full;", [0xFFFF, 0x8001], False),
        ("other=0x0002 : all;", [0xFFFF], False),
    ],
)
def test_memberships_are_what_opensm_gives(
    addition: str, table: list[int], is_proven: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = plan_of(LAB)
    guid = list(lines_of(plan))[-1]
    line = addition.format(guid=f"0x{guid:016x}")
    text = f"{text_of(LAB, PARTITIONS)}{line}\n" if line else text_of(LAB, PARTITIONS)
    render = opensm.render

    def edited(plan: Plan, device: Device) -> Iterator[Artifact]:
        for artifact in render(plan, device):
            own = artifact.path == PARTITIONS
            yield Artifact(device.name, PARTITIONS, text.encode(), artifact.kind) if own else artifact

    monkeypatch.setattr(opensm, "render", edited)
    with routed_subnet(plan, "backend", tmp_path) as subnet:
        assert subnet.pkeys(subnet.lids[guid]) == table
    judged = verdict("ib-partitions", tree(LAB, {PARTITIONS: lambda _: text} if line else None))
    assert judged.is_proven is is_proven
