"""Snapshots for a network verifier: what stands in them, and that FRR takes the file that SONiC would give it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.golden_files import assert_golden
from tests.plans import plan_of, plan_with

from clusterwright import data_files
from clusterwright.cli.snapshot import snapshot_command
from clusterwright.output.rendering import Rendering
from clusterwright.output.snapshot import snapshot
from clusterwright.plan.model import Plan

RACK = "rtsw-p00r00"
IPV4 = """
fabrics:
  - name: backend
    addressing: {loopbacks: "10.10.255.0/24", links: "10.10.248.0/22", hosts: "10.10.0.0/20", hosts_per_switch: 26}
"""
PATCH = """
extra_config:
  - role: rtsw
    file: etc/sonic/config_db.json
    merge: {ROUTE_MAP: {"TO-UP|20": null}, BGP_GLOBALS: {default: {router_id: 10.9.9.9}}}
    reason: "tried by a test"
"""


def files(plan: Plan) -> dict[str, str]:
    names = [device.name for device in plan.devices]
    return {f"{each.device}/{each.path}": each.content.decode() for each in snapshot(plan, names)}


def rendered(plan: Plan, name: str, path: str) -> str:
    return next(artifact.content.decode() for artifact in Rendering(plan).of_device(name) if artifact.path == path)


def test_a_snapshot_has_the_rendered_files_and_the_cables_between_them() -> None:
    plan = plan_of("lab-sonic")
    found = files(plan)
    assert found["configs/ctsw-p00-00.cfg"] == rendered(plan, "ctsw-p00-00", "mnt/flash/startup-config")
    assert found[f"sonic_configs/{RACK}/config_db.json"] == rendered(plan, RACK, "etc/sonic/config_db.json")
    assert {path for path in found if "rsw" in path.replace("rtsw", "")} == set(), "FBOSS is not for Batfish"
    edges = json.loads(found["batfish/layer1_topology.json"])["edges"]
    ends = {(end["hostname"], end["interfaceName"]) for edge in edges for end in edge.values()}
    assert len(ends) == 2 * len(edges)
    assert {host for host, _ in ends} == {path.split("/")[1].removesuffix(".cfg") for path in found} - {
        "layer1_topology.json"
    }
    assert ("ctsw-p00-00", "Ethernet3/1/1") in ends


def test_frr_s_file_says_what_the_tables_say() -> None:
    assert_golden(f"snapshot/{RACK}/frr.conf", files(plan_of("lab-sonic"))[f"sonic_configs/{RACK}/frr.conf"].encode())


def test_a_patch_of_the_tables_reaches_frr_s_file(tmp_path: Path) -> None:
    text = files(plan_with(tmp_path, "lab-sonic", PATCH))[f"sonic_configs/{RACK}/frr.conf"]
    assert " bgp router-id 10.9.9.9\n" in text
    assert "route-map TO-UP permit 10\n" in text
    assert "route-map TO-UP permit 20\n" not in text


@pytest.mark.parametrize("overlay", ["", IPV4], ids=["ipv6", "ipv4"])
def test_frr_takes_the_file(overlay: str, tmp_path: Path) -> None:
    file = tmp_path / "frr.conf"
    file.write_text(files(plan_with(tmp_path, "lab-sonic", overlay))[f"sonic_configs/{RACK}/frr.conf"])
    done = subprocess.run(["vtysh", "-C", "-f", str(file)], check=False, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_the_command_writes_a_folder_and_says_when_there_is_nothing_to_write(tmp_path: Path) -> None:
    out = tmp_path / "out"
    spec = data_files.folder("inventory") / "lab-sonic.yaml"
    done = CliRunner().invoke(snapshot_command, [str(spec), "--out", str(out), "--only", "atsw-*"])
    assert (done.exit_code, done.stderr) == (0, f"lab-sonic: 2 switches, in {out}\n")
    assert sorted(path.name for path in (out / "configs").iterdir()) == ["atsw-00.cfg", "atsw-01.cfg"]
    none = CliRunner().invoke(snapshot_command, [str(spec), "--out", str(tmp_path / "none"), "--only", "gpu-*"])
    assert "none of the chosen devices of lab-sonic runs EOS or SONiC" in str(none.exception)
    assert not (tmp_path / "none").exists()
