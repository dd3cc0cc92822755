"""Releases that switches run, read by `visit` over SSH and over eAPI, beside those of the spec."""

from __future__ import annotations

import json
import shutil
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml
from tests.cli.own_process import command
from tests.deploy.ansible.eapi_server import PASSWORD, USER, Pki, Switch
from tests.lab.sshfleet import SshFleet, put
from tests.switches.test_managed_switch import managed_plan

from clusterwright.data_files import folder
from clusterwright.switches.nvue.system import running_release as release_of_cumulus
from clusterwright.switches.sonic.system import running_release as release_of_sonic

pytestmark = pytest.mark.usefixtures("pulumi_on_the_path")

RACK_SWITCH, ABOVE = "rtsw-p00r00", "ctsw-p00-00"
FILE = "/etc/sonic/sonic_version.yml"
WHERE = ("--target", "ansible", "--access", "access.yaml", "--format", "json")


@dataclass(frozen=True)
class Site:
    """A folder with a spec and an access file, a SONiC switch's host over SSH and an Arista switch over eAPI."""

    folder: Path
    fleet: SshFleet

    def owed(self, name: str) -> list[tuple[str, str]]:
        """What a visit to a switch that was never deployed lists beside that."""
        done = command("visit", "cluster.yaml", name, *WHERE, cwd=self.folder)
        assert done.returncode == 4, done.stderr
        (device,) = json.loads(done.stdout)["devices"]
        return [(debt["kind"], debt["what"]) for debt in device["owed"] if debt["kind"] != "new"]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    place = tmp_path_factory.mktemp("releases")
    (place / "pki").mkdir()
    pki = Pki(place / "pki")
    (place / "password").write_text(PASSWORD)
    (place / "password").chmod(0o600)
    for name in ("lab-roce.yaml", "lab-sonic.yaml"):
        shutil.copy(folder("inventory") / name, place / name)
    (place / "cluster.yaml").write_text("extends: lab-sonic.yaml\n")
    with SshFleet({RACK_SWITCH: "10.213.1.1"}) as fleet, fleet.as_controller():
        with socket.create_server(("127.0.1.1", 0)) as probe:
            port = probe.getsockname()[1]
        eapi = {"ca": "pki/ca.pem", "user": USER, "password_file": "password", "port": port, "answer_s": 20}
        access = {
            "private_key": str(fleet.private_key),
            "known_hosts": str(fleet.known_hosts),
            "addresses": {RACK_SWITCH: "10.213.1.1"},
            "eapi": {**eapi, "addresses": {ABOVE: "127.0.1.1"}},
        }
        (place / "access.yaml").write_text(yaml.safe_dump(access))
        with Switch(ABOVE, "127.0.1.1", port, pki):
            yield Site(place, fleet)


def test_a_release_is_read_over_ssh(site: Site) -> None:
    ((kind, what),) = site.owed(RACK_SWITCH)
    assert (kind, "its release is unknown" in what) == ("unknown", True), what
    put(site.fleet, RACK_SWITCH, FILE, "---\nbuild_version: '202605.1001-0a1b2c3d'\nasic_type: broadcom\n")
    assert site.owed(RACK_SWITCH) == []
    put(site.fleet, RACK_SWITCH, FILE, "---\nbuild_version: '202505.77-0a1b2c3d'\nasic_type: broadcom\n")
    words = "runs 202505.77-0a1b2c3d, and its files are written for 202605: the spec states none"
    assert site.owed(RACK_SWITCH) == [("release", words)]


def test_a_release_is_read_over_eapi(site: Site) -> None:
    assert site.owed(ABOVE) == []
    spec = (site.folder / "cluster.yaml").read_text()
    other = "fabrics: [{name: backend, tiers: [{role: ctsw, release: 4.34.2F}]}]\n"
    (site.folder / "cluster.yaml").write_text(spec + other)
    owed = site.owed(ABOVE)
    (site.folder / "cluster.yaml").write_text(spec)
    assert owed == [("release", "runs 4.33.1F, and the spec states 4.34.2F")]


def test_a_release_of_nvos_is_compared_where_the_spec_states_one(tmp_path: Path) -> None:
    """Its rows as the NVOS user manual v25.02.4282 prints them, on a Linux host that stands for the switch."""
    printed = "            operational\n----------  ----------------------------\nkernel      5.10.0-30-2-amd64\n"
    managed_plan(tmp_path, "q3400")
    spec = (tmp_path / "managed.yaml").read_text()
    stated = spec.replace("model: q3400, per", "model: q3400, release: 25.02.4282, per")
    with SshFleet({"leaf-00": "10.213.1.1"}) as fleet, fleet.as_controller():
        access = {"private_key": str(fleet.private_key), "known_hosts": str(fleet.known_hosts)}
        (tmp_path / "access.yaml").write_text(yaml.safe_dump({**access, "addresses": {"leaf-00": "10.213.1.1"}}))
        site = Site(tmp_path, fleet)
        (tmp_path / "cluster.yaml").write_text(spec)
        silent = command("visit", "cluster.yaml", "leaf-00", *WHERE, cwd=tmp_path)
        assert "the spec states none of NVOS, whose files are the same for all" in silent.stdout + silent.stderr
        (tmp_path / "cluster.yaml").write_text(stated)
        put(fleet, "leaf-00", "/usr/bin/nv", f"#!/bin/sh\nprintf '%s' '{printed}image       nvos-25.02.4014\n'\n")
        assert site.owed("leaf-00") == [("release", "runs 25.02.4014, and the spec states 25.02.4282")]
        put(fleet, "leaf-00", "/usr/bin/nv", f"#!/bin/sh\nprintf '%s' '{printed}image       nvos-25.02.4282\n'\n")
        assert site.owed("leaf-00") == []


def test_releases_are_read_where_the_systems_write_them() -> None:
    cumulus = 'DISTRIB_ID="Cumulus Linux"\nDISTRIB_RELEASE=5.10.0\nDISTRIB_DESCRIPTION="Cumulus Linux 5.10.0"\n'
    assert release_of_cumulus(cumulus) == "5.10.0"
    assert release_of_sonic("---\nbuild_version: '202511.3-0a1b2c3d'\ndebian_version: '13.1'\n") == "202511.3-0a1b2c3d"
    for read in (release_of_cumulus, release_of_sonic):
        with pytest.raises(ValueError, match="no "):
            read("# empty\n")
