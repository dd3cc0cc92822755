"""Nodes drained by the command under a real Slurm: its job lives, ports wait for its end, Slurm gets its nodes back."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from subprocess import CompletedProcess

import pytest
import yaml
from tests.cli.own_process import command
from tests.deploy.ansible.lab_access import EXEMPT, frontend_address
from tests.hosts.slurm.node import GPUS, plan_on
from tests.lab.sshfleet import SshFleet, put

from clusterwright.plan.model import Plan

pytestmark = [pytest.mark.usefixtures("pulumi_on_the_path"), pytest.mark.slow]

NODE, CONTROLLER, STATION, SWITCHES = "gpu-s00r00n1", "svc-v00n0", "svc-v00n1", ("rsw-00", "rsw-01")
WHERE = ("--target", "ansible", "--access", "access.yaml")
# Nodes of the fleet have no GPUs, and its switches no BGP.
SKIPPED = ("--skip-gate", "verdicts", "--skip-gate", "sessions", "--yes")
# What a machine without the right to lock memory leaves out of slurmd's unit, and mounts that have no server.
LIMITS = "[Unit]\nConditionPathExists=\n[Service]\nLimitMEMLOCK=8M\nLimitNOFILE=1024\nLimitSTACK=8M\nTasksMax=\n"
JOB = "while [ ! -e /tmp/over ]; do sleep 0.2; done; touch /tmp/ended"


@dataclass(frozen=True)
class Cluster:
    """A controller, a node and two switches of the lab, each a host of its own."""

    fleet: SshFleet
    folder: Path

    def changed(self, verb: str, *arguments: str) -> CompletedProcess[str]:
        done = command(verb, "overlay.yaml", *arguments, *WHERE, cwd=self.folder)
        assert done.returncode == 0, done.stdout + done.stderr
        return done

    def controller(self, script: str) -> str:
        return self.fleet.run(CONTROLLER, "sh", "-c", script).strip()

    def state(self) -> str:
        return self.controller(f"sinfo --noheader --Node --nodes={NODE} --format=%T").splitlines()[0]

    def becomes(self, *states: str) -> None:
        for _ in range(300):
            if self.state() in states:
                return
            time.sleep(0.1)
        logs = self.fleet.run(NODE, "sh", "-c", "journalctl --no-pager --unit slurmd --unit munge | tail -30")
        raise AssertionError(f"{self.state()} is none of {states}\n{logs}\n{self.controller('cat /var/log/slurm/*')}")

    def start_job(self) -> None:
        self.fleet.run(NODE, "rm", "-f", "/tmp/over", "/tmp/ended")
        user = "setpriv --reuid 65534 --regid 65534 --clear-groups"
        self.controller(f"cd /; {user} sbatch --output=/dev/null --nodelist={NODE} --wrap '{JOB}'")
        for _ in range(300):
            if self.jobs() == ["RUNNING"]:
                return
            time.sleep(0.1)
        raise AssertionError(self.controller("squeue; scontrol show job"))

    def end_job(self) -> None:
        self.fleet.run(NODE, "touch", "/tmp/over")

    def jobs(self) -> list[str]:
        return self.controller("squeue --noheader --format=%T").split()

    def has_ended(self) -> bool:
        return self.fleet.run(NODE, "sh", "-c", "ls /tmp/ended 2>/dev/null || true") != ""


def start_slurm(fleet: SshFleet, plan: Plan, addresses: dict[str, str]) -> None:
    """The rendered units, with munge's key of this machine on both hosts."""
    names = [device.name for device in plan.devices if device.node_group == "compute"]
    lines = [f"{addresses.get(name, '192.0.2.1')} {name}\n" for name in (*names, CONTROLLER)]
    for name, other in ((CONTROLLER, NODE), (NODE, CONTROLLER)):
        put(fleet, name, "/etc/hosts", "127.0.0.1 localhost\n" + "".join(lines))
        fleet.run(name, "ip", "route", "replace", addresses[other], "dev", "fe0")
        fleet.run(name, "hostname", name)
        fleet.run(name, "sh", "-c", "systemd-sysusers; systemd-tmpfiles --create 2>/dev/null; systemctl start munge")
    for check in ("node-health", "node-health-prolog", "node-health-drain"):
        put(fleet, NODE, f"/usr/local/sbin/{check}", "#!/bin/sh\nexit 0\n")
    put(fleet, NODE, "/run/systemd/system/slurmd.service.d/95-fleet.conf", LIMITS)
    for number in range(GPUS):
        fleet.run(NODE, "sh", "-c", f"mknod /dev/nvidia{number} c 195 {number}; chmod 666 /dev/nvidia{number}")
    fleet.run(NODE, "sh", "-c", "systemctl mask --runtime remote-fs.target; systemctl daemon-reload")
    # systemd-nspawn leaves a host the cgroups of its systemd alone; slurmd makes its own.
    fleet.run(
        NODE, "sh", "-c", "for each in /sys/fs/cgroup /sys/fs/cgroup/*; do mount -o remount,bind,rw $each || true; done"
    )
    fleet.run(CONTROLLER, "systemctl", "start", "slurmctld.service")
    fleet.run(NODE, "systemctl", "start", "slurmd.service")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    place = tmp_path_factory.mktemp("slurm")
    plan = plan_on(place, "lab-ib", {"sockets": 1, "cores_per_socket": os.cpu_count() or 1, "threads_per_core": 1})
    addresses = {name: frontend_address(plan, name) for name in (CONTROLLER, NODE)}
    addresses |= {name: f"10.219.1.{number}" for number, name in enumerate(SWITCHES, 1)}
    with SshFleet(addresses, frontend_address(plan, STATION), "fe0", systemd=True) as fleet, fleet.as_controller():
        keys = {"private_key": str(fleet.private_key), "known_hosts": str(fleet.known_hosts)}
        (place / "access.yaml").write_text(yaml.safe_dump({**keys, "addresses": addresses, "exempt": EXEMPT}))
        cluster = Cluster(fleet, place)
        cluster.changed("up")
        start_slurm(fleet, plan, addresses)
        cluster.becomes("idle")
        yield cluster


