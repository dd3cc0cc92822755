"""`clusterwright up` with execution nodes: Pulumi decides, the mesh hands on, and one of them dies in the middle."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from tests.deploy.ansible.lab_access import EXEMPT, frontend_address
from tests.deploy.ansible.receptor_mesh import ReceptorMesh, program
from tests.deploy.ansible.test_execution_nodes import once
from tests.lab.sshfleet import SshFleet

from clusterwright import chain, data_files
from clusterwright.plan.build import build_plan
from clusterwright.report.rollout_history import rollouts
from clusterwright.rollout.audit import path_of
from clusterwright.spec.load import load_spec

BIN = Path(sys.executable).parent
CONTROLLER, FIRST, SECOND = "svc-v00n0", "svc-v01n0", "svc-v02n0"
SPEC = f"""\
extends: {data_files.folder("inventory") / "lab-roce.yaml"}
nodes:
  - {{name: services, count: 3}}
execution:
  controller: {CONTROLLER}
  fabric: frontend
  lost_after_s: 5
  nodes:
    - {{device: {FIRST}, pods: [p00]}}
    - {{device: {SECOND}}}
flows:
  - name: receptor
    from: services
    to: services
    protocol: tcp
    ports: [27199]
    reason: "work for execution nodes"
    owner: systems
"""

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("pulumi_on_the_path")]


def clusterwright(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(BIN / "clusterwright"), *words], capture_output=True, text=True, check=False)


def test_two_pods_are_brought_up_while_the_execution_node_of_one_dies(tmp_path: Path) -> None:
    spec, access, execution = (tmp_path / name for name in ("spec.yaml", "access.yaml", "execution.json"))
    spec.write_text(SPEC)
    plan = build_plan(load_spec(spec))
    addresses = {node.name: frontend_address(plan, node.name) for node in plan.devices_of("node")}
    rendered = clusterwright("render", str(spec), "--only", CONTROLLER, "--out", str(tmp_path / "tree"))
    assert rendered.returncode == 0, rendered.stderr
    shares = json.loads((tmp_path / "tree" / CONTROLLER / "etc/clusterwright/execution.json").read_text())

    def run(command: str) -> subprocess.CompletedProcess[str]:
        options = ("--target", "ansible", "--access", str(access), "--root", str(tmp_path / "up"))
        return clusterwright(command, str(spec), "--pod", "pod0", "--pod", "pod1", *options)

    program()  # fetched, where it has to be, before this thread is in a network without a way out
    with (
        SshFleet(addresses, frontend_address(plan, FIRST), "fe0") as fleet,
        fleet.as_controller(),
        ReceptorMesh(dict.fromkeys(shares["nodes"], ())) as mesh,
    ):
        execution.write_text(json.dumps({**shares, "control_socket": str(mesh.receptor.socket_path)}))
        keys = {"private_key": str(fleet.private_key), "known_hosts": str(fleet.known_hosts)}
        access.write_text(
            yaml.safe_dump({**keys, "addresses": addresses, "exempt": EXEMPT, "execution": execution.name})
        )

        def works() -> bool:
            """Whether the node applies something: before, it is asked what the devices hold."""
            hosts = mesh.state(FIRST).glob("tmp/*/*/inventory/hosts.json")
            return any('"applied"' in file.read_text() for file in hosts)

        with once(works, lambda: mesh.kill(FIRST)):
            first = run("up")

        assert first.returncode == 0, first.stdout + first.stderr
        for node in addresses:
            assert fleet.run(node, "test", "-s", "/etc/nccl.conf") == ""
        racks = first.stdout.split("create rack ")
        told = {rack[:6] for rack in racks if f"    done by {SECOND}: {FIRST}: the mesh has had no route to it" in rack}
        assert told == {"p00r00", "p00r01"}, first.stdout
        (record,) = rollouts(chain.read(path_of(tmp_path / "up")))
        assert {where for where, _, _ in record.warnings} == {"lab-roce-pod0"}
        assert all(f"{FIRST}: the mesh has had no route to it for " in line for _, line, _ in record.warnings)
        assert {unit for _, _, units in record.warnings for unit in units} == told

        assert "nothing changed" in run("up").stderr

        asked = run("refresh")

        assert asked.returncode == 0, asked.stdout + asked.stderr
        assert asked.stdout.count(f"    done by {SECOND}: {FIRST}: the mesh has no route to it") == 2
        assert asked.stdout.count("6 unchanged") == 2, asked.stdout
