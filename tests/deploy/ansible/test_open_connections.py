"""What is open when a packet filter is loaded stays open, and is named where no rule allows it."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.lab.sshfleet import SshFleet

from clusterwright.artifact import Artifact
from clusterwright.deploy.ansible.ssh import Access
from clusterwright.deploy.ansible.target import AnsibleTarget
from clusterwright.deploy.target import DeviceTree, Status

CONTROLLER, ADDRESS = "10.214.0.1", "10.214.1.1"
SSH_ALONE = """flush ruleset
table inet lab {
  chain input {
    type filter hook input priority filter; policy drop;
    ct state established,related accept
    tcp dport 22 accept
  }
  chain output {
    type filter hook output priority filter; policy drop;
    ct state established,related accept
  }
}
"""
# A host that asks the controller, and goes on with what it is told to send.
CLIENT = """
import socket, sys, time
server = socket.create_connection(("10.214.0.1", int(sys.argv[1])))
while True:
    data = server.recv(64)
    if not data: break
    server.send(data)
"""


def tree(rules: str) -> DeviceTree:
    files = {"etc/hostname": "n0\n", "etc/nftables.conf": rules}
    return tuple(Artifact("n0", path, text.encode(), "test") for path, text in files.items())


@pytest.fixture(scope="module")
def fleet() -> Iterator[SshFleet]:
    with SshFleet({"n0": ADDRESS}, CONTROLLER) as hosts, hosts.as_controller():
        yield hosts


def opened(fleet: SshFleet, port: int) -> socket.socket:
    """The controller's end of a connection that the host has opened."""
    with socket.create_server((CONTROLLER, port)) as listening:
        listening.settimeout(10)
        fleet.run("n0", "sh", "-c", f"python3 -c '{CLIENT}' {port} >/dev/null 2>&1 &")
        connection, _ = listening.accept()
    connection.settimeout(5)
    return connection


def answers(connection: socket.socket) -> bool:
    connection.send(b"read")
    try:
        return connection.recv(64) == b"read"
    except TimeoutError:
        return False


@pytest.mark.parametrize("trial_s", [0, 12])
def test_an_open_connection_goes_on_and_is_named(fleet: SshFleet, tmp_path: Path, trial_s: int) -> None:
    fleet.run("n0", "nft", "flush", "ruleset")
    port = 5000 + trial_s
    target = AnsibleTarget(tmp_path, Access({"n0": ADDRESS}, fleet.private_key, fleet.known_hosts, trial_s=trial_s))
    with opened(fleet, port) as connection:
        assert answers(connection)

        rules = SSH_ALONE.replace("lab", f"lab{trial_s}")
        foreseen = target.apply({"n0": tree(rules)}, check=True)["n0"]
        outcome = target.apply({"n0": tree(rules)})["n0"]

        for each in (foreseen, outcome):
            assert each.ok, each
            assert f"to {CONTROLLER}:{port}" in each.message
        # The controller speaks first, which the host's filter would take for a new connection.
        assert answers(connection)
    again = target.apply({"n0": tree(rules)})["n0"]
    assert (again.status, again.message) == (Status.UNCHANGED, "")


def test_a_disk_over_the_network_without_a_flow_stops_the_load(fleet: SshFleet, tmp_path: Path) -> None:
    fleet.run("n0", "nft", "flush", "ruleset")
    target = AnsibleTarget(tmp_path, Access({"n0": ADDRESS}, fleet.private_key, fleet.known_hosts, trial_s=5))
    with opened(fleet, 3260) as connection:
        outcome = target.apply({"n0": tree(SSH_ALONE)})["n0"]
        assert outcome.status is Status.FAILED
        assert "is iSCSI, perhaps this machine's own disk, and no flow allows it" in outcome.message
        assert answers(connection)
        allowed = SSH_ALONE.replace(
            "hook output priority filter; policy drop;",
            f"hook output priority filter; policy drop;\n    ip daddr {{ {CONTROLLER} }} tcp dport 3260 accept",
        )
        outcome = target.apply({"n0": tree(allowed)})["n0"]
        assert outcome.ok, outcome
        assert answers(connection)


def test_a_filter_of_other_interfaces_is_refused_by_name(fleet: SshFleet, tmp_path: Path) -> None:
    fleet.run("n0", "nft", "flush", "ruleset")
    target = AnsibleTarget(tmp_path, Access({"n0": ADDRESS}, fleet.private_key, fleet.known_hosts, trial_s=5))
    rules = SSH_ALONE.replace("tcp dport 22 accept", 'iifname { "fe0", "fe1" } tcp dport 22 accept')
    outcome = target.apply({"n0": tree(rules)})["n0"]
    assert outcome.status is Status.FAILED
    assert "names fe0, fe1, and this device has" in outcome.message
    assert fleet.run("n0", "nft", "list", "ruleset") == ""


def test_rules_of_others_stay_where_a_file_has_one_table(fleet: SshFleet, tmp_path: Path) -> None:
    fleet.run("n0", "nft", "flush", "ruleset")
    fleet.run("n0", "nft", "add table ip docker; add chain ip docker nat { type nat hook postrouting priority 100; }")
    target = AnsibleTarget(tmp_path, Access({"n0": ADDRESS}, fleet.private_key, fleet.known_hosts, trial_s=5))
    alone = SSH_ALONE.replace("flush ruleset", "table inet lab\ndelete table inet lab")
    outcome = target.apply({"n0": tree(alone)})["n0"]
    assert outcome.ok, outcome
    listed = fleet.run("n0", "nft", "list", "ruleset")
    assert "table ip docker" in listed
    assert "table inet lab" in listed
    assert target.apply({"n0": tree(alone)})["n0"].status is Status.UNCHANGED
