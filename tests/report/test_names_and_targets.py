"""Zones that BIND's own checker loads, and targets that Prometheus' own checker reads."""

from __future__ import annotations

import json
import re
import subprocess
from typing import TYPE_CHECKING

import pytest
from tests.cli.in_process import command
from tests.report.specs import plan_of, spec_path

from clusterwright.lists.dns import zone_files
from clusterwright.lists.prometheus import target_lines
from clusterwright.lists.records import Inventory

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("name", ["lab-roce", "lab-ib", "lab-border", "lab-sonic", "lab-nvue", "rsc-phase1"])
def test_bind_loads_every_zone_and_names_lead_back(name: str, tmp_path: Path) -> None:
    inventory = Inventory(plan_of(name))
    forward: set[str] = set()
    back: set[str] = set()
    for file, lines in zone_files(inventory, 7).items():
        (tmp_path / file).write_text("".join(lines))
        zone = file.removesuffix(".zone")
        checked = [
            "named-checkzone",
            "-k",
            "fail",
            "-n",
            "ignore",
            "-r",
            "warn",
            "-o",
            "-",
            "-D",
            zone,
            str(tmp_path / file),
        ]
        loaded = subprocess.run(checked, capture_output=True, text=True, check=False)
        assert loaded.returncode == 0, loaded.stdout[-500:] + loaded.stderr[-500:]
        for owner, kind, value in re.findall(r"^(\S+)\s+\d+\s+IN (A|AAAA|PTR)\s+(\S+)", loaded.stdout, re.M):
            (back if kind == "PTR" else forward).add(value if kind == "PTR" else owner)
    assert back
    assert back <= forward
    devices = inventory.reachable_addresses().keys() & {each.name for each in inventory.device_list}
    assert {f"{device}.{inventory.plan.spec.site.domain}." for device in devices} <= forward


def test_prometheus_reads_the_targets(tmp_path: Path) -> None:
    plan = plan_of("lab-roce")
    (tmp_path / "targets.json").write_text("".join(target_lines(Inventory(plan))))
    (tmp_path / "prometheus.yml").write_text(
        "scrape_configs:\n  - job_name: cluster\n    file_sd_configs: [{files: [targets.json]}]\n"
    )
    subprocess.run(["promtool", "check", "config", str(tmp_path / "prometheus.yml")], check=True, capture_output=True)
    groups = json.loads((tmp_path / "targets.json").read_text())
    targets = [target for group in groups for target in group["targets"]]
    assert len(set(targets)) == len(targets) == len(Inventory(plan).reachable_addresses())
    (rack,) = (group["labels"] for group in groups if any(each.startswith("rtsw-p00r00.") for each in group["targets"]))
    assert (rack["fabric"], rack["tier"], rack["rack"], rack["role"]) == ("backend", "0", "p00r00", "rtsw")


def test_zones_are_written_into_a_folder(tmp_path: Path) -> None:
    arguments = ("inventory", spec_path("lab-roce"), "--format", "dns")
    assert command(*arguments, cwd=tmp_path).returncode == 2
    assert command(*arguments, "--serial", "12", "--out", tmp_path, cwd=tmp_path).returncode == 0
    assert all(" 12 7200 " in path.read_text() for path in tmp_path.iterdir())
