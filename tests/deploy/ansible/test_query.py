"""Asking devices over SSH: with the deployment's own rights, within limits, one device's silence is never another's."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest
from tests.deploy.ansible.test_fleet import fleet_of

from clusterwright.deploy.ansible import query as asking
from clusterwright.deploy.ansible.query import CommandResult, Devices, RemoteCommand
from clusterwright.deploy.ansible.ssh import Access
from clusterwright.deploy.target import Unreachable


def test_a_program_runs_as_root_by_the_documented_line_of_sudoers_alone() -> None:
    documented = (Path(__file__).parents[3] / "docs/deploy.md").read_text()
    (sudoers,) = [line for line in documented.splitlines() if line.startswith("deploy ALL=(root)")]
    with fleet_of("n0") as fleet:
        fleet.run("n0", "useradd", "--create-home", "--password", "*", "deploy")
        fleet.run("n0", "chmod", "644", "/etc/ssh/fleet_authorized_keys")
        fleet.run("n0", "sh", "-c", 'echo "$0" > /etc/sudoers.d/clusterwright', sudoers)
        address = {"n0": fleet.hosts["n0"].address}
        devices = Devices(Access(address, fleet.private_key, fleet.known_hosts, user="deploy"))

        assert devices.run({"n0": RemoteCommand(("id", "-un"), 5)}) == {"n0": CommandResult(0, "root\n", "")}


def test_who_does_not_answer_is_given_up_and_the_others_are_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking, "CONNECT_S", 1)
    with fleet_of("n0", "cut") as fleet, socket.create_server(("127.0.0.8", 22)):
        addresses = {name: host.address for name, host in fleet.hosts.items()} | {"hung": "127.0.0.8"}
        fleet.cut("cut")
        devices = Devices(Access(addresses, fleet.private_key, fleet.known_hosts))
        command = ("sh", "-c", "echo begun; sleep 613")

        result = devices.run(
            {
                "n0": RemoteCommand(("echo", "here"), 1),
                "cut": RemoteCommand(("id",), 1),
                "hung": RemoteCommand(("id",), 1),
            }
        )
        late = devices.run({"n0": RemoteCommand(command, 1)})

        assert result["n0"] == CommandResult(0, "here\n", "")
        assert isinstance(result["cut"], Unreachable)
        assert isinstance(result["hung"], Unreachable)
        assert "timed out" in result["hung"].message or result["hung"].message.startswith("no answer from 127.0.0.8")
        assert late["n0"] == CommandResult(124, "", "sh did not end within 1 s")
        assert fleet.run("n0", "sh", "-c", "pgrep -f '^sleep 613' || true") == "", (
            "nothing is left behind on the device"
        )
