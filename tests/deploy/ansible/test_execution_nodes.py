"""Shares of hosts on execution nodes: a real mesh of receptors, real workers, hosts with a real sshd."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.deploy.ansible.receptor_mesh import CONTROLLER, ReceptorMesh, program
from tests.lab.sshfleet import SshFleet

from clusterwright.artifact import Artifact
from clusterwright.deploy.ansible.execution import ConnectedMesh
from clusterwright.deploy.ansible.folder import KEPT_RUNS
from clusterwright.deploy.ansible.ssh import Access
from clusterwright.deploy.ansible.target import AnsibleTarget
from clusterwright.deploy.target import DeviceTree, Status, Unreachable, tree_digest

MOST_BYTES_A_RUN = 16 * 1024
SECRET = "only-in-the-stream-5be1"
HOSTS = {f"{pod}{index}": f"10.213.{number}.{index + 1}" for number, pod in enumerate("ab", 1) for index in range(3)}
PODS = {host: f"pod-{host[0]}" for host in HOSTS}


def tree(device: str) -> DeviceTree:
    files = {"etc/hostname": f"{device}\n", "etc/fleet-secret": f"{SECRET}\n"}
    return tuple(Artifact(device, path, text.encode(), "test", 0o600) for path, text in files.items())


def target_for(fleet: SshFleet, folder: Path, execution: ConnectedMesh, forks: int) -> AnsibleTarget:
    access = Access(HOSTS, fleet.private_key, fleet.known_hosts, execution=execution)
    return AnsibleTarget(folder, access, forks=forks, run_timeout_s=120, connect_timeout_s=5)


def left_behind(folder: Path) -> list[str]:
    """Files under ``folder`` with a secret in them, a private key of the hosts, or a packed job with both."""
    words = (SECRET.encode(), b"OPENSSH PRIVATE KEY", b'{"zipfile": ')
    found = []
    for path in folder.rglob("*"):
        with contextlib.suppress(OSError):  # gone meanwhile, or no file
            if path.parent.name != "pki" and any(word in path.read_bytes() for word in words):
                found.append(str(path))
    return found


def wait_until(true: Callable[[], bool], told: Callable[[], object] = str) -> None:
    """Until ``true``, for a minute at most; then fails with what it is ``told``."""
    deadline = time.monotonic() + 60
    while not true():
        assert time.monotonic() < deadline, told()
        time.sleep(0.05)


@contextlib.contextmanager
def once(true: Callable[[], bool], act: Callable[[], object]) -> Iterator[None]:
    """Has ``act`` happen beside the block, as soon as ``true``."""

    def watch() -> None:
        wait_until(true)
        act()

    acting = threading.Thread(target=watch)
    acting.start()
    yield
    acting.join()


@contextlib.contextmanager
def fleet_and_mesh() -> Iterator[tuple[SshFleet, ReceptorMesh]]:
    program()  # fetched, where it has to be, before this thread is in a network without a way out
    with (
        SshFleet(HOSTS) as fleet,
        fleet.as_controller(),
        ReceptorMesh({"exec-a": ("pod-a",), "exec-b": ("pod-b",)}) as mesh,
    ):
        yield fleet, mesh


@pytest.mark.slow
def test_a_node_that_dies_in_the_middle_has_its_share_done_by_another(tmp_path: Path) -> None:
    batch = {host: tree(host) for host in HOSTS}
    with fleet_and_mesh() as (fleet, mesh):
        target = target_for(fleet, tmp_path, mesh.execution(PODS, silent_after_s=20), forks=1)
        with once(lambda: fleet.run("b0", "hostname") == "b0\n", lambda: mesh.kill("exec-b")):
            outcomes = target.apply(batch)

        assert {host for host, outcome in outcomes.items() if outcome.ok} == set(HOSTS), outcomes
        assert {outcome.digest for outcome in outcomes.values()} == {tree_digest(each) for each in batch.values()}
        assert outcomes["a0"].notice == ""
        assert outcomes["b2"].notice.startswith("done by exec-a: exec-b: the mesh has had no route to it for ")
        assert outcomes["b2"].changed == ("etc/fleet-secret", "etc/hostname", "hostname:b2")
        assert [fleet.run(host, "hostname") for host in HOSTS] == [f"{host}\n" for host in HOSTS]

        again = target.apply(batch)
        assert {outcome.status for outcome in again.values()} == {Status.UNCHANGED}
        assert (again["a0"].notice, again["b0"].notice) == ("", "done by exec-a: exec-b: the mesh has no route to it")

        assert mesh.units(CONTROLLER) == mesh.units("exec-a") == []
        assert not left_behind(tmp_path)
        assert sum(path.stat().st_size for path in tmp_path.rglob("*") if path.is_file()) < KEPT_RUNS * MOST_BYTES_A_RUN
        assert not left_behind(mesh.folder / CONTROLLER)
        wait_until(lambda: not left_behind(mesh.folder / "exec-a"))  # a worker's folder goes when the worker is gone

        mesh.start("exec-b")
        mesh.wait_for({CONTROLLER, "exec-a", "exec-b"})
        # Routes are there a little before the node takes work; meanwhile the other one does it. An
        # order of that moment once went unanswered for as long as a silence may last, which is less
        # here than the minute that is waited.
        notices: list[str] = []

        def at_home_again() -> bool:
            notices.append(target.apply({"b0": batch["b0"]})["b0"].notice)
            return not notices[-1]

        wait_until(at_home_again, lambda: f"{notices}\n{mesh.logs()}")

        mesh.kill("exec-a")
        mesh.kill("exec-b")
        mesh.wait_for({CONTROLLER})
        nobody = target.apply(batch)
        assert {outcome.status for outcome in nobody.values()} == {Status.UNREACHABLE}
        assert nobody["a0"].message == (
            "no execution node is left to reach it from: exec-a: the mesh has no route to it; "
            "exec-b: the mesh has no route to it"
        )
        assert isinstance(target.read(["a0"])["a0"], Unreachable)


@pytest.mark.slow
def test_a_worker_that_is_killed_one_that_falls_silent_and_a_deployment_that_is_killed(tmp_path: Path) -> None:
    batch = {host: tree(host) for host in HOSTS if PODS[host] == "pod-b"}
    with fleet_and_mesh() as (fleet, mesh):
        target = target_for(fleet, tmp_path, mesh.execution(PODS, silent_after_s=8), forks=1)

        def working() -> bool:
            return fleet.run("b0", "hostname") == "b0\n"

        with once(working, lambda: mesh.signal("exec-b", "ansible-runner", signal.SIGKILL)):
            killed = target.apply(batch)
        assert {outcome.ok for outcome in killed.values()} == {True}, killed
        assert killed["b2"].notice == "done by exec-a: exec-b: its worker ended without a last word: signal: killed"

        fleet.run("b0", "hostname", "unnamed")
        with once(working, lambda: mesh.signal("exec-b", "", signal.SIGSTOP)):
            frozen = target.apply(batch)
        assert {outcome.ok for outcome in frozen.values()} == {True}, frozen
        assert frozen["b2"].notice.startswith("done by exec-a: exec-b: its worker has said nothing for ")
        mesh.signal("exec-b", "", signal.SIGCONT)

        fleet.run("b0", "hostname", "unnamed")
        deployment = os.fork()
        if deployment == 0:
            target.apply(batch)
            os._exit(0)
        wait_until(working)
        os.kill(deployment, signal.SIGKILL)
        os.waitpid(deployment, 0)
        (left,) = mesh.units(CONTROLLER)
        assert left_behind(mesh.folder / CONTROLLER), "what the work needs stays while it is under way"
        assert {outcome.ok for outcome in target.apply(batch).values()} == {True}
        assert not mesh.units(CONTROLLER), f"the unit {left} was ended and forgotten"
        wait_until(lambda: not mesh.units("exec-b"))
        wait_until(lambda: not left_behind(mesh.folder))


def test_receptor_lets_nobody_in_but_the_control_node_and_does_no_work_that_is_not_signed(tmp_path: Path) -> None:
    with ReceptorMesh({"exec-a": ()}) as mesh:
        order = '{"command": "work", "subcommand": "submit", "node": "exec-a", "worktype": "clusterwright", '
        for rest, refusal in (
            ('"tlsclient": "mesh"}', "could not verify signature"),
            (
                '"tlsclient": "mesh", "signwork": "true", "params": "--version"}',
                "extra params provided but not allowed",
            ),
        ):
            assert refusal in mesh.ask(CONTROLLER, order + rest, "{}"), rest

        mesh.kill(CONTROLLER)
        ReceptorMesh.make_keys(tmp_path, (CONTROLLER,))
        mesh.start(CONTROLLER, tmp_path / CONTROLLER / "pki")
        wait_until(lambda: "unknown authority" in mesh.logs())
        assert mesh.receptor.reachable() == {CONTROLLER}
