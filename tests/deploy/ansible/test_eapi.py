"""Switches over eAPI: a configuration that is not well on its own device undoes itself, whoever dies on the way."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import pickle
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tests.deploy.ansible.eapi_server import PASSWORD, USER, Pki, Switch

from clusterwright import data_files
from clusterwright.artifact import Artifact
from clusterwright.deploy.ansible.eapi import EapiAccess
from clusterwright.deploy.ansible.ssh import Access
from clusterwright.deploy.ansible.target import AnsibleTarget
from clusterwright.deploy.secrets.secrets import ResolvingTarget, names_in, resolve
from clusterwright.deploy.target import DeviceTree, Holding, Status, Unreachable, tree_digest
from clusterwright.output.rendering import Rendering
from clusterwright.plan.build import build_plan
from clusterwright.spec.load import load_spec
from clusterwright.switches.eos.reader.sections import PATH

CONFIGURATION = """\
! device: {name}
hostname {name}
snmp-server community tell-nobody ro
!
interface Ethernet1
   description {text}
   !
   no switchport
!
router bgp 65000
   neighbor 10.0.0.1 remote-as 65001
   neighbor 10.0.0.3 remote-as 65001
   address-family ipv4
      neighbor 10.0.0.1 activate
!
interface Ethernet2
   shutdown
