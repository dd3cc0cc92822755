"""systemd-networkd itself, on a machine where Netplan has written a file for the same interface."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from tests.cli.in_process import command

SPEC = Path(__file__).parent / "specs" / "existing.yaml"
# A private /etc/systemd/network and /run/systemd, in a network namespace with a stand-in for the node's NIC.
SCRIPT = """
mount -t tmpfs none /etc/systemd/network && cp "$1"/*.network /etc/systemd/network/
mount -t tmpfs none /run/systemd && mkdir -p /run/systemd/netif/links /run/systemd/netif/leases /run/systemd/netif/lldp
mkdir -p /run/systemd/network && chmod -R 777 /run/systemd && chmod 755 /run/systemd/network
printf '[Match]\\nName=fe0\\n\\n[Network]\\nAddress=192.168.99.7/24\\n' > /run/systemd/network/10-netplan-fe0.network
chmod 644 /run/systemd/network/* /etc/systemd/network/*
mount -t sysfs -o ro none /sys
ip link add fe0 type veth peer name p0 && ip link set p0 up
timeout 6 /lib/systemd/systemd-networkd > /dev/null 2>&1 &
sleep 4
ip -json address show dev fe0
"""


@pytest.mark.parametrize(("masked", "address"), [(True, "10.10.0.2"), (False, "192.168.99.7")])
def test_the_spec_s_address_comes_in_place_of_netplan_s(tmp_path: Path, *, masked: bool, address: str) -> None:
    assert command("render", SPEC, "--merged", "--out", tmp_path / "out", cwd=tmp_path).returncode == 0
    folder = tmp_path / "out" / "gpu-r00n0" / "etc/systemd/network"
    assert (folder / "10-netplan-fe0.network").read_bytes() == b""
    if not masked:
        (folder / "10-netplan-fe0.network").unlink()
    words = ["unshare", "--net", "--mount", "sh", "-c", SCRIPT, "sh", str(folder)]
    listed = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    (interface,) = json.loads(listed.stdout)
    addresses = [entry["local"] for entry in interface["addr_info"] if entry["family"] == "inet"]
    assert addresses == [address], listed.stderr
