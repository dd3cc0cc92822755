"""What other programs expect of a topology follows from the plan: a scan that `observe` takes, topograph's model."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from tests.cli.in_process import command
from tests.plans import plan_of

from clusterwright import data_files

INVENTORY = data_files.folder("inventory")


@pytest.mark.parametrize("name", ["lab-ib", "rsc-phase1"])
def test_a_planned_scan_has_no_difference_to_the_plan(name: str, tmp_path: Path) -> None:
    spec = INVENTORY / f"{name}.yaml"
    assert command("inventory", spec, "--format", "ibnetdiscover", "--out", tmp_path, cwd=tmp_path).returncode == 0
    scan = tmp_path / "backend.ibnetdiscover"
    observed = command("observe", spec, "--ibnetdiscover", scan, cwd=tmp_path)
    assert (observed.returncode, observed.stdout) == (0, "no differences\n")


def test_a_cluster_without_infiniband_has_no_scan(tmp_path: Path) -> None:
    asked = ("inventory", INVENTORY / "lab-roce.yaml", "--format", "ibnetdiscover", "--out", tmp_path)
    done = command(*asked, cwd=tmp_path)
    assert done.returncode == 2
    assert "has no InfiniBand fabric" in done.stderr


@pytest.mark.parametrize("name", ["lab-roce", "lab-ib", "lab-tenants", "b300-spectrum-x"])
def test_topographs_model_is_a_tree_with_every_node_once(name: str, tmp_path: Path) -> None:
    """As its reader asks: no switch and no block has two parents, no node is in two blocks, all hang together."""
    done = command("inventory", INVENTORY / f"{name}.yaml", "--format", "topograph", cwd=tmp_path)
    model = yaml.safe_load(done.stdout)
    switches = {switch["name"]: switch for switch in model["switches"]}
    below = [child for switch in switches.values() for child in switch.get("switches", [])]
    assert len(below) == len(set(below))
    assert set(below) == switches.keys() - {"cluster"}
    held = [block for switch in switches.values() for block in switch.get("capacity_blocks", [])]
    assert sorted(held) == sorted(block["name"] for block in model["capacity_blocks"])
    nodes = [node for block in model["capacity_blocks"] for node in block["nodes"]]
    assert sorted(nodes) == sorted(device.name for device in plan_of(name).devices if device.rank is not None)
