"""CW693 against what FBOSS is told: lint counts the entries that are written, and its bound is the proof's."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from tests.rules.overlays import INVENTORY, codes, findings_of

from clusterwright.intent.edge_filters import edge_permits, entries_of, too_full
from clusterwright.intent.filter_bound import FilterBound, surely_fit
from clusterwright.output.rendering import Rendering
from clusterwright.plan.build import build_plan
from clusterwright.plan.model import fabric_of
from clusterwright.plan.skeleton import build_skeleton
from clusterwright.proofs.declaration import Declaration
from clusterwright.proofs.isolation.proof import ISOLATION, KINDS
from clusterwright.proofs.tree import tree_of
from clusterwright.spec.hardware.systems import filter_tables_of, systems
from clusterwright.spec.load import load_spec

SWITCH = "rsw-p00r00"
FLOW = (
    '  - {{name: many-{at}, from: services, to: compute, protocol: tcp, ports: ["{low}-{high}"],'
    ' reason: "agents", owner: systems}}\n'
)


def _flows(flows: int, ports: int) -> str:
    return "flows:\n" + "".join(
        FLOW.format(at=index, low=20000 + 100 * index, high=20000 + 100 * index + ports - 1) for index in range(flows)
    )


@pytest.mark.parametrize("base", ["lab-roce", "lab-sonic"])
@pytest.mark.parametrize(("flows", "ports"), [(0, 0), (1, 40), (2, 60), (4, 60)])
def test_lint_counts_what_is_written_and_refuses_what_the_proof_does(
    base: str, flows: int, ports: int, tmp_path: Path
) -> None:
    shutil.copy(INVENTORY / "lab-roce.yaml", tmp_path)
    findings = findings_of(tmp_path, _flows(flows, ports) if flows else "title: the lab\n", base)
    assert codes(findings) in ([], ["CW693"])
    plan = build_plan(load_spec(tmp_path / "spec.yaml"))
    conf = next(artifact for artifact in Rendering(plan).of_device(SWITCH) if artifact.path.endswith("agent.conf"))
    tables = json.loads(conf.content)["sw"]["aclTableGroup"]["aclTables"]
    written = sum(len(table["aclEntries"]) for table in tables if table["name"] != "closed")
    fabric = fabric_of(plan, "frontend")
    room = filter_tables_of("fboss")
    permits = edge_permits(plan, fabric, plan.host_subnet_of["frontend", SWITCH], single_ports=True) or ()
    assert sum(entries_of(each, room) for each in permits) == written
    assert room.tables_for(written) == len(tables)
    refuted = [
        str(example)
        for example in ISOLATION.run(
            tree_of(plan.name, Rendering(plan).of_kinds(KINDS), Declaration(plan))
        ).counterexamples
        if "the chip takes" in str(example)
    ]
    full = {each.switch for each in too_full(plan)}
    assert bool(findings) == bool(full) == bool(refuted) == (len(tables) > room.tables)
    assert all(any(switch in text for switch in full) for text in refuted)


SCATTERED = """zones:
  - {name: part, kind: storage, nodes: [storage], fabrics: [frontend]}
nodes:
  - {name: storage, levels: [{name: rack, of: 2, code: s}]}
flows:
  - {name: look, from: part, to: compute, protocol: tcp, ports: [9100], reason: "readings", owner: systems}
"""


@pytest.mark.parametrize(
    ("base", "overlay"),
    [
        ("lab-roce", "title: the lab\n"),
        ("lab-roce", _flows(2, 60)),
        ("lab-roce", SCATTERED),
        ("lab-ib", "title: the lab\n"),
        ("lab-border", "title: the lab\n"),
    ],
)
def test_the_bound_without_a_plan_is_no_lower_than_what_is_written(base: str, overlay: str, tmp_path: Path) -> None:
    """Whoever fits by it fits, so that no plan has to be drawn to say so."""
    spec = tmp_path / "spec.yaml"
    spec.write_text(f"extends: {INVENTORY / base}.yaml\n{overlay}")
    plan = build_plan(load_spec(spec))
    skeleton, room = build_skeleton(plan.spec), filter_tables_of("fboss")
    bound = FilterBound(plan.spec, skeleton)
    tried = 0
    for fabric in skeleton.fabrics:
        for at, own in bound.tenants[fabric.fabric.name].items():
            subnet = plan.host_subnet_of.get((fabric.fabric.name, fabric.seats[at].name))
            permits = edge_permits(plan, fabric.fabric, subnet, single_ports=True) if subnet is not None else None
            if permits is not None:
                tried += 1
                written = sum(entries_of(permit, room) for permit in permits)
                assert written <= bound.entries(fabric.fabric, own, systems()["fboss"], room), fabric.seats[at].name
    assert tried
    assert not (surely_fit(bound) and list(too_full(plan)))


@pytest.mark.parametrize(("flows", "fits"), [(3, True), (4, False)])
def test_rules_of_sonic_do_not_run_out_of_numbers(flows: int, fits: bool, tmp_path: Path) -> None:
    """Each port is a rule and two for its replies, numbered from 9999 down; 1 is what denies the rest."""
    text = "".join(
        f"  - {{name: odd-{index}, from: compute, to: compute, protocol: tcp,"
        f" ports: {list(range(1001 + 2000 * index, 2800 + 2000 * index, 2))},"
        ' reason: "agents", owner: systems}\n'
        for index in range(flows)
    )
    shutil.copy(INVENTORY / "lab-roce.yaml", tmp_path)
    findings = findings_of(tmp_path, f"flows:\n{text}", "lab-sonic")
    messages = [finding.message for finding in findings if finding.code == "CW693" and "rtsw" in finding.message]
    assert bool(messages) is not fits
