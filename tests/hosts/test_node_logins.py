"""A freshly built node lets its operators in over SSH and become root: through sshd, PAM and sudo of this machine."""

from __future__ import annotations

import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.plans import plan_of, plan_with

from clusterwright.hosts.linux.writer import logins
from clusterwright.intent.image.packages import all_packages
from clusterwright.spec.distribution import distribution_of

APART = ("unshare", "--mount", "--net", "--pid", "--fork", "--kill-child", "--mount-proc")
# The machine's own /etc below what is rendered, so that accounts, PAM and sudo are real and nothing of it stays.
SCRIPT = """
set -e
mount -t tmpfs none /mnt
mkdir /mnt/etc /mnt/etc.work /mnt/var /mnt/var.work
for name in etc var; do
    mount -t overlay -o lowerdir=/$name,upperdir=/mnt/$name,workdir=/mnt/$name.work overlay /$name
done
mount -t tmpfs none /run
mkdir /run/sshd
cp -r {folder}/root/etc/. /etc/
chown root:root /etc/sudoers.d/90-clusterwright
ip link set lo up
systemd-sysusers /etc/sysusers.d/90-clusterwright.conf
systemd-tmpfiles --create /etc/tmpfiles.d/90-clusterwright.conf
grep '^ops:[!*]' /etc/shadow
printf '%s\\n' 'HostKey {folder}/host' 'Port 2200' 'StrictModes no' 'PidFile none' > /run/config
echo 'Include /etc/ssh/sshd_config.d/*.conf' >> /run/config
# It leaves for the background before it listens.
/usr/sbin/sshd -f /run/config -E {folder}/sshd.log
ssh -F none -p 2200 -i {folder}/key -o ConnectionAttempts=30 -o BatchMode=yes \\
    -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null \\
    ops@127.0.0.1 'id -un; sudo --non-interactive id -un'
"""


def entering(folder: Path, until: str = "") -> subprocess.CompletedProcess[str]:
    """What becomes of an operator, with a last day where there is one, who logs in to a node of the lab."""
    for name in ("key", "host"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)], check=True)
    key = (folder / "key.pub").read_text().strip()
    last_day = f", until: {until}" if until else ""
    overlay = f'site:\n  operators:\n    - {{name: netops, keys: ["{key}"]{last_day}}}\n'
    plan = plan_with(folder, "lab-roce", overlay)
    for artifact in logins.WRITER.render(plan, plan.by_name["gpu-p00r00n0"]):
        file = folder / "root" / artifact.path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(artifact.content)
        file.chmod(artifact.mode)
    subprocess.run(["visudo", "-cf", str(folder / "root" / logins.SUDOERS)], check=True, capture_output=True)
    return subprocess.run(
        [*APART, "sh", "-c", SCRIPT.format(folder=folder)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_an_operator_enters_and_becomes_root(tmp_path: Path) -> None:
    done = entering(tmp_path)
    log = tmp_path / "sshd.log"
    assert done.returncode == 0, done.stdout + done.stderr + (log.read_text() if log.exists() else "")
    assert done.stdout.split()[-2:] == ["ops", "root"]


def test_sshd_refuses_an_operator_from_the_day_after_the_last_one(tmp_path: Path) -> None:
    today = datetime.now(UTC).date()
    for offset, enters in ((0, True), (-1, False)):
        folder = tmp_path / str(enters)
        folder.mkdir()
        done = entering(folder, until=str(today + timedelta(days=offset)))
        assert (done.returncode == 0) is enters, done.stdout + done.stderr + (folder / "sshd.log").read_text()


@pytest.mark.parametrize("name", ["lab-roce", "lab-ib", "roce-24k", "ib-24k", "rsc-phase1"])
def test_every_reference_image_has_somebody_who_becomes_root(name: str) -> None:
    plan = plan_of(name)
    (image,) = plan.spec.images
    distribution = distribution_of(image.distribution)
    assert distribution is not None
    node = next(device for device in plan.devices if device.image == image.name)
    files = {artifact.path: artifact for artifact in logins.WRITER.render(plan, node)}
    assert files[logins.SUDOERS].mode == 0o440
    assert "ops ALL=(ALL:ALL) NOPASSWD: ALL\n" in files[logins.SUDOERS].content.decode()
    assert "ssh-ed25519" in files["etc/ssh/authorized_keys.d/ops"].content.decode()
    assert "sudo" in {package.name for package in all_packages(plan, image, distribution)}
