"""Leaves of two models below one spine: counted by hand, joined to the spine alone, and figured side by side."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from tests.plan.mixed_leaves import LEAF, MODELS, OTHER_LEAF, RAILED, SPINE, mixed_plan, spec_text

from clusterwright.plan.build import build_plan
from clusterwright.plan.figures import figures
from clusterwright.plan.skeleton import build_skeleton
from clusterwright.report.topology import topology
from clusterwright.rules.engine import lint_path
from clusterwright.spec.attachment import tier_order
from clusterwright.spec.load import load_spec

LEAVES, UPLINKS, SPINES = 2, 16, 4  # leaves of each model, uplinks of each leaf, spines
NODES, ADAPTERS = 4, 8  # of each generation, of each node


@pytest.mark.parametrize("system", MODELS)
def test_cables_are_as_many_as_ports_say(system: str) -> None:
    plan = mixed_plan(system)
    role_of = {device.name: device.role for device in plan.devices}
    counts = Counter((role_of[c.a.device], role_of[c.b.device], c.speed_gbps) for c in plan.cables)
    groups = {device.name: device.node_group for device in plan.devices if device.kind == "node"}
    adapters = Counter((groups[c.a.device], role_of[c.b.device]) for c in plan.cables if c.a.device in groups)
    assert {ends: count for ends, count in counts.items() if ends[0] != "node"} == {
        (LEAF, SPINE, 400): LEAVES * UPLINKS,
        (OTHER_LEAF, SPINE, 800): LEAVES * UPLINKS,
    }
    assert adapters == {("hopper", LEAF): NODES * ADAPTERS, ("blackwell", OTHER_LEAF): NODES * ADAPTERS}
    pairs = Counter((c.a.device, c.b.device) for c in plan.cables if c.a.side == "up")
    assert len(pairs) == 2 * LEAVES * SPINES
    assert set(pairs.values()) == {UPLINKS // SPINES}
    ends = Counter((end.device, end.port) for cable in plan.cables for end in (cable.a, cable.b))
    assert set(ends.values()) == {1}


def test_each_leaf_has_the_bandwidth_of_its_own_adapters(tmp_path: Path) -> None:
    file = tmp_path / "cluster.yaml"
    file.write_text(spec_text("eos").replace("links: 16, speed_gbps: 800", "links: 8, speed_gbps: 800"))
    spec = load_spec(file)
    planned = figures(spec, build_skeleton(spec))
    assert planned["oversubscription.backend.leaf"] == 1
    assert planned["oversubscription.backend.bleaf"] == 2
    assert planned["narrowest.backend.leaf"] == 1
    assert planned["narrowest.backend.bleaf"] == 2
    assert {finding.code for finding in lint_path(file).findings} == {"CW203", "CW224"}


def test_both_leaves_are_the_lowest_level() -> None:
    plan = mixed_plan("eos")
    order = plan.tier_orders["backend"]
    assert order.levels == (0, 0, 1)
    assert order.above == ((2,), (2,), ())
    assert order.at_or_below(1) == (1,)
    assert order.at_or_below(2) == (0, 1, 2)
    view = topology(plan, plan.spec.fabrics[0])
    columns = [column for run in view.runs for column in run.columns]
    leaves = [cell.members for column in columns for cell in column.cells[1:]]
    assert Counter(role for members in leaves for role, _, _ in members) == {LEAF: LEAVES, OTHER_LEAF: LEAVES}
    assert [member[0] for cell in view.shared for member in cell.members] == [SPINE]


def test_leaves_of_storage_stand_beside_those_of_pods(tmp_path: Path) -> None:
    """Around a pod stands the whole cluster, so that without `to` its leaves would lead to those of storage."""
    file = tmp_path / "cluster.yaml"
    text = spec_text("eos").replace("levels: [{name: unit, of: 2}]", "levels: [{name: row, of: 4}]")
    text = text.replace("per: unit\n", "per: cluster\n        count: 2\n")
    file.write_text(text)
    joined = [(low.role, high.role) for low, high in build_skeleton(load_spec(file)).fabrics[0].joined_tiers()]
    assert joined == [(LEAF, SPINE), (OTHER_LEAF, SPINE)]
    file.write_text(text.replace("speed_gbps: 400, to: [spine]", "speed_gbps: 400"))
    joined = [(low.role, high.role) for low, high in build_skeleton(load_spec(file)).fabrics[0].joined_tiers()]
    assert joined == [(LEAF, OTHER_LEAF), (OTHER_LEAF, SPINE)]


def test_tiers_around_no_node_in_common_need_no_key(tmp_path: Path) -> None:
    file = tmp_path / "cluster.yaml"
    file.write_text(spec_text("eos").replace(", to: [spine]", ""))
    spec = load_spec(file)
    assert tier_order(spec, spec.fabrics[0]) == mixed_plan("eos").tier_orders["backend"]
    assert build_plan(spec).cables == mixed_plan("eos").cables


def test_of_several_tiers_above_the_first_around_a_switch_is_taken(tmp_path: Path) -> None:
    """Two buildings, of which one has a tier of its own above its leaves."""
    file = tmp_path / "cluster.yaml"
    text = spec_text("eos").replace("{name: rack, of: 2}]", "{name: rack, of: 1}, {name: hall, of: 2}]")
    text = text.replace("{name: unit, of: 2}]", "{name: unit, of: 1}]")
    row = "      - {role: agg, model: dcs-7060x6-64pe, per: hall, count: 2,"
    row += " up: {links: 8, speed_gbps: 800, to: [spine]}, asn: {base: 4200120000, per: switch}}\n"
    text = text.replace("      - {role: spine", row + "      - {role: spine").replace(
        "to: [spine]}\n        asn", "to: [agg, spine]}\n        asn"
    )
    file.write_text(text)
    spec = load_spec(file)
    skeleton = build_skeleton(spec)
    joined = [(low.role, high.role) for low, high in skeleton.fabrics[0].joined_tiers()]
    assert joined == [(LEAF, "agg"), (OTHER_LEAF, SPINE), ("agg", SPINE)]
    assert tier_order(spec, spec.fabrics[0]).levels == (0, 0, 1, 2)


def test_rails_are_those_of_the_nodes_below(tmp_path: Path) -> None:
    """Eight rails of one generation, four of the other: 2 pods of 16 nodes, 2 domains of 18 trays."""
    file = tmp_path / "cluster.yaml"
    file.write_text(RAILED)
    assert lint_path(file).findings == ()
    plan = build_plan(load_spec(file))
    switches = {device.name: device for device in plan.devices if device.kind == "switch"}
    assert Counter(switch.role for switch in switches.values()) == {LEAF: 2 * 8, OTHER_LEAF: 2 * 4, SPINE: 8}
    ends = Counter((switches[c.b.device].role, c.b.device) for c in plan.cables if c.a.device not in switches)
    assert {role: count for (role, _), count in ends.items()} == {LEAF: 16, OTHER_LEAF: 18}
    assert set(ends.values()) == {16, 18}
    for cable in plan.cables:
        if cable.a.device not in switches:
            assert switches[cable.b.device].rail == int(cable.a.port.removeprefix("be"))
    spines = Counter(c.b.device for c in plan.cables if c.a.side == "up")
    assert set(spines.values()) == {(16 * 16 + 8 * 20) // 8}
