"""Kills of Ansible in the middle of its work over SSH, a host that never answers, and what runs leave behind."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from tests.lab.sshfleet import SshFleet

from clusterwright.artifact import Artifact
from clusterwright.deploy.ansible.folder import KEPT_RUNS
from clusterwright.deploy.ansible.ssh import Access
from clusterwright.deploy.ansible.target import AnsibleTarget
from clusterwright.deploy.target import DeviceTree, Status, tree_digest

KILLS = 5
MOST_BYTES_A_RUN = 64 * 1024


def tree(device: str, backlog: int) -> DeviceTree:
    files = {
        "etc/hostname": f"{device}\n",
        "etc/nccl.conf": f"NCCL_BUFFSIZE={backlog}\n",
        "etc/sysctl.d/90-lab.conf": f"net.ipv4.tcp_rmem = 4096 {backlog} 9999999\n",
        **{f"etc/systemd/network/20-{number}.network": f"# {backlog}\n" * 40 for number in range(20)},
    }
    return tuple(Artifact(device, path, text.encode(), "test") for path, text in sorted(files.items()))


@contextlib.contextmanager
def fleet_of(*names: str) -> Iterator[SshFleet]:
    with SshFleet({name: f"10.213.1.{index}" for index, name in enumerate(names, 1)}) as fleet, fleet.as_controller():
        yield fleet


def target_for(fleet: SshFleet, folder: Path, **more: str) -> AnsibleTarget:
    addresses = {**{name: host.address for name, host in fleet.hosts.items()}, **more}
    access = Access(addresses, fleet.private_key, fleet.known_hosts)
    return AnsibleTarget(folder / "runs", access, run_timeout_s=120, connect_timeout_s=3)


def playbooks_below(pid: int) -> list[int]:
    """The processes of ansible-playbook that this process started, its forks included."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            with contextlib.suppress(OSError):
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
    found = []
    for one in parents:
        above = one
        while above not in (0, 1, pid):
            above = parents.get(above, 0)
        with contextlib.suppress(OSError):
            if above == pid and b"ansible-playbook" in Path(f"/proc/{one}/cmdline").read_bytes():
                found.append(one)
    return sorted(found)


def killed_after(delay_s: float, done: threading.Event) -> bool:
    """Wait for ansible-playbook, then kill it and its forks after ``delay_s``; False when the run was over by then."""
    while not playbooks_below(os.getpid()):
        if done.wait(0.05):
            return False
    time.sleep(delay_s)
    victims = [] if done.is_set() else playbooks_below(os.getpid())
    for pid in victims:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return bool(victims)


def test_a_killed_ansible_is_never_taken_for_success_and_the_next_attempt_converges(tmp_path: Path) -> None:
    chance = random.Random(3_072)
    with fleet_of("n0", "n1") as fleet:
        target = target_for(fleet, tmp_path)
        killed = 0
        for number in range(KILLS):
            batch = {name: tree(name, 20_000 + number) for name in fleet.hosts}
            done = threading.Event()
            hits: list[bool] = []
            killer = threading.Thread(
                target=lambda done=done, hits=hits: hits.append(killed_after(chance.uniform(0.5, 2.5), done))
            )
            killer.start()
            torn = target.apply(batch)
            done.set()
            killer.join()
            killed += hits[0]

            for name, outcome in torn.items():
                if outcome.ok:  # the device itself listed what it holds, in a run that came to its end
                    assert outcome.digest == tree_digest(batch[name])
                elif hits[0]:
                    assert outcome.status is Status.UNKNOWN
                    assert outcome.message.startswith("Ansible did not come to its end")
            again = target.apply(batch)
            assert all(outcome.ok for outcome in again.values()), again
            assert fleet.run("n0", "cat", "/etc/nccl.conf") == f"NCCL_BUFFSIZE={20_000 + number}\n"
            assert fleet.run("n1", "cat", "/proc/sys/net/ipv4/tcp_rmem").split()[1] == str(20_000 + number)
        assert killed
        assert {outcome.status for outcome in target.apply(batch).values()} == {Status.UNCHANGED}


def test_a_host_that_accepts_and_never_answers_is_out_of_reach_and_the_others_are_done(tmp_path: Path) -> None:
    with fleet_of("n0") as fleet, socket.create_server(("127.0.0.9", 22)):
        target = target_for(fleet, tmp_path, hung="127.0.0.9")

        outcomes = target.apply({name: tree(name, 20_000) for name in ("n0", "hung")})

        assert outcomes["n0"].status is Status.APPLIED
        assert outcomes["hung"].status is Status.UNREACHABLE
        assert "timed out" in outcomes["hung"].message.lower()


def test_what_runs_leave_behind_is_bounded_in_number_and_size(tmp_path: Path) -> None:
    with fleet_of("n0") as fleet:
        target = target_for(fleet, tmp_path)
        (tmp_path / "runs").mkdir()
        for number in range(KEPT_RUNS + 5):  # runs of long ago
            (tmp_path / "runs" / f"run-{number:08}" / "artifacts").mkdir(parents=True)

        target.apply({"n0": tree("n0", 20_000)})

        runs = sorted((tmp_path / "runs").glob("run-*"))
        assert len(runs) <= KEPT_RUNS
        (latest,) = (run for run in runs if any(run.glob("artifacts/*/rc")))
        assert not list(latest.glob("artifacts/*/job_events/*")), "events are heard, not kept"
        assert sum(path.stat().st_size for path in latest.rglob("*") if path.is_file()) < MOST_BYTES_A_RUN
