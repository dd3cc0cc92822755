"""A packet filter that locks the control node out is taken back by the device itself, with nobody's help."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from tests.lab.sshfleet import SshFleet

from clusterwright.artifact import Artifact
from clusterwright.deploy.ansible.ssh import Access
from clusterwright.deploy.ansible.target import AnsibleTarget
from clusterwright.deploy.target import DeviceTree, Status

TABLE = "flush ruleset\ntable inet lab {{\n  chain input {{\n    type filter hook input priority filter\n{}  }}\n}}\n"
OPEN = "    tcp dport 23 drop\n"
# Not even the connection that brought it goes on, and: that connection goes on, but no new one comes in.
SHUT = "    tcp dport 22 drop\n"
ESTABLISHED = "    ct state established,related accept\n    tcp dport 22 drop\n"


def tree(device: str, rules: str, forward: int) -> DeviceTree:
    files = {
        "etc/hostname": f"{device}\n",
        "etc/nftables.conf": TABLE.format(rules),
        "etc/sysctl.d/90-lab.conf": f"net.ipv4.ip_forward = {forward}\n",
    }
    return tuple(Artifact(device, path, text.encode(), "test") for path, text in files.items())


def test_a_filter_that_locks_the_control_node_out_is_taken_back_on_the_device(tmp_path: Path) -> None:
    rules = {"shut": SHUT, "established": ESTABLISHED, "well": "    tcp dport 22 accept\n    drop\n"}
    addresses = {name: f"10.214.1.{number}" for number, name in enumerate(rules, 1)}
    with SshFleet(addresses, "10.214.0.1") as fleet, fleet.as_controller():
        access = Access(addresses, fleet.private_key, fleet.known_hosts, trial_s=12)
        target = AnsibleTarget(tmp_path, access, run_timeout_s=150, connect_timeout_s=5)
        first = target.apply({name: tree(name, OPEN, 0) for name in addresses})
        assert {outcome.status for outcome in first.values()} == {Status.APPLIED}, first
        before = {name: fleet.run(name, "nft", "--stateless", "list", "ruleset") for name in addresses}

        outcomes = target.apply({name: tree(name, text, 1) for name, text in rules.items()})

        assert {name: outcome.status for name, outcome in outcomes.items()} == {
            "shut": Status.FAILED,
            "established": Status.FAILED,
            "well": Status.APPLIED,
        }, outcomes
        for name in ("shut", "established"):
            assert "nobody reached this device anew under its new packet filter" in outcomes[name].message
            assert fleet.run(name, "nft", "--stateless", "list", "ruleset") == before[name]
            assert fleet.run(name, "cat", "/etc/nftables.conf") == TABLE.format(OPEN)
            assert fleet.run(name, "cat", "/proc/sys/net/ipv4/ip_forward") == "0\n", "a device changes as a whole"
        assert "nftables:running" in outcomes["well"].changed
        assert "tcp dport 22 accept" in fleet.run("well", "nft", "list", "ruleset")
        assert fleet.run("well", "sh", "-c", "ls -d /var/lib/clusterwright/trial-* 2>/dev/null || true") == ""

        again = target.apply({name: tree(name, "    tcp dport 24 drop\n", 1) for name in ("shut", "established")})
        assert {outcome.status for outcome in again.values()} == {Status.APPLIED}, again


def test_who_dies_in_the_trial_leaves_a_device_that_goes_back_and_a_failure_after_it_restores_the_filter(
    tmp_path: Path,
) -> None:
    addresses = {"n0": "10.214.1.1"}
    with SshFleet(addresses, "10.214.0.1", systemd=True) as fleet, fleet.as_controller():
        access = Access(addresses, fleet.private_key, fleet.known_hosts, trial_s=3)
        target = AnsibleTarget(tmp_path, access, run_timeout_s=150, connect_timeout_s=5)
        assert target.apply({"n0": tree("n0", OPEN, 0)})["n0"].ok
        before = fleet.run("n0", "nft", "--stateless", "list", "ruleset")

        broken = (
            *tree("n0", "    tcp dport 25 drop\n", 1),
            Artifact("n0", "etc/modules-load.d/x.conf", b"no_such\n", "t"),
        )
        refused = dataclasses.replace(target).apply({"n0": broken})["n0"]
        assert (refused.status, "kernel module no_such" in refused.message) == (Status.FAILED, True)
        assert fleet.run("n0", "nft", "--stateless", "list", "ruleset") == before

        # As a control node leaves it that was killed between the two tasks.
        left = "/var/lib/clusterwright/trial-pending-0123456789abcdef"
        boot = fleet.run("n0", "cat", "/proc/sys/kernel/random/boot_id").strip()
        write = 'mkdir -p "$0"; echo "$1 1" > "$0/terms"; echo "flush ruleset\n$2" > "$0/previous.nft"'
        fleet.run("n0", "sh", "-c", write, left, boot, before)
        fleet.run("n0", "nft", "flush", "ruleset")
        outcome = target.apply({"n0": tree("n0", OPEN, 0)})["n0"]
        assert outcome.status is Status.UNCHANGED, "the trial was ended, and what ran before it is what is wanted"
        assert fleet.run("n0", "nft", "--stateless", "list", "ruleset") == before


def test_a_filter_that_a_device_started_with_is_kept_and_a_rule_more_is_found(tmp_path: Path) -> None:
    """As nodes do that boot with an image: no deployment loaded their filter, and there is nothing to try."""
    addresses = {"same": "10.214.1.1", "more": "10.214.1.2"}
    with SshFleet(addresses, "10.214.0.1") as fleet, fleet.as_controller():
        access = Access(addresses, fleet.private_key, fleet.known_hosts, trial_s=20)
        target = AnsibleTarget(tmp_path, access, run_timeout_s=150, connect_timeout_s=5)
        for name in addresses:
            fleet.run(name, "nft", TABLE.format(OPEN))
        fleet.run("more", "nft", "add rule inet lab input tcp dport 25 accept")
        handles = ("nft", "--handle", "list", "ruleset")
        before = fleet.run("same", *handles)

        outcomes = target.apply({name: tree(name, OPEN, 0) for name in addresses})

        assert {outcome.status for outcome in outcomes.values()} == {Status.APPLIED}, outcomes
        assert "nftables:running" not in outcomes["same"].changed
        assert "nftables:running" in outcomes["more"].changed
        assert fleet.run("same", *handles) == before, "it was not loaded again"
        rules = {name: fleet.run(name, "nft", "--stateless", "list", "ruleset") for name in addresses}
        assert rules["same"] == rules["more"]

        fleet.run("same", "nft", "add rule inet lab input tcp dport 25 accept")
        assert target.apply({"same": tree("same", OPEN, 0)})["same"].changed == ("nftables:running",)
        assert fleet.run("same", "nft", "--stateless", "list", "ruleset") == rules["same"]
