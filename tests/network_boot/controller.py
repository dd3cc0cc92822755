"""Slurm's controller on the boot server, of the release that nodes have: their own image with Debian's slurmctld in it.

It has the rendered slurm.conf, the addresses of the rendered hosts file, and the key that the deployment would bring.
"""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from clusterwright.extras.lab.namespaces import inside

CHECKOUT = Path(__file__).parents[2]
USER = "ops"
ANSWERS_S = 1200  # a job on emulated processors
# What the rendered units and tmpfiles have the machine do.
_START = """\
set -eu
mount --make-rprivate /
mount --bind {root} {root}
mount -t proc proc {root}/proc
mount --rbind /dev {root}/dev
mount -t tmpfs tmpfs {root}/run
hostname {name}
cd {root}
exec chroot . sh -euc '
systemd-sysusers 2> /dev/null
systemd-tmpfiles --create /etc/tmpfiles.d/clusterwright-slurm.conf
install -D -o munge -g munge -m 0400 /etc/clusterwright/munge.key /etc/munge/munge.key
install -d -o munge -g munge /run/munge
setpriv --reuid munge --regid munge --clear-groups munged --foreground &
while [ ! -S /run/munge/munge.socket.2 ]; do sleep 0.1; done
exec slurmctld -D
'
"""


@dataclass(frozen=True, slots=True)
class Controller:
    """A running slurmctld; ``process`` is one in its namespaces, ``root`` its file system."""

    process: int
    root: Path

    def ask(self, *command: str, user: str = USER) -> str:
        """What one of Slurm's programs says there."""
        who = ["setpriv", "--reuid", user, "--regid", user, "--clear-groups"]
        where = ["nsenter", "--target", str(self.process), *("--mount", "--uts", "--net", "--pid", "--root", "--wd")]
        done = subprocess.run([*where, *who, *command], capture_output=True, text=True, check=False, timeout=ANSWERS_S)
        assert done.returncode == 0, f"{done.stdout}{done.stderr}"
        return done.stdout

    @property
    def log(self) -> str:
        """slurmctld's own."""
        return (self.root / "var/log/slurm/slurmctld.log").read_text(errors="replace")


def unpack(archive: Path, root: Path) -> None:
    """A node's image as a folder, with slurmctld of the same distribution beside slurmd."""
    root.mkdir()
    # zstd speaks of the padding behind the archive, and cpio ends before it.
    subprocess.run(f"zstd -dcq {archive} 2> /dev/null | cpio --quiet -idmu -D {root}", shell=True, check=True)
    package = [str(CHECKOUT / "tools/debian13-package"), "slurmctld"]
    done = subprocess.run(package, capture_output=True, text=True, check=True)
    shutil.copytree(done.stdout.strip(), root, symlinks=True, dirs_exist_ok=True)
    (root / "usr/sbin/slurmctld").symlink_to("slurmctld-wlm")  # what the package's script makes


@contextmanager
def controlling(namespace: str, name: str, root: Path, folder: Path) -> Iterator[Controller]:
    """Within, slurmctld of the unpacked ``root`` runs as the machine ``name``; ``folder`` takes its log."""
    command = ["unshare", "--mount", "--uts", "--pid", "--fork", "--kill-child", "sh", "-c"]
    with inside(namespace), (folder / "slurmctld").open("w") as stream:
        process = subprocess.Popen([*command, _START.format(root=root, name=name)], stdout=stream, stderr=stream)
    try:
        (child,) = _children(process.pid)
        yield Controller(child, root)
    finally:
        process.kill()  # and with it all of its process namespace
        process.wait()


def _children(process: int) -> Sequence[int]:
    """The one child that unshare makes, as soon as it is there."""
    deadline = time.monotonic() + 10
    while not (found := Path(f"/proc/{process}/task/{process}/children").read_text().split()):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return [int(each) for each in found]
