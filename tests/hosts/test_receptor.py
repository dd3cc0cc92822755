"""Receptor's rendered files: who dials whom, with which keys, and what the deployment reads of them.

That receptor itself takes them is tried where a mesh is started (tests/deploy/ansible/test_execution_nodes.py).
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.plans import plan_with

from clusterwright.deploy.ansible.execution import MeshNode, read_execution
from clusterwright.hosts.receptor.writer import CONFIG, SHARES, UNIT, WORKER
from clusterwright.output.rendering import Rendering
from clusterwright.plan.model import Plan

OVERLAY = """
nodes:
  - {name: services, count: 3}
execution:
  controller: svc-v00n0
  fabric: frontend
  nodes: [{device: svc-v01n0, pods: [p01]}, {device: svc-v02n0}]
"""
MACHINES = ("svc-v00n0", "svc-v01n0", "svc-v02n0")


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    return plan_with(tmp_path_factory.mktemp("mesh"), "lab-roce", OVERLAY)


def files(plan: Plan, device: str) -> dict[str, str]:
    return {
        item.path: item.content.decode() for item in Rendering(plan).of_devices([device]) if item.kind == "receptor"
    }


def sections(text: str) -> dict[str, list[dict[str, Any]]]:
    """receptor.conf by the name of its actions."""
    found: dict[str, list[dict[str, Any]]] = {}
    for entry in yaml.safe_load(text):
        ((name, values),) = entry.items()
        found.setdefault(name, []).append(values)
    return found


def test_only_the_control_node_dials_and_it_knows_whom(plan: Plan) -> None:
    control = sections(files(plan, "svc-v00n0")[CONFIG])
    nodes = {name: sections(files(plan, name)[CONFIG]) for name in MACHINES[1:]}
    listening = {f"{each['tcp-listener'][0]['bindaddr']}:{each['tcp-listener'][0]['port']}" for each in nodes.values()}
    assert {peer["address"] for peer in control["tcp-peer"]} == listening
    assert [peer["allowedpeers"] for peer in control["tcp-peer"]] == [["svc-v01n0"], ["svc-v02n0"]]
    assert "tcp-listener" not in control
    for each in nodes.values():
        assert "tcp-peer" not in each
        assert each["tcp-listener"][0]["allowedpeers"] == ["svc-v00n0"]


def test_every_connection_has_certificates_on_both_sides_and_all_work_is_signed(plan: Plan) -> None:
    control = sections(files(plan, "svc-v00n0")[CONFIG])
    assert all(peer["tls"] == "mesh" for peer in control["tcp-peer"])
    assert control["tls-client"][0]["rootcas"].endswith("/authority.pem")
    assert "insecureskipverify" not in control["tls-client"][0]
    for name in MACHINES[1:]:
        node = sections(files(plan, name)[CONFIG])
        assert node["tls-server"][0]["requireclientcert"] is True
        assert node["tcp-listener"][0]["tls"] == node["control-service"][0]["tls"] == "mesh"
        (work,) = node["work-command"]
        assert work["verifysignature"] is True
        assert work["command"] == f"/{WORKER}"
        assert "allowruntimeparams" not in work


def test_shells_take_the_worker_script(plan: Plan) -> None:
    (script,) = [item for item in Rendering(plan).of_devices(["svc-v01n0"]) if item.path == WORKER]
    assert script.mode == 0o755
    assert subprocess.run(["sh", "-n"], input=script.content, check=False).returncode == 0


def test_a_deployment_reads_when_a_node_counts_as_lost(plan: Plan, tmp_path: Path) -> None:
    file = tmp_path / "execution.json"
    file.write_text(files(plan, "svc-v00n0")[SHARES])
    usual = read_execution(file)
    assert (usual.lost_after_s, usual.silent_after_s) == (15, 60)

    limits = "  fabric: frontend\n  lost_after_s: 40\n  silent_after_s: 90\n"
    patient = plan_with(tmp_path, "lab-roce", OVERLAY.replace("  fabric: frontend\n", limits))
    file.write_text(files(patient, "svc-v00n0")[SHARES])
    found = read_execution(file)
    assert (found.lost_after_s, found.silent_after_s) == (40, 90)


def test_a_deployment_reads_who_has_which_share(plan: Plan, tmp_path: Path) -> None:
    (tmp_path / "execution.json").write_text(files(plan, "svc-v00n0")[SHARES])
    execution = read_execution(tmp_path / "execution.json")
    assert execution.nodes == (MeshNode("svc-v01n0", ("p01",)), MeshNode("svc-v02n0"))
    assert execution.control_socket == Path("/run/clusterwright-receptor/control.sock")
    shares = execution.partition(["gpu-p00r00n0", "gpu-p01r00n0", "gpu-p01r01n1"])
    assert shares == {"svc-v02n0": ("gpu-p00r00n0",), "svc-v01n0": ("gpu-p01r00n0", "gpu-p01r01n1")}
    assert SHARES not in files(plan, "svc-v01n0")


def test_other_machines_and_clusters_without_execution_nodes_get_nothing(plan: Plan, tmp_path: Path) -> None:
    assert not files(plan, "gpu-p00r00n0")
    assert not files(plan_with(tmp_path, "lab-roce", ""), "svc-v00n0")


def test_systemd_takes_the_unit(plan: Plan, tmp_path: Path) -> None:
    assert shutil.which("systemd-analyze"), "systemd-analyze is missing: apt-get install systemd"
    found = files(plan, "svc-v00n0")
    for path, text in {**found, "usr/bin/receptor": "#!/bin/sh\n"}.items():
        file = tmp_path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        file.chmod(0o755 if path.startswith("usr") else 0o644)
    done = subprocess.run(
        ["systemd-analyze", f"--root={tmp_path}", "verify", "--man=no", "--recursive-errors=no", UNIT],
        capture_output=True,
        text=True,
        check=False,
    )
    assert not [line for line in done.stderr.splitlines() if UNIT in line], done.stderr