def test_a_job_lives_on_its_drained_node_and_the_undrain_gives_the_node_back(cluster: Cluster) -> None:
    cluster.start_job()

    cluster.changed("drain", NODE, *SKIPPED, "--because", "ticket 4714: a board")

    assert (cluster.state(), cluster.jobs(), cluster.has_ended()) == ("draining", ["RUNNING"], False)
    cluster.end_job()
    cluster.becomes("drained")
    assert cluster.has_ended(), "the job was killed"
    cluster.changed("undrain", NODE, *SKIPPED, "--because", "ticket 4714: a new board")
    cluster.becomes("idle")


def test_ports_of_a_node_that_leaves_wait_for_its_job(cluster: Cluster) -> None:
    spec = (cluster.folder / "overlay.yaml").read_text()
    out = f"exceptions:\n  - {{device: {NODE}, state: out-of-service, reason: a board}}\n"
    (cluster.folder / "overlay.yaml").write_text(spec + out)
    cluster.start_job()
    ports = [cluster.fleet.run(name, "cat", "/etc/coop/agent.conf") for name in SWITCHES]
    seen: list[tuple[str, list[str], list[str]]] = []

    def end_the_job() -> None:
        while cluster.state() != "draining":
            time.sleep(0.2)
        time.sleep(3)
        now = [cluster.fleet.run(name, "cat", "/etc/coop/agent.conf") for name in SWITCHES]
        seen.append((cluster.state(), cluster.jobs(), now))
        cluster.end_job()

    watcher = threading.Thread(target=end_the_job)
    watcher.start()
    cluster.changed("up", *SKIPPED, "--reason", "a board", "--because", "hosts of a fleet")
    watcher.join(60)

    assert seen == [("draining", ["RUNNING"], ports)]
    assert cluster.has_ended(), "the job was killed"
    assert [cluster.fleet.run(name, "cat", "/etc/coop/agent.conf") for name in SWITCHES] != ports
    records = [json.loads(line) for line in (cluster.folder / "up/audit/rollouts.jsonl").read_text().splitlines()]
    waves = [sorted(entry["devices"]) for entry in records if entry["event"] == "wave"]
    assert waves == [[CONTROLLER], [CONTROLLER], [CONTROLLER], *([switch] for switch in SWITCHES)]
