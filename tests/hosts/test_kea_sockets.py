"""Kea on a boot server that has just booted: its address is tentative until duplicates are excluded."""

from __future__ import annotations

import json
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from tests.plans import plan_of

from clusterwright.hosts.boot.kea_releases import retries_sockets
from clusterwright.output.rendering import Rendering
from clusterwright.plan.boot import server_addresses

FILE = "etc/kea/kea-dhcp6.conf"
# Excluding duplicates takes three seconds here, so that Kea always comes before its address.
START = """\
set -eu
mount --make-rprivate /
mount -t tmpfs tmpfs /run
mount -t tmpfs tmpfs /var/lib
mkdir -p /run/kea /run/lock /var/lib/kea
ip link set lo up
{links}
kea-dhcp6 -c {file} > {log} 2>&1 &
for second in $(seq 12); do
    sleep 1
    ss -H -l -u -n | grep -F ']:547' && break
done
kill %1
"""
LINK = """\
ip link add {name} type veth peer name up-{name}
echo 3 > /proc/sys/net/ipv6/conf/{name}/dad_transmits
ip link set up-{name} up
ip link set {name} up
ip addr add {address}/64 dev {name}
"""


@pytest.mark.parametrize("is_told", [True, False])
def test_kea_listens_as_soon_as_its_address_is_ready(tmp_path: Path, *, is_told: bool) -> None:
    plan = plan_of("lab-roce")
    server = next(iter(server_addresses(plan)))
    (text,) = [file.content for file in Rendering(plan).of_device(server) if file.path == FILE]
    configuration = json.loads(text)
    interfaces = configuration["Dhcp6"]["interfaces-config"]
    if not is_told:
        del interfaces["service-sockets-max-retries"]
    file = tmp_path / "kea.conf"
    file.write_bytes(text if is_told else json.dumps(configuration).encode())
    names = [interface.split("/") for interface in interfaces["interfaces"]]
    links = "".join(LINK.format(name=name, address=address) for name, address in names)
    script = START.format(links=links, file=file, log=tmp_path / "log")
    done = subprocess.run(
        ["unshare", "--net", "--mount", "--fork", "--kill-child", "sh", "-c", script],
        capture_output=True,
        text=True,
        check=False,
    )
    log = (tmp_path / "log").read_text()
    assert "DHCP6_STARTED" in log, log + done.stderr
    assert any(f"[{address}]:547" in done.stdout for _, address in names) == is_told, done.stdout + log


@pytest.mark.parametrize(
    ("distribution", "has_retries"),
    [("Debian 12", True), ("Debian 13", True), ("Ubuntu 22.04", False), ("Ubuntu 24.04", False), ("Rocky 9", False)],
)
def test_a_release_of_kea_that_nobody_looked_up_is_told_no_word_that_it_may_lack(
    distribution: str, *, has_retries: bool
) -> None:
    image = replace(plan_of("lab-roce").spec.images[0], distribution=distribution)
    assert retries_sockets(image) == has_retries
