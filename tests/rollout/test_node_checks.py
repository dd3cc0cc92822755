"""Gates that ask nodes: the rendered programs, run over SSH on hosts with a packet filter and sysctls of their own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.deploy.ansible.lab_access import EXEMPT, frontend_address
from tests.lab.sshfleet import SshFleet

from clusterwright.data_files import folder
from clusterwright.deploy.ansible.query import CommandResult, Devices, RemoteCommand
from clusterwright.deploy.ansible.ssh import Access
from clusterwright.deploy.ansible.target import AnsibleTarget
from clusterwright.deploy.target import Unreachable
from clusterwright.device_files.effect import Effect
from clusterwright.output.rendering import Rendering
from clusterwright.plan.build import build_plan
from clusterwright.plan.model import Plan
from clusterwright.rollout.gates.node_checks import NodeIsolation, NodeVerdicts
from clusterwright.rollout.waves import Wave
from clusterwright.spec.load import load_spec
from clusterwright.spec.rollout import GatePolicy

ONE, OTHER = "gpu-p00r00n0", "gpu-p00r00n1"
WAVE = Wave("pod0", "rack", False, ("p00r00",), (ONE, OTHER), Effect.LIVE, ("p00r00",), 1.0, "", "", "")
TREES = {ONE: "a", OTHER: "b"}


@dataclass(frozen=True)
class Nodes:
    """Two nodes with their rendered trees."""

    plan: Plan
    fleet: SshFleet
    devices: Devices

    def verdicts(self, deadline_s: int = 20, waiting: frozenset[str] = frozenset()) -> NodeVerdicts:
        return NodeVerdicts(self.plan, self.devices, GatePolicy(deadline_s), waiting)

    def isolation(self, deadline_s: int = 20) -> NodeIsolation:
        return NodeIsolation(self.plan, self.devices, GatePolicy(deadline_s))


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nodes]:
    plan = build_plan(load_spec(folder("inventory") / "lab-roce.yaml"))
    addresses = {name: frontend_address(plan, name) for name in (ONE, OTHER)}
    controller = frontend_address(plan, plan.devices_of("service")[0].name)
    with SshFleet(addresses, controller, "fe0") as fleet, fleet.as_controller():
        access = Access(addresses, fleet.private_key, fleet.known_hosts, exempt=EXEMPT)
        target = AnsibleTarget(tmp_path_factory.mktemp("runs"), access)
        outcomes = target.apply({name: Rendering(plan).of_device(name) for name in addresses})
        assert all(outcome.ok for outcome in outcomes.values()), outcomes
        yield Nodes(plan, fleet, Devices(access))


def test_what_a_node_lacked_before_the_wave_does_not_count_and_what_the_wave_broke_does(nodes: Nodes) -> None:
    gate = nodes.verdicts(deadline_s=3)
    before = gate.before(WAVE)
    assert "gpu-count" in before[ONE], "this host is no GPU node, and its own check says so"

    unchanged = gate.after(WAVE, TREES, before)
    nodes.fleet.run(ONE, "nft", "flush", "ruleset")
    broken = gate.after(WAVE, TREES, before)
    nodes.fleet.run(ONE, "nft", "-f", "/etc/nftables.conf")

    assert (unchanged.asked, unchanged.wrong) == (2, {})
    assert unchanged.notes[0].startswith(f"{ONE} was unhealthy before and is no worse: ")
    assert list(broken.wrong) == [ONE]
    assert broken.wrong[ONE].startswith("is unhealthy: packet-filter (")


def test_a_node_that_never_answered_before_is_excused_for_nothing(nodes: Nodes) -> None:
    said = nodes.verdicts(deadline_s=3).after(WAVE, TREES, {})

    assert set(said.wrong) == {ONE, OTHER}
    assert "gpu-count (" in said.wrong[ONE]


def test_a_node_that_is_to_boot_first_gives_no_verdict(nodes: Nodes) -> None:
    said = nodes.verdicts(deadline_s=3, waiting=frozenset(TREES)).after(WAVE, TREES, {})

    assert (said.asked, said.wrong) == (0, {})
    assert said.notes == ("2 nodes have to be booted before the files count: no verdict was asked",)


def verdict_by(nodes: Nodes, script: str) -> Mapping[str, str]:
    """What is said of a node whose check is this program."""
    program = "/usr/local/sbin/node-health"
    nodes.fleet.run(ONE, "cp", program, "/tmp/node-health")
    nodes.fleet.run(ONE, "sh", "-c", f"printf '%s\n' '#!/bin/sh' '{script}' > {program}")
    said = nodes.verdicts(deadline_s=1).after(WAVE, {ONE: "a"}, {})
    nodes.fleet.run(ONE, "cp", "/tmp/node-health", program)
    return said.wrong


@pytest.mark.parametrize(
    ("script", "told"),
    [
        ("sleep 30", "gives no verdict: /usr/local/sbin/node-health did not end within 1 s"),
        ("echo no configuration >&2; exit 2", "gives no verdict: no configuration"),
        (f'echo {{\\"node\\": \\"{OTHER}\\", \\"ok\\": true, \\"checks\\": []}}', f"gives the verdict of {OTHER}"),
    ],
    ids=["late", "none", "another's"],
)
def test_no_verdict_is_no_health(nodes: Nodes, script: str, told: str) -> None:
    assert verdict_by(nodes, script) == {ONE: told}


def test_a_node_that_is_open_after_a_wave_is_named_with_the_rules_that_differ(nodes: Nodes) -> None:
    gate = nodes.isolation(deadline_s=12)

    closed = gate.after(WAVE, TREES, None)
    chain = nodes.fleet.run(OTHER, "sh", "-c", "nft list chains | awk '/table/ {t=$2\" \"$3} /chain input/ {print t}'")
    table = chain.split("\n")[0].split()
    nodes.fleet.run(OTHER, "nft", "insert", "rule", *table, "input", "tcp", "dport", "8080", "accept")
    opened = gate.after(WAVE, TREES, None)
    nodes.fleet.run(OTHER, "nft", "-f", "/etc/nftables.conf")

    assert (closed.asked, closed.wrong) == (2, {})
    assert list(opened.wrong) == [OTHER]
    assert opened.wrong[OTHER].startswith("is open: ")
    assert "+ tcp dport 8080 accept" in opened.wrong[OTHER]


def test_asking_keeps_to_known_hosts_and_to_its_limits(nodes: Nodes, tmp_path: Path) -> None:
    access = nodes.devices.access
    strangers = tmp_path / "known_hosts"
    strangers.write_text("")
    unknown = Devices(Access(access.addresses, access.private_key, strangers))

    refused = unknown.run({ONE: RemoteCommand(("true",), 5)})[ONE]
    nowhere = nodes.devices.run({"nobody": RemoteCommand(("true",), 5)})["nobody"]
    missing = nodes.devices.run({ONE: RemoteCommand(("no-such-program",), 5)})[ONE]

    assert refused == Unreachable("Host key verification failed.")
    assert nowhere == Unreachable("the access file has no address for it")
    assert missing == CommandResult(127, "", "no-such-program: No such file or directory")
