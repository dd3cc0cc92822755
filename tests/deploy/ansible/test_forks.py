"""A process that drives stacks starts others beside gRPC's threads: Ansible on its own terminal, workers by fork."""

from __future__ import annotations

import os
import pty
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.in_process import command

from clusterwright.data_files import folder
from clusterwright.extras.lab.namespaces import inside, remove_namespaces, run_ip

NAMESPACE = "forks.beside"

pytestmark = pytest.mark.usefixtures("pulumi_on_the_path")


@pytest.fixture
def network() -> Iterator[str]:
    """A network of its own, from which nothing of this machine is reached."""
    remove_namespaces(NAMESPACE)
    run_ip(f"netns add {NAMESPACE}\n")
    try:
        yield NAMESPACE
    finally:
        remove_namespaces(NAMESPACE)


def said_by_a_child() -> str:
    """What a program says that is started as ansible-runner starts Ansible, with all that is said before it begins."""
    child, terminal = pty.fork()
    if child == 0:
        os.execvp("sleep", ["sleep", "0.2"])
    said = b""
    try:
        while part := os.read(terminal, 4096):
            said += part
    except OSError:  # the other end is closed
        pass
    os.close(terminal)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    return said.decode()


def test_threads_of_grpc_stay_where_they_are_and_say_nothing_in_children(network: str, tmp_path: Path) -> None:
    """Started anew behind a fork, they were in the network that the forking thread was in, and found no engine."""
    spec = folder("inventory") / "lab-roce.yaml"
    arguments = ("preview", spec, "--pod", "pod0", "--root", tmp_path / "up")
    before = command(*arguments, cwd=tmp_path)
    assert before.returncode == 0, before.stdout + before.stderr
    with inside(network):
        assert [said_by_a_child() for _ in range(3)] == [""] * 3
    after = command(*arguments, cwd=tmp_path)
    assert after.returncode == 0, after.stdout + after.stderr
