"""Subnet managers run on nodes that are there, drained or not, so exceptions may leave too few of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.rules.overlays import findings_of

NODES = [f"{{device: gpu-s01r0{index // 4}n{index % 4}, state: out-of-service}}" for index in range(8)]


@pytest.mark.parametrize(
    ("stopped", "left"),
    [
        (["{group: s00, state: drained}"], None),
        (["{group: s00, state: drained}", "{group: s01, state: drained}"], None),
        (["{group: s00, state: drained}", "{group: s01, state: out-of-service}"], None),
        (["{group: s00, state: out-of-service}", "{group: s01, state: out-of-service}"], 0),
        (["{group: s00, state: out-of-service}", *NODES[1:]], 1),
        (["{group: s00, state: out-of-service}", *NODES[2:]], None),
    ],
)
def test_nodes_out_of_service_run_no_subnet_manager(stopped: list[str], left: int | None, tmp_path: Path) -> None:
    items = ", ".join(item.replace("}", ", reason: recabled}") for item in stopped)
    findings = [
        finding for finding in findings_of(tmp_path, f"exceptions: [{items}]", "lab-ib") if finding.code == "CW217"
    ]
    assert bool(findings) is (left is not None)
    if left is not None:
        assert f"{left} of the 16 nodes of compute are in service" in findings[0].message
