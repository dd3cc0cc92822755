"""A spine drained by the command: the real engine, Ansible over SSH, the rendered unit of opensm over ibsim."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import yaml
from tests.cli.own_process import command
from tests.deploy.ansible.lab_access import EXEMPT, frontend_address
from tests.hosts.simulated_manager import SimulatedManager
from tests.lab.sshfleet import SshFleet
from tests.plans import plan_of

from clusterwright.data_files import folder
from clusterwright.hosts.opensm.writer.configuration import manager_hosts

pytestmark = [pytest.mark.usefixtures("pulumi_on_the_path"), pytest.mark.slow]

SPINE = "spine-00"
WITHOUT_GPUS = ("--skip-gate", "verdicts", "--yes")


def test_a_drained_spine_carries_nothing_and_the_undrain_gives_its_routes_back(tmp_path: Path) -> None:
    plan = plan_of("lab-ib")
    manager_host = manager_hosts(plan, "backend")[0]
    addresses = {manager_host: frontend_address(plan, manager_host)}
    station = frontend_address(plan, plan.devices_of("service")[0].name)
    shutil.copy(folder("inventory") / "lab-ib.yaml", tmp_path / "cluster.yaml")
    spec = (tmp_path / "cluster.yaml").read_bytes()
    where = ("--target", "ansible", "--access", "access.yaml")
    with SshFleet(addresses, station, "fe0", systemd=True) as fleet, fleet.as_controller():
        keys = {"private_key": str(fleet.private_key), "known_hosts": str(fleet.known_hosts)}
        access = {**keys, "addresses": addresses, "exempt": EXEMPT}
        (tmp_path / "access.yaml").write_text(yaml.safe_dump(access))
        first = command("up", "cluster.yaml", *where, cwd=tmp_path)
        assert first.returncode == 0, first.stdout + first.stderr
        manager = SimulatedManager(fleet, manager_host, plan, tmp_path)
        manager.start_unit()
        usual = manager.entries_through(plan, SPINE)
        started = fleet.run(manager_host, "systemctl", "show", "--property=MainPID", "opensm.service")
        assert usual > 100

        drained = command(
            *("drain", "cluster.yaml", SPINE, *where, *WITHOUT_GPUS, "--because", "ticket 4711: a fan"), cwd=tmp_path
        )
        assert drained.returncode == 0, drained.stdout + drained.stderr
        # What is left leads to the spine itself, which is still managed.
        assert manager.entries_through(plan, SPINE) < usual / 10
        assert fleet.run(manager_host, "systemctl", "show", "--property=MainPID", "opensm.service") != started

        back = command(
            *("undrain", "cluster.yaml", SPINE, *where, *WITHOUT_GPUS, "--because", "ticket 4711: done"), cwd=tmp_path
        )
        assert back.returncode == 0, back.stdout + back.stderr
        assert manager.entries_through(plan, SPINE) == usual
    assert (tmp_path / "cluster.yaml").read_bytes() == spec
    records = [json.loads(line) for line in (tmp_path / "up/audit/rollouts.jsonl").read_text().splitlines()]
    waves = [entry for entry in records if entry["event"] == "wave"]
    assert [sorted(wave["devices"]) for wave in waves] == [[manager_host]] * 2
    gates = [{gate["gate"]: (gate["asked"], gate["wrong"]) for gate in wave["gates"]} for wave in waves]
    assert [answers["subnet"] for answers in gates] == [(1, {}), (1, {})]
