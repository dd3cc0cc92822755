"""Pulumi decides, Ansible carries: a pod's nodes deployed over SSH by the same command."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from tests.deploy.ansible.lab_access import EXEMPT, frontend_address
from tests.lab.sshfleet import SshFleet

from clusterwright import data_files
from clusterwright.deploy.targets import TargetSettings, read_access
from clusterwright.finding import ClusterwrightError, SpecError
from clusterwright.plan.build import build_plan
from clusterwright.spec.load import load_spec

BIN = Path(sys.executable).parent
NODES = [f"gpu-p00r0{rack}n{slot}" for rack in range(2) for slot in range(2)]

pytestmark = pytest.mark.usefixtures("pulumi_on_the_path")


def test_a_pod_is_deployed_over_ssh_and_a_node_that_refuses_is_named_and_taken_up_again(tmp_path: Path) -> None:
    reference = data_files.folder("inventory") / "lab-roce.yaml"
    spec = tmp_path / "spec.yaml"
    gates = "gates: {verdicts: {deadline_s: 5}, isolation: {deadline_s: 20, budget: 0}}"
    spec.write_text(reference.read_text().replace("racks_at_once: 1}", f"racks_at_once: 1, {gates}}}"))
    plan = build_plan(load_spec(spec))
    addresses = {name: frontend_address(plan, name) for name in NODES}
    controller = frontend_address(plan, plan.devices_of("service")[0].name)
    access = tmp_path / "access.yaml"
    root = tmp_path / "up"

    def up(*more: str) -> subprocess.CompletedProcess[str]:
        options = ("--pod", "pod0", "--target", "ansible", "--access", str(access), "--root", str(root))
        command = (str(BIN / "clusterwright"), "up", str(spec), *options, *more)
        return subprocess.run(command, capture_output=True, text=True, check=False)

    with SshFleet(addresses, controller, "fe0") as fleet, fleet.as_controller():
        keys = {"private_key": str(fleet.private_key), "known_hosts": str(fleet.known_hosts)}
        access.write_text(yaml.safe_dump({**keys, "addresses": addresses, "exempt": EXEMPT}))
        fleet.run(NODES[3], "mkdir", "/etc/nccl.conf")

        first = up()

        assert first.returncode != 0
        assert f"1 of 2 devices of p00r01 did not reach the wanted state: {NODES[3]}: failed" in first.stdout
        for name in NODES[:3]:
            assert fleet.run(name, "test", "-s", "/etc/nccl.conf") == ""

        # The first update has not ended: what it left goes out as it began.
        fleet.run(NODES[3], "rmdir", "/etc/nccl.conf")
        second = up("--reason", "mended")

        assert second.returncode == 0, second.stdout + second.stderr
        assert fleet.run(NODES[3], "test", "-s", "/etc/nccl.conf") == ""
        assert "at once and without gates" in second.stderr
        assert "nothing changed" in up().stderr

        # A host without GPUs, which could not say before the wave that it lacks them.
        fleet.run(NODES[0], "rm", "/usr/local/sbin/node-health")
        spec.write_text(spec.read_text().replace("netdev_max_backlog: 250000", "netdev_max_backlog: 260000"))
        third = up("--reason", "deeper queues")

        # From here on the pod runs: it changes in waves, and its nodes are asked.
        assert third.returncode == 3, third.stdout + third.stderr
        assert "after each wave, verdicts: every changed node checks itself again" in third.stderr
        assert f"{NODES[0]}: is unhealthy: gpu-count (" in third.stdout

        half = up("--skip-gate", "verdicts")
        assert "--because REASON belongs to --accept-refuted CHECK, --skip-gate GATE" in half.stderr
        fleet.run(NODES[2], "rm", "/usr/local/sbin/node-health")
        fourth = up("--reason", "deeper queues", "--skip-gate", "verdicts", "--because", "hosts of a lab, without GPUs")

        assert fourth.returncode == 0, fourth.stdout + fourth.stderr

    records = [json.loads(line) for line in (root / "audit/rollouts.jsonl").read_text().splitlines()]
    waves = [record for record in records if record["event"] == "wave"]
    stopped = next(record for record in waves if record["stopped"])
    assert [gate["gate"] for gate in stopped["gates"]] == ["files", "sessions", "subnet", "verdicts", "isolation"]
    assert "gpu-count (" in stopped["gates"][3]["wrong"][NODES[0]]
    assert f"{NODES[1]} was unhealthy before and is no worse: " in stopped["gates"][3]["told"][0]
    assert [(gate["gate"], gate["asked"], gate["wrong"]) for gate in waves[-1]["gates"]] == [
        ("files", 2, {}),
        ("sessions", 0, {}),
        ("subnet", 0, {}),
        ("isolation", 2, {}),
    ]
    *_, approved = [record for record in records if record["event"] == "resumed"]
    assert [(gate["gate"], gate["deadline_s"], gate["budget"]) for gate in approved["gates"]] == [
        ("files", None, None),
        ("sessions", 180, None),
        ("subnet", 180, None),
        ("isolation", 20, 0),
    ]
    why = "left out by its operator: hosts of a lab, without GPUs"
    assert approved["left_out"] == [{"gate": "verdicts", "why": why}]
    answers = [answer for record in records for answer in record.get("answers", ())]
    assert [(answer["what"], answer["reason"]) for answer in answers] == [
        ("gate not asked: verdicts", "hosts of a lab, without GPUs")
    ]


def test_a_bad_access_file_is_refused_with_positions(tmp_path: Path) -> None:
    access = tmp_path / "access.yaml"
    access.write_text("private_key: id\nknown_host: known_hosts\naddresses: {}\n")

    with pytest.raises(SpecError) as refused:
        read_access(access)

    assert [finding.position.line for finding in refused.value.findings][-2:] == [2, 3]
    assert "known_hosts" in str(refused.value)


@pytest.mark.parametrize("mark", [" ", "%h", "{{ x }}", "${HOME}", "'", '"', "\\", "\t", "\u00a0"])
def test_paths_that_ssh_or_ansible_would_read_as_something_else_are_refused(tmp_path: Path, mark: str) -> None:
    (tmp_path / "plain").mkdir()
    access = tmp_path / f"of{mark}us/access.yaml"
    access.parent.mkdir()
    text = "known_hosts: ../plain/hosts\naddresses: {n0: 10.0.0.1}\nprivate_key: "
    access.write_text(text + "id\n")
    with pytest.raises(SpecError, match="would read as something else") as refused:
        read_access(access)
    assert [(finding.position.line, finding.path) for finding in refused.value.findings] == [(3, "private_key")]

    access.write_text(text + "../plain/id\n")
    assert read_access(access).private_key == tmp_path / "plain/id"

    (tmp_path / "plain/id").symlink_to(access.parent / "id")
    with pytest.raises(SpecError, match="would read as something else"):
        read_access(access)


def test_paths_for_eapi_are_refused_where_they_are_templates_and_so_is_the_runs_folder(tmp_path: Path) -> None:
    text = "private_key: /plain/id\nknown_hosts: /plain/hosts\naddresses: {n0: 10.0.0.1}\n"
    eapi = "eapi: {ca: ca.pem, addresses: {s0: 10.0.0.2}}\n"
    folder = tmp_path / "{{ 7 }} %"
    folder.mkdir()
    (folder / "access.yaml").write_text(text + eapi)
    with pytest.raises(SpecError, match=r"access\.yaml:4:12: .*would read as something else"):
        read_access(folder / "access.yaml")

    (folder / "access.yaml").write_text(text)
    with pytest.raises(ClusterwrightError, match="takes for a template; deploy from another folder"):
        TargetSettings("ansible", folder, folder / "access.yaml").open()


def test_an_access_file_reaches_nodes_over_ssh_and_switches_over_eapi(tmp_path: Path) -> None:
    access = tmp_path / "access.yaml"
    access.write_text(
        "private_key: id\nknown_hosts: known_hosts\naddresses: {n0: 10.0.0.1}\nswitch_overs:\n"
        "  - {name: opensm, files: [etc/opensm/*], activate: [[pkill, -HUP, opensm]]}\n"
        "eapi: {ca: pki/ca.pem, user: deploy, password_file: secret, addresses: {s0: 10.0.0.2}, commit_timer_s: 60}\n"
    )

    read = read_access(access)

    assert read.eapi is not None
    assert (read.eapi.ca, read.eapi.commit_timer_s) == (tmp_path / "pki/ca.pem", 60)
    assert read.switch_overs[0]["name"] == "opensm"
    assert TargetSettings("ansible", tmp_path, access).carries(["s0", "n1", "n0"]) == ("s0", "n0")
    access.write_text(access.read_text().replace("user: deploy, ", ""))
    with pytest.raises(SpecError, match="user"):
        read_access(access)
