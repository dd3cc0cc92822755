"""The engine carries parts of nodes that somebody rents: over SSH, at addresses that the provider assigned by DHCP."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from tests.deploy.ansible.lab_access import EXEMPT
from tests.lab.sshfleet import SshFleet

BIN = Path(sys.executable).parent
SPEC = Path(__file__).parents[2] / "small" / "specs" / "rented.yaml"
TAKEN = "takes: [nccl, slurm, health, limits]"
ADDRESSES = {"gpu-r00n0": "198.51.100.11", "gpu-r00n1": "198.51.100.12", "head-v00n0": "198.51.100.20"}
CONTROLLER = "198.51.100.9"

pytestmark = pytest.mark.usefixtures("pulumi_on_the_path")


def test_nccl_and_limits_come_onto_rented_nodes_and_a_change_reaches_them(tmp_path: Path) -> None:
    spec, access, root = tmp_path / "spec.yaml", tmp_path / "access.yaml", tmp_path / "up"
    text = SPEC.read_text().replace(TAKEN, "takes: [nccl, limits]").replace("count: 4", "count: 2")
    scheduler = next(line for line in text.splitlines() if line.startswith("scheduler:"))
    spec.write_text(text.replace(f"{scheduler}\n", ""))

    def run(verb: str, *more: str) -> subprocess.CompletedProcess[str]:
        options = ("--target", "ansible", "--access", str(access), "--root", str(root), *more)
        command = (str(BIN / "clusterwright"), verb, str(spec), *options)
        return subprocess.run(command, capture_output=True, text=True, check=False)

    with SshFleet(ADDRESSES, CONTROLLER, "eth0") as fleet, fleet.as_controller():
        keys = {"private_key": str(fleet.private_key), "known_hosts": str(fleet.known_hosts)}
        access.write_text(yaml.safe_dump({**keys, "addresses": ADDRESSES, "exempt": list(EXEMPT)}))
        untouched = {name: fleet.run(name, "nft", "list", "ruleset") for name in ADDRESSES}

        preview = run("preview")
        first = run("up")

        assert preview.returncode == 0, preview.stdout + preview.stderr
        assert first.returncode == 0, first.stdout + first.stderr
        for name in ("gpu-r00n0", "gpu-r00n1"):
            assert "NCCL_IB_PKEY=1\n" in fleet.run(name, "cat", "/etc/nccl.conf")
            assert "unlimited" in fleet.run(name, "cat", "/etc/security/limits.d/90-clusterwright.conf")
        assert {name: fleet.run(name, "nft", "list", "ruleset") for name in ADDRESSES} == untouched
        assert "nothing changed" in run("up").stderr

        spec.write_text(spec.read_text().replace("pkey_index: 1", "pkey_index: 2"))
        second = run("up", "--reason", "another partition")

        assert second.returncode == 0, second.stdout + second.stderr
        assert "NCCL_IB_PKEY=2\n" in fleet.run("gpu-r00n0", "cat", "/etc/nccl.conf")
        assert run("refresh").returncode == 0
    records = [json.loads(line) for line in (root / "audit/rollouts.jsonl").read_text().splitlines()]
    assert any(record["event"] == "wave" and not record["stopped"] for record in records)
