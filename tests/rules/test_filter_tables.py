"""CW693 against what FBOSS is told: lint counts the entries that are written, and its bound is the proof's."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from tests.rules.overlays import INVENTORY, codes, findings_of

from clusterwright.intent.edge_filters import edge_permits, entries_of, too_full
from clusterwright.output.engine import render_device, render_kinds
from clusterwright.plan.build import build_plan
from clusterwright.plan.model import fabric_of
from clusterwright.proofs.declaration import declaration_of
from clusterwright.proofs.isolation.proof import ISOLATION, KINDS
from clusterwright.proofs.tree import tree_of
from clusterwright.spec.hardware.systems import filter_tables_of
from clusterwright.spec.load import load_spec

SWITCH = "rsw-p00r00"
FLOW = (
    '  - {{name: many-{at}, from: services, to: compute, protocol: tcp, ports: ["{low}-{high}"],'
    ' reason: "agents", owner: systems}}\n'
)


def _flows(flows: int, ports: int) -> str:
    return "flows:\n" + "".join(
        FLOW.format(at=at, low=20000 + 100 * at, high=20000 + 100 * at + ports - 1) for at in range(flows)
    )


@pytest.mark.parametrize("base", ["lab-roce", "lab-sonic"])
@pytest.mark.parametrize(("flows", "ports"), [(0, 0), (1, 40), (2, 60), (4, 60)])
def test_lint_counts_what_is_written_and_refuses_what_the_proof_does(
    base: str, flows: int, ports: int, tmp_path: Path
) -> None:
    shutil.copy(INVENTORY / "lab-roce.yaml", tmp_path)
    found = findings_of(tmp_path, _flows(flows, ports) if flows else "title: the lab\n", base)
    assert codes(found) in ([], ["CW693"])
    plan = build_plan(load_spec(tmp_path / "spec.yaml"))
    conf = next(each for each in render_device(plan, SWITCH) if each.path.endswith("agent.conf"))
    tables = json.loads(conf.content)["sw"]["aclTableGroup"]["aclTables"]
    written = sum(len(table["aclEntries"]) for table in tables if table["name"] != "closed")
    fabric = fabric_of(plan, "frontend")
    room = filter_tables_of("fboss")
    permits = edge_permits(plan, fabric, plan.host_subnet_of["frontend", SWITCH], single_ports=True) or ()
    assert sum(entries_of(each, room) for each in permits) == written
    assert room.tables_for(written) == len(tables)
    refuted = [
        str(each)
        for each in ISOLATION.run(tree_of(plan.name, render_kinds(plan, KINDS), declaration_of(plan))).counterexamples
        if "the chip takes" in str(each)
    ]
    full = {each.switch for each in too_full(plan)}
    assert bool(found) == bool(full) == bool(refuted) == (len(tables) > room.tables)
    assert all(any(switch in text for switch in full) for text in refuted)