"""


def tree(name: str, text: str = "new") -> DeviceTree:
    return (Artifact(name, PATH, CONFIGURATION.format(name=name, text=text).encode(), "eos"),)


@contextlib.contextmanager
def fleet(folder: Path, **faults: Mapping[str, Any]) -> Iterator[tuple[dict[str, Switch], EapiAccess]]:
    """Switches that run the configuration "old", at addresses of their own and, as in real life, at one port."""
    with socket.create_server(("127.0.1.1", 0)) as probe:
        port = probe.getsockname()[1]
    (folder / "pki").mkdir()
    pki = Pki(folder / "pki")
    password = folder / "password"
    password.write_text(f"{PASSWORD}\n")
    password.chmod(0o600)
    addresses = {name: f"127.0.1.{number}" for number, name in enumerate(faults, 1)}
    with contextlib.ExitStack() as stack:
        switches = {
            name: stack.enter_context(
                Switch(name, address, port, pki, CONFIGURATION.format(name=name, text="old"), **faults[name])
            )
            for name, address in addresses.items()
        }
        access = EapiAccess(
            addresses, pki.ca, None, None, USER, password, port=port, commit_timer_s=8, settle_s=3, answer_s=2
        )
        yield switches, access


def target_for(folder: Path, eapi: EapiAccess) -> AnsibleTarget:
    return AnsibleTarget(folder / "runs", Access({}, Path("no-key"), Path("no-hosts"), eapi=eapi), run_timeout_s=120)


def test_a_configuration_arrives_saved_and_confirmed_and_a_second_run_commits_nothing(tmp_path: Path) -> None:
    with fleet(tmp_path, s1={}, s2={}, bare={}) as (switches, access):
        switches["bare"].tree = {}  # from the factory: no name yet
        target = target_for(tmp_path, access)
        batch = {name: tree(name) for name in switches}
        before = {name: switch.running for name, switch in switches.items()}

        foreseen = target.apply(batch, check=True)
        assert {name: switch.running for name, switch in switches.items()} == before
        assert not any(switch.sessions for switch in switches.values())
        assert "-   description old\n+   description new\n" in foreseen["s1"].diff
        assert "+snmp-server community <removed>" in foreseen["bare"].diff

        first = target.apply(batch)
        assert {name: outcome.status for name, outcome in first.items()} == dict.fromkeys(batch, Status.APPLIED), first
        assert first["s1"].digest == tree_digest(batch["s1"])
        assert first["s1"].diff == foreseen["s1"].diff
        for name, switch in switches.items():
            assert (switch.armed, switch.startup == switch.tree, switch.commits) == (False, True, 1)
            assert f"hostname {name}\n" in switch.running
            assert "   address-family ipv4\n      neighbor 10.0.0.1 activate\n" in switch.running

        second = target.apply(batch)
        assert {outcome.status for outcome in second.values()} == {Status.UNCHANGED}
        assert {switch.commits for switch in switches.values()} == {1}
        assert isinstance(target.read(["s1"])["s1"], Holding)
        result = subprocess.run(
            ["grep", "-rlE", f"{PASSWORD}|tell-nobody", tmp_path / "runs"], capture_output=True, check=False
        )
        assert result.stdout == b""
        let_go = target.apply({"s1": ()})["s1"]
        assert (let_go.status, switches["s1"].commits) == (Status.UNCHANGED, 1)
        assert "keeps the configuration" in let_go.message


FAULTS: Mapping[str, Mapping[str, Any]] = {
    "line": {"refuse": "no switchport"},
    "mute": {"mute": "commit timer"},
    "late": {"mute": r"configure session \S+ commit$"},
    "deaf": {"deaf_s": 12},
    "lonely": {"lost": frozenset({"10.0.0.3"})},
    "swapped": {"impostor": "SN-other"},
    "taken": {},
    "wrong": {},
    "well": {},
}
STATUS = dict.fromkeys(FAULTS, Status.FAILED) | dict.fromkeys(("mute", "late", "well"), Status.APPLIED)
MESSAGE = {
    "line": "line 8, 'no switchport': Invalid input (at token 1)",
    "deaf": "; the previous configuration is back",
    "lonely": "1 of 2 BGP neighbours did not come back: default 10.0.0.3; the previous configuration is back",
    "swapped": "after the commit swapped (SN-other) answers at its address; the previous configuration is back",
    "taken": "calls itself somebody, not taken",
    "wrong": "its certificate is not that of wrong",
}


def test_what_is_not_well_afterwards_is_taken_back_and_what_is_well_stays(tmp_path: Path) -> None:
    with fleet(tmp_path, **FAULTS) as (switches, access):
        switches["taken"].tree["hostname somebody"] = {}
        del switches["taken"].tree["hostname taken"]
        addresses = {**access.addresses, "wrong": access.addresses["well"], "gone": "127.0.1.250"}
        reached = dataclasses.replace(access, addresses=addresses)
        before = {name: switch.running for name, switch in switches.items()}

        outcomes = dict(target_for(tmp_path, reached).apply({name: tree(name) for name in addresses}))

        gone = outcomes.pop("gone")
        assert gone.status is Status.FAILED
        assert "Connection refused" in gone.message
        assert {name: outcome.status for name, outcome in outcomes.items()} == STATUS, outcomes
        assert {name: text for name, text in MESSAGE.items() if text not in outcomes[name].message} == {}, outcomes
        for name, switch in switches.items():
            assert not switch.armed
            if STATUS[name] is Status.FAILED:
                assert switch.running == before[name]
            else:
                assert "description new" in switch.running
                assert switch.startup == switch.tree

        switches["lonely"].faults.lost = frozenset()
        again = target_for(tmp_path, access).apply({"lonely": tree("lonely")})["lonely"]
        assert again.status is Status.APPLIED, again


def test_who_dies_between_commit_and_confirmation_leaves_the_timer_and_the_next_run_converges(tmp_path: Path) -> None:
    script = "import pickle, sys\ntarget, batch = pickle.load(sys.stdin.buffer)\ntarget.apply(batch)\n"
    committed: list[float] = []
    with fleet(tmp_path, s1={}) as (switches, access):
        s1 = switches["s1"]
        target = target_for(tmp_path, access)
        before = s1.running

        def kill_after_commit(command: str) -> None:
            if command == "show configuration sessions detail" and s1.armed and not committed:
                committed.append(time.monotonic())
                for process in family(run.pid):
                    os.kill(process, signal.SIGKILL)

        s1.faults.on = kill_after_commit
        run = subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE)
        assert run.stdin is not None
        run.stdin.write(pickle.dumps((target, {"s1": tree("s1")})))
        run.stdin.close()
        assert run.wait(60) == -signal.SIGKILL
        assert s1.armed
        assert "description new" in s1.running

        again = target.apply({"s1": tree("s1")})["s1"]

        assert again.status is Status.APPLIED, again
        assert "-   description old\n" in again.diff, "the timer had taken the first one back"
        assert s1.commits == 2
        assert s1.running != before
        assert not s1.armed


def family(process: int) -> list[int]:
    """A process and all its descendants."""
    found = [process]
    for parent in found:
        for task in Path(f"/proc/{parent}/task").iterdir():
            found += [int(child) for child in (task / "children").read_text().split()]
    return found


def test_a_client_certificate_takes_the_place_of_a_password_and_a_password_others_can_read_is_refused(
    tmp_path: Path,
) -> None:
    with fleet(tmp_path, s1={}) as (switches, access):
        for pki, expected in ((switches["s1"].pki, Holding), (Pki(tmp_path), Unreachable)):
            certificate, key = pki.certificate("deployer")
            caller = dataclasses.replace(access, certificate=certificate, key=key, password_file=None, user="")
            assert isinstance(target_for(tmp_path, caller).read(["s1"])["s1"], expected)
        assert access.password_file is not None
        access.password_file.chmod(0o644)
        answer = target_for(tmp_path, access).read(["s1"])["s1"]
        assert isinstance(answer, Unreachable)
        assert "can be read by others" in answer.message


def test_a_rendered_configuration_is_taken_whole_with_its_secrets_put_in_on_the_way(tmp_path: Path) -> None:
    plan = build_plan(load_spec(data_files.folder("inventory") / "lab-roce.yaml"))
    name = next(device.name for device in plan.devices_of("ctsw"))
    (artifact,) = [item for item in Rendering(plan).of_devices([name]) if item.path == PATH]
    names = names_in(artifact.content)
    with fleet(tmp_path, **{name: {}}) as (switches, access):
        target = target_for(tmp_path, access)
        missing = target.apply({name: (artifact,)})[name]
        assert (missing.status, "<secret" in missing.message) == (Status.FAILED, True)

        values = dict.fromkeys(names, "whispered") | {"netops-hash": "$6$whispered$" + "w" * 86}
        outcome = ResolvingTarget(target, lambda: values, tmp_path).apply({name: (artifact,)})[name]

        assert outcome.status is Status.APPLIED, outcome
        assert outcome.digest == tree_digest((artifact,))
        assert "whispered" not in repr(outcome)
        text = resolve(artifact.content, values).decode()
        wanted = {line.strip() for line in text.splitlines() if not line.strip().startswith("!")}
        assert {line.strip() for line in switches[name].running.splitlines() if line != "!"} == wanted - {"", "end"}
