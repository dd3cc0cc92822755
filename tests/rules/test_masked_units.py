"""Units that may not be masked: all that rendered files of nodes with an image are, want or are read by."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.plans import plan_of, plan_with

from clusterwright.output.rendering import Rendering
from clusterwright.plan.model import Plan
from clusterwright.rules.nodes.units import needed_for

UNITS = "etc/systemd/system/"
# Services that read what lies in a folder, whoever renders into it.
READERS = {
    "etc/sysctl.d/": ("systemd-sysctl.service",),
    "etc/modules-load.d/": ("systemd-modules-load.service",),
    "etc/systemd/network/": ("systemd-networkd.service",),
    "etc/udev/rules.d/": ("systemd-udevd.service", "systemd-udev-trigger.service"),
    "etc/sysusers.d/": ("systemd-sysusers.service",),
    "etc/tmpfiles.d/": ("systemd-tmpfiles-setup.service",),
    "etc/ssh/": ("ssh.service", "sshd.service"),
    "etc/slurm/": ("slurmd.service",),
    "etc/opensm/": ("opensm.service",),
    "etc/kea/": ("kea-dhcp4.service", "kea-dhcp6-server.service"),
    "etc/nginx/": ("nginx.service",),
    "etc/dnsmasq.d/": ("dnsmasq.service",),
    "etc/rsyslog.d/": ("rsyslog.service",),
}
# Masked at the price of a mount that fails: CW543 and CW544.
OWN_RULES = {"tlshd.service", "rpc-gssd.service"}
ENCRYPTED = """
mounts:
  - name: corpus
    mountpoint: /mnt/corpus
    nodes: [compute]
    system: storage
    export: "corpus:/all"
    type: nfs4
    options: [vers=4.2]
    protection: {kind: krb5p}
encryption:
  kerberos: {realm: LAB.EXAMPLE.NET, kdcs: [10.16.0.10], keytab: /etc/krb5.keytab}
  scratch: [{name: fast, nodes: [compute], device: /dev/nvme1n1, mountpoint: /scratch}]
"""


def relied_on(plan: Plan) -> set[tuple[str, str]]:
    """Image and unit, for every unit that the files of one node of each group are, want or are read by."""
    found: set[tuple[str, str]] = set()
    nodes = {(device.node_group, device.image): device for device in plan.devices if device.image is not None}
    for (_, image), device in nodes.items():
        for artifact in Rendering(plan).of_device(device.name):
            units = {
                unit for folder, readers in READERS.items() if artifact.path.startswith(folder) for unit in readers
            }
            if f"/{UNITS}" in f"/{artifact.path}" and artifact.content:
                text = artifact.content.decode()
                units.add(artifact.path.partition(UNITS)[2].split("/")[0].removesuffix(".d"))
                for wanted in re.findall(r"^(?:Wants|Requires|BindsTo)=(.*)$", text, re.M):
                    units.update(wanted.split())
            if artifact.path.startswith("srv/"):
                continue  # another node's, built here
            found |= {(str(image), unit) for unit in units if not unit.endswith(".device")}
    return found


@pytest.mark.parametrize("name", ["lab-roce", "lab-ib", "encrypted"])
def test_no_unit_that_a_rendered_file_relies_on_may_be_masked(tmp_path: Path, name: str) -> None:
    plan = plan_with(tmp_path, "lab-roce", ENCRYPTED) if name == "encrypted" else plan_of(name)

    units = relied_on(plan)

    assert {unit for _, unit in units} >= {"nftables.service", "systemd-networkd.service", "rsyslog.service"}
    images = {image.name: image for image in plan.spec.images}
    missing = {(image, unit) for image, unit in units if needed_for(plan.spec, images[image], unit) is None}
    assert {each for each in missing if each[1] not in OWN_RULES} == set()


def test_units_that_nothing_here_needs_may_be_masked() -> None:
    spec = plan_of("lab-roce").spec
    (image,) = [image for image in spec.images if image.name == "training"]

    for unit in ("apt-daily.timer", "sleep.target", "ufw.service", "opensm.service", "mnt-other.mount", "ssh.socket"):
        assert needed_for(spec, image, unit) is None
