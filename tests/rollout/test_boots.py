"""Nodes that have to boot: through the scheduler's host over SSH, each once, however often the rollout is begun."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.lab.sshfleet import SshFleet
from tests.plans import plan_of, plan_with

from clusterwright.deploy.ansible.query import Devices
from clusterwright.deploy.ansible.ssh import Access
from clusterwright.device_files.effect import Effect
from clusterwright.finding import ClusterwrightError
from clusterwright.output.rendering import Rendering
from clusterwright.rollout.gates import boots
from clusterwright.rollout.gates.boots import BootNote, SlurmBoots
from clusterwright.rollout.gates.selection import device_gates
from clusterwright.rollout.ledger import UnderWay
from clusterwright.rollout.waves import Wave
from clusterwright.spec.rollout import BootPolicy

NODES = ("gpu-p00r00n0", "gpu-p00r00n1")
CONTROLLER = "svc-v00n0"
WAVE = Wave("pod0", "rack", False, ("p00r00",), NODES, Effect.REBOOT, ("p00r00",), 1.0, "", "", "")
TREES = dict.fromkeys(NODES, "x")
ROLLOUT = UnderWay("20260301T020000-abc", "digest", ("lab-roce-pod0",), (WAVE,))


@dataclass(frozen=True)
class Cluster:
    """Two nodes and a controller whose scontrol notes what it is told, and refuses while /tmp/refuses is there."""

    fleet: SshFleet
    devices: Devices

    def gate(self, root: Path, deadline_s: int = 20, manifest: str = "digest") -> SlurmBoots:
        note = BootNote(root / "rollout/boots.json", manifest)
        return SlurmBoots(
            self.devices,
            BootPolicy(deadline_s, 1800),
            frozenset(NODES),
            dict.fromkeys(NODES, CONTROLLER),
            ROLLOUT.name,
            note,
        )

    def boots(self, node: str) -> None:
        """As a boot would, the kernel makes up another id."""
        script = "cat /proc/sys/kernel/random/uuid > /tmp/boot; mount --bind /tmp/boot /proc/sys/kernel/random/boot_id"
        self.fleet.run(node, "sh", "-ec", script)

    def orders(self) -> list[str]:
        """What Slurm was told so far."""
        return self.fleet.run(CONTROLLER, "sh", "-c", "cat /tmp/orders 2>/dev/null; rm -f /tmp/orders").splitlines()


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    addresses = {name: f"10.213.1.{number}" for number, name in enumerate((*NODES, CONTROLLER), 1)}
    with SshFleet(addresses) as fleet, fleet.as_controller():
        script = (
            '#!/bin/sh\\necho "$@" >> /tmp/orders\\n'
            "test ! -e /tmp/refuses || { echo slurm_reboot error: Access denied >&2; exit 1; }\\n"
        )
        fleet.run(
            CONTROLLER, "sh", "-c", f"printf '{script}' > /usr/local/bin/scontrol; chmod 755 /usr/local/bin/scontrol"
        )
        yield Cluster(fleet, Devices(Access(addresses, fleet.private_key, fleet.known_hosts)))


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(boots, "POLL_S", 0.2)


def test_nodes_are_drained_and_booted_by_one_order_and_waited_for(cluster: Cluster, tmp_path: Path) -> None:
    gate = cluster.gate(tmp_path)
    before = gate.before(WAVE)

    def slurm() -> None:
        while not cluster.fleet.run(CONTROLLER, "sh", "-c", "cat /tmp/orders 2>/dev/null || true"):
            time.sleep(0.1)
        for node in NODES:
            cluster.boots(node)

    with ThreadPoolExecutor(1) as pool:
        booting = pool.submit(slurm)
        said = gate.after(WAVE, TREES, before)
        booting.result()

    assert (said.asked, said.wrong) == (2, {})
    assert said.notes == ("gpu-p00r00n0 booted", "gpu-p00r00n1 booted")
    assert cluster.orders() == [
        "reboot ASAP nextstate=RESUME reason=clusterwright 20260301T020000-abc gpu-p00r00n[0-1]"
    ]


def test_who_booted_before_the_rollout_was_killed_is_not_booted_again(cluster: Cluster, tmp_path: Path) -> None:
    cluster.gate(tmp_path).before(WAVE)
    cluster.boots(NODES[0])

    gate = cluster.gate(tmp_path, deadline_s=1)
    said = gate.after(WAVE, TREES, gate.before(WAVE))

    assert said.wrong == {NODES[1]: "has not booted within 1 s"}
    assert cluster.orders()[0].endswith(f" {NODES[1]}")
    other = cluster.gate(tmp_path, manifest="another rollout's")
    assert set(other.before(WAVE)) == set(NODES)
    assert other.note.read() != gate.note.read() == {}


def test_what_slurm_says_against_it_is_told_for_each_node(cluster: Cluster, tmp_path: Path) -> None:
    cluster.fleet.run(CONTROLLER, "touch", "/tmp/refuses")
    gate = cluster.gate(tmp_path, deadline_s=1)

    said = gate.after(WAVE, TREES, gate.before(WAVE))
    cluster.fleet.run(CONTROLLER, "rm", "/tmp/refuses")
    cluster.orders()

    assert said.wrong[NODES[0]] == "has not booted within 1 s; Slurm says: slurm_reboot error: Access denied"


def test_a_node_whose_boot_was_not_known_before_is_not_booted(cluster: Cluster, tmp_path: Path) -> None:
    said = cluster.gate(tmp_path).after(WAVE, {NODES[0]: "x"}, {})

    assert said.wrong == {NODES[0]: "did not say in which boot it was, and is not booted"}
    assert cluster.orders() == []


def test_boots_are_asked_of_slurm_only_where_the_spec_says_so(cluster: Cluster, tmp_path: Path) -> None:
    effects = dict.fromkeys(NODES, Effect.REBOOT)
    plain, asks = plan_of("lab-roce"), plan_with(tmp_path, "lab-roce", "rollout: {boots: {deadline_s: 7200}}\n")
    access = cluster.devices.access
    lonely = Devices(Access({NODES[0]: "10.213.1.1"}, access.private_key, access.known_hosts))

    without = device_gates(plain, cluster.devices, effects, rollout=ROLLOUT, root=tmp_path, skipped={})
    gates = device_gates(asks, cluster.devices, effects, rollout=ROLLOUT, root=tmp_path, skipped={})

    assert "boots" not in [gate.name for gate in without.asked]
    assert [gate.name for gate in gates.asked] == ["boots", "sessions", "subnet", "verdicts", "isolation"]
    assert next(gates.lines).endswith("booted and given back by Slurm, through svc-v00n0, within 7200 s")
    with pytest.raises(ClusterwrightError, match=r"no address for its controller, svc-v00n0\. Nothing was touched"):
        device_gates(asks, lonely, effects, rollout=ROLLOUT, root=tmp_path, skipped={})


def test_scontrol_itself_takes_the_order_by_the_rendered_configuration(tmp_path: Path) -> None:
    """Without a controller to carry it out: it finds a program for boots, and no fault in the words of the order."""
    plan = plan_with(tmp_path, "lab-roce", "rollout: {boots: {deadline_s: 7200, boot_s: 900}}\n")
    tree = Rendering(plan).of_device(CONTROLLER)
    files = {each.path: each.content.decode() for each in tree if each.kind == "slurm"}
    text = files["etc/slurm/slurm.conf"]
    assert "ResumeTimeout=900\n" in text
    assert "RebootProgram" not in str(Rendering(plan_of("lab-roce")).of_device(CONTROLLER))
    for name in ("slurm.conf", "topology.conf", "cgroup.conf", "gres.conf"):
        (tmp_path / name).write_text(files[f"etc/slurm/{name}"])
    (tmp_path / "slurm.conf").write_text(text.replace("AuthType=auth/munge", "AuthType=auth/none\nMessageTimeout=2"))

    def scontrol(*order: str) -> str:
        environment = {**os.environ, "SLURM_CONF": str(tmp_path / "slurm.conf")}
        command = ("timeout", "10", "scontrol", "reboot", *order, NODES[0])
        return subprocess.run(command, capture_output=True, text=True, check=False, env=environment).stderr

    assert "too many arguments" in scontrol("ASAP", "nextstat=RESUME", "reason=clusterwright 1")
    accepted = scontrol("ASAP", "nextstate=RESUME", "reason=clusterwright 1")
    assert "too many arguments" not in accepted
    assert "RebootProgram" not in accepted
