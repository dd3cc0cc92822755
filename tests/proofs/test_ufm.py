"""The same proofs about the files of NVIDIA's subnet manager."""

from __future__ import annotations

from pathlib import Path

import yaml

from clusterwright import data_files
from clusterwright.output.engine import render_devices
from clusterwright.plan.build import build_plan
from clusterwright.proofs.declaration import declaration_of
from clusterwright.proofs.infiniband.subnet import UFM_FOLDER, subnets
from clusterwright.proofs.registry import CHECKS
from clusterwright.proofs.tree import tree_of
from clusterwright.spec.load import load_spec


def test_ufm_is_proven_and_counts_aggregation_nodes(tmp_path: Path) -> None:
    manager = {"kind": "ufm", "routing_engine": "ar_updn", "adaptive_routing": True, "sharp": True}
    overlay = {
        "version": 1,
        "extends": str(data_files.folder("inventory") / "lab-ib.yaml"),
        "name": "lab-ufm",
        "fabrics": [{"name": "backend", "subnet_manager": manager}],
    }
    path = tmp_path / "lab-ufm.yaml"
    path.write_text(yaml.safe_dump(overlay))
    plan = build_plan(load_spec(path))
    tree = tree_of(plan.name, render_devices(plan), declaration_of(plan))
    (subnet,) = subnets(tree)
    assert subnet.folder == UFM_FOLDER
    for check in CHECKS:
        if check.name.startswith("ib-"):
            verdict = check.run(tree)
            assert verdict.counterexamples == (), check.name
            if check.name == "ib-lid-space":
                assert verdict.facts[0].value == 128 + 2 * 20
