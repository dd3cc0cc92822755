"""The gate that scans an InfiniBand fabric: real scans of a simulated one, fetched over SSH from a host of it."""

from __future__ import annotations

import gzip
from base64 import b64encode
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.lab.sshfleet import SshFleet
from tests.observe.netfile import NetFile, hdr_plan, scan

from clusterwright.deploy.ansible.query import Devices
from clusterwright.deploy.ansible.ssh import Access
from clusterwright.device_files.effect import Effect
from clusterwright.plan.model import Plan
from clusterwright.rollout.gates.subnet import SubnetScan
from clusterwright.rollout.waves import Wave
from clusterwright.spec.rollout import GatePolicy

MANAGER, LEAF, SPINE = "gpu-s00r00n0", "leaf-s00-00", "spine-01"
PROGRAM = "/usr/local/bin/ibnetdiscover"


def wave_of(*devices: str) -> Wave:
    return Wave("upper", "switch", False, devices, devices, Effect.RESTART, (), 1.0, "", "", "")


@dataclass(frozen=True)
class Fabric:
    plan: Plan
    fleet: SshFleet
    folder: Path

    @property
    def gate(self) -> SubnetScan:
        access = Access({MANAGER: "10.213.1.1"}, self.fleet.private_key, self.fleet.known_hosts)
        return SubnetScan(self.plan, Devices(access), GatePolicy(1))

    def becomes(self, net: NetFile, name: str) -> None:
        """The host finds the fabric as ``net`` has it."""
        folder = self.folder / name
        folder.mkdir()
        packed = b64encode(gzip.compress(scan(net, folder).read_bytes())).decode()
        self.answers(f"test \"$*\" = '--Ca mlx5_0' && echo {packed} | base64 -d | gunzip")

    def answers(self, script: str) -> None:
        """What a scan on the host runs."""
        text = f"#!/bin/sh\n{script}\n"
        self.fleet.run(MANAGER, "sh", "-c", 'printf %s "$0" > $1; chmod 755 $1', text, PROGRAM)


@pytest.fixture(scope="module")
def fabric(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fabric]:
    folder = tmp_path_factory.mktemp("subnet")
    folder.chmod(0o755)
    with SshFleet({MANAGER: "10.213.1.1"}) as fleet, fleet.as_controller():
        yield Fabric(hdr_plan(folder), fleet, folder)


def test_a_link_that_is_gone_after_the_wave_counts_and_one_that_was_gone_before_does_not(fabric: Fabric) -> None:
    net = NetFile.of(fabric.plan)
    net.cut(net.end(LEAF, next(c.a.port for c in fabric.plan.cables_of[LEAF] if c.a.device == LEAF)))
    fabric.becomes(net, "before")
    wave = wave_of(LEAF, SPINE)
    before = fabric.gate.before(wave)
    unchanged = fabric.gate.after(wave, dict.fromkeys(wave.devices, "x"), before)
    cable = next(c for c in fabric.plan.cables_of[SPINE] if c.a.device == "leaf-s01-00")
    net.cut(net.end(SPINE, cable.b.port))
    fabric.becomes(net, "after")

    said = fabric.gate.after(wave, dict.fromkeys(wave.devices, "x"), before)
    by_manager = fabric.gate.after(wave_of(MANAGER), {MANAGER: "x"}, before)

    assert unchanged.wrong == {}
    assert unchanged.notes == ("backend differed from the plan in 1 places before the wave: they do not count",)
    assert list(said.wrong) == [SPINE]
    assert f"backend is not as before: no link between leaf-s01-00 {cable.a.port} and {SPINE} " in said.wrong[SPINE]
    assert by_manager.wrong == {MANAGER: said.wrong[SPINE]}, "whoever routes the fabric answers for all of it"


def test_a_fabric_that_cannot_be_scanned_is_not_well(fabric: Fabric) -> None:
    fabric.answers("echo no port is up >&2; exit 1")
    wave = wave_of(LEAF, "leaf-s00-01")

    said = fabric.gate.after(wave, {LEAF: "x"}, fabric.gate.before(wave))

    assert said.wrong == {LEAF: f"backend cannot be scanned: {MANAGER}: no port is up"}


def test_other_fabrics_and_nodes_ask_for_no_scan(fabric: Fabric) -> None:
    other = next(d.name for d in fabric.plan.devices if d.kind == "switch" and d.fabric == "frontend")
    wave = wave_of(other, "gpu-s00r00n1")

    assert fabric.gate.before(wave) == {}
    assert fabric.gate.after(wave, dict.fromkeys(wave.devices, "x"), {}).asked == 0
