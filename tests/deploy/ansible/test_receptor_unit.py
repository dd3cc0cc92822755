"""An execution node's rendered files on a machine with a systemd of its own, as they are but for its address."""

from __future__ import annotations

import io
import subprocess
import tarfile
from pathlib import Path

from tests.deploy.ansible.receptor_mesh import ReceptorMesh, program
from tests.hosts.test_receptor import OVERLAY
from tests.lab.sshfleet import SshFleet
from tests.plans import plan_with

from clusterwright.hosts.receptor.writer import UNIT
from clusterwright.output.rendering import Rendering

NODE, ADDRESS = "svc-v01n0", "10.213.1.1"


def machine_files(folder: Path) -> bytes:
    """The node's files, its certificates and receptor itself, as a tar."""
    ReceptorMesh.make_keys(folder, (NODE,))
    files = {
        artifact.path: (artifact.content, artifact.mode)
        for artifact in Rendering(plan_with(folder, "lab-roce", OVERLAY)).of_devices([NODE])
        if artifact.kind == "receptor"
    }
    (planned,) = [line for line in files["etc/clusterwright/receptor.conf"][0].splitlines() if b"bindaddr" in line]
    config = files["etc/clusterwright/receptor.conf"][0].replace(planned, f"    bindaddr: {ADDRESS}".encode())
    files["etc/clusterwright/receptor.conf"] = config, 0o644
    files["usr/bin/receptor"] = Path(program()).read_bytes(), 0o755
    for pem in (folder / NODE / "pki").iterdir():
        files[f"etc/pki/clusterwright/mesh/{pem.name}"] = pem.read_bytes(), 0o600
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for path, (content, mode) in files.items():
            member = tarfile.TarInfo(path)
            member.size, member.mode = len(content), mode
            archive.addfile(member, io.BytesIO(content))
    return packed.getvalue()


def test_systemd_runs_an_execution_node_and_leaves_nothing_of_it(tmp_path: Path) -> None:
    packed = machine_files(tmp_path)
    with SshFleet({"node": ADDRESS}, systemd=True) as fleet, fleet.as_controller():
        login = ["-i", str(fleet.private_key), "-o", f"UserKnownHostsFile={fleet.known_hosts}", f"root@{ADDRESS}"]
        subprocess.run(["ssh", *login, "tar -x -C / && systemd-sysusers"], input=packed, check=True)
        fleet.run("node", "chown", "-R", "clusterwright-mesh", "/etc/pki/clusterwright/mesh")
        fleet.run("node", "systemctl", "daemon-reload")
        fleet.run("node", "systemctl", "start", UNIT)
        waiting = "until ss -Hltn | grep -q :27199; do systemctl is-active --quiet $0 || exit 1; sleep 0.1; done"
        fleet.run("node", "timeout", "60", "sh", "-c", waiting, UNIT)
        assert fleet.run("node", "stat", "-c", "%U %a", "/run/clusterwright-receptor") == "clusterwright-mesh 750\n"
        assert fleet.run("node", "systemctl", "is-active", UNIT) == "active\n"

        fleet.run("node", "systemctl", "stop", UNIT)
        assert "clusterwright-receptor" not in fleet.run("node", "ls", "/run")
