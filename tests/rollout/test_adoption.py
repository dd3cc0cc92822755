"""The page on clusters that run, walked over SSH and eAPI: a switch of others and a node are taken up as they are."""

from __future__ import annotations

import shutil
import socket
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml
from tests.cli.own_process import command
from tests.deploy.ansible.eapi_server import PASSWORD, USER, Pki, Switch
from tests.deploy.ansible.lab_access import EXEMPT, frontend_address
from tests.lab.sshfleet import SshFleet

from clusterwright.data_files import folder
from clusterwright.plan.build import build_plan
from clusterwright.spec.load import load_spec

pytestmark = [pytest.mark.usefixtures("pulumi_on_the_path"), pytest.mark.slow]

NODE, DEAD, SWITCH, DEAF = "gpu-p00r00n0", "gpu-p00r00n1", "ctsw-p00-00", "ctsw-p00-01"
SECRETS = {
    "bgp-backend": "of-the-backend",
    "netops-hash": "$6$abcdefgh$" + "a" * 86,
    "snmp-auth": "of-authentication",
    "snmp-privacy": "of-privacy",
    "tacacs-key": "of-tacacs",
}


@dataclass(frozen=True)
class Site:
    """A folder with a spec, secrets and access files; a switch of others, and a node that clusterwright deployed."""

    folder: Path
    fleet: SshFleet
    switch: Switch
    deaf: socket.socket
    pki: Pki

    def run(self, *words: str, access: str = "alive.yaml", root: str = "up") -> subprocess.CompletedProcess[str]:
        where = ("--target", "ansible", "--access", access, "--secrets", "secrets.yaml", "--root", root)
        action, *options = words
        return command(action, "cluster.yaml", *options, *where, cwd=self.folder)

    def refresh(self, access: str = "alive.yaml") -> subprocess.CompletedProcess[str]:
        done = self.run("refresh", "--reason", "taking the cluster over", access=access)
        assert done.returncode == 0, done.stdout + done.stderr
        return done

    def preview(self) -> str:
        done = self.run("preview", "--no-engine")
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    (tmp_path / "pki").mkdir()
    (tmp_path / "secrets").mkdir()
    pki = Pki(tmp_path / "pki")
    for name, value in {**SECRETS, "password": PASSWORD}.items():
        file = tmp_path / "secrets" / name
        file.write_text(value + "\n")
        file.chmod(0o600)
    sources = [{"name": name, "source": "file", "file": f"secrets/{name}"} for name in SECRETS]
    (tmp_path / "secrets.yaml").write_text(yaml.safe_dump({"secrets": sources}))
    shutil.copy(folder("inventory") / "lab-roce.yaml", tmp_path / "cluster.yaml")
    plan = build_plan(load_spec(tmp_path / "cluster.yaml"))
    addresses = {name: frontend_address(plan, name) for name in (NODE, DEAD)}
    controller = frontend_address(plan, plan.devices_of("service")[0].name)
    with (
        SshFleet(addresses, controller, "fe0") as fleet,
        fleet.as_controller(),
        socket.create_server(("127.0.1.2", 0)) as deaf,  # takes connections, and never answers
        Switch(SWITCH, "127.0.1.1", deaf.getsockname()[1], pki) as switch,
    ):
        port = deaf.getsockname()[1]
        nodes = {"private_key": str(fleet.private_key), "known_hosts": str(fleet.known_hosts), "exempt": list(EXEMPT)}
        eapi = {"ca": "pki/ca.pem", "user": USER, "password_file": "secrets/password", "port": port, "answer_s": 5}
        switches = {SWITCH: "127.0.1.1", DEAF: "127.0.1.2"}
        over_eapi = {"eapi": {**eapi, "addresses": switches}}
        alive = {NODE: addresses[NODE]}
        (tmp_path / "node.yaml").write_text(yaml.safe_dump({**nodes, "addresses": alive}))
        (tmp_path / "access.yaml").write_text(yaml.safe_dump({**nodes, "addresses": addresses, **over_eapi}))
        (tmp_path / "alive.yaml").write_text(yaml.safe_dump({**nodes, "addresses": alive, **over_eapi}))
        yield Site(tmp_path, fleet, switch, deaf, pki)


def test_a_cluster_of_others_is_taken_over_step_by_step(site: Site) -> None:
    """Step 1 is the spec, which is there, and 2 compares cables, which has tests of its own."""
    deployed = site.run("up", "--pod", "pod0", "--yes", access="node.yaml", root="lost")
    assert deployed.returncode == 0, deployed.stderr
    site.fleet.cut(DEAD)
    spec = site.folder / "cluster.yaml"

    collected = command("observe", spec, "--collect", "--access", "access.yaml", cwd=site.folder)
    assert collected.returncode == 2, collected.stderr
    for name in (DEAD, DEAF):
        assert f"{name}: not compared: " in collected.stderr
    assert f"{SWITCH} mnt/flash/startup-config: " in collected.stdout

    for step in ("lint", "verify"):
        done = command(step, spec, cwd=site.folder)
        assert done.returncode == 0, done.stdout + done.stderr

    before = site.switch.running
    taken = site.refresh("access.yaml")
    assert f"2 devices did not answer, and are not taken up: {DEAD}, {DEAF}." in taken.stderr
    assert "taken up as they are: 2 devices that no state knows of" in taken.stderr
    assert f"1 of 2 devices hold something else: {SWITCH}." in taken.stderr
    assert "+router bgp 4200010000" in taken.stdout
    assert site.switch.running == before

    preview = site.preview()
    assert f"ctsw {SWITCH}: pod 0, drifted; restarts" in preview
    assert f"1 devices did not answer, and no state knows whether they run: {DEAF}." in preview
    assert NODE not in preview

    first = site.run("up", "--device", SWITCH, "--reason", "the first device", "--yes")
    assert first.returncode == 0, first.stdout + first.stderr
    assert "at once and without gates" not in first.stderr
    assert "router bgp 4200010000" in site.switch.running

    # A device that runs and answers later is none that is new.
    port = site.deaf.getsockname()[1]
    site.deaf.close()
    with Switch(DEAF, "127.0.1.2", port, site.pki) as late:
        assert f"ctsw {DEAF}: pod 0, drifted; restarts" in site.preview()
        taken = site.refresh()
        assert "taken up as they are: 1 devices that no state knows of" in taken.stderr
        assert f"1 of 3 devices hold something else: {DEAF}." in taken.stderr
        assert late.commits == 0
