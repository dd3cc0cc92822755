"""A machine is installed where it is marked for it, once, and starts from its disk at every other start.

Firmware starts from the network first, as machines do that were installed over it: the boot server's script decides.
"""

from __future__ import annotations

import hashlib
import subprocess
from ipaddress import ip_address
from pathlib import Path

import pytest
from tests.network_boot.installer import FROM_DISK, INSTALLED, offer
from tests.network_boot.machine import powered_on
from tests.network_boot.test_power_on import HERE, NODES, site, until

from clusterwright.extras.lab.namespaces import inside
from clusterwright.plan.boot import boot_nics, format_mac
from clusterwright.plan.model import Plan
from clusterwright.rules.engine import lint_path

SPEC = "two-machines-disk.yaml"
NODE, OTHER = NODES
STEP_S = 300

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1500)]


def test_the_spec_is_clean() -> None:
    # No Ubuntu was installed from what is rendered, which lint notes (CW176).
    assert [finding.code for finding in lint_path(HERE / SPEC).findings] == ["CW176"]


def _digest(disk: Path) -> str:
    return hashlib.sha256(disk.read_bytes()).hexdigest()


def test_an_installed_machine_keeps_its_disk_when_it_starts_from_the_network(tmp_path: Path) -> None:
    def built(tree: Path, plan: Plan) -> None:
        nic = boot_nics(plan)[NODE][0]
        address = f"{ip_address(nic.interface.address or 0)}/{nic.interface.prefix_length}"
        subnet = plan.host_subnet_of["frontend", nic.switch]
        gateway = str(ip_address(subnet.gateway or 0))
        offer(tree, "ubuntu-noble", format_mac(nic.mac), address, gateway, tmp_path / "installer")

    disk = tmp_path / "disk"
    with disk.open("wb") as stream:
        stream.truncate(16 << 20)
    empty = _digest(disk)
    with site(SPEC, tmp_path, built) as place:
        mark = [
            "nsenter",
            "--target",
            str(place.process),
            "--mount",
            str(place.tree / "usr/local/sbin/mark-for-install"),
        ]
        with powered_on(place.plan, NODE, place.rack, tmp_path / NODE, disk) as machine:
            # Nobody marked it: it looks for a system on its disk.
            until(lambda: "not marked for installing" in machine.console, STEP_S, machine)
            assert _digest(disk) == empty
            assert subprocess.run([*mark, "no-such-node"], check=False).returncode == 2
            subprocess.run([*mark, NODE], check=True)
            machine.reset()
            until(lambda: f"{INSTALLED} {NODE}" in machine.said, STEP_S, machine)
            until(lambda: machine.console.count(FROM_DISK) == 1, STEP_S, machine)
            installed = _digest(disk)
            assert installed != empty
            machine.reset()
            until(lambda: machine.console.count(FROM_DISK) == 2, STEP_S, machine)
            assert _digest(disk) == installed
            assert machine.said.count(INSTALLED) == 1
        # An installer that somebody starts by hand takes no mark, and wipes nothing.
        early = (tmp_path / "installer/root/early.sh").read_text()
        url = f"http://[{place.address}]/installing/{NODE}"
        (tmp_path / "cmdline").write_text(f"quiet clusterwright.mark={url} clusterwright.node={NODE}\n")
        with inside(place.rack.namespace):
            bound = f"mount --bind {tmp_path}/cmdline /proc/cmdline\n{early}"
            again = subprocess.run(
                ["unshare", "--mount", "sh", "-c", bound], capture_output=True, text=True, check=False
            )
        assert again.returncode == 22, again.stderr  # 404
