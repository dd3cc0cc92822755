"""An image built from the rendered definition of a boot server, and put where the server offers it.

A unit that only the test adds says on the second serial port what the running system holds.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

from clusterwright.artifact import Artifact

CHECKOUT = Path(__file__).parents[2]
HTTP = "srv/http"
END = "## end"
_PROBE = """\
#!/bin/sh
# Waits until every adapter of the plan has its address.
for turn in $(seq 40); do
    [ "$(ip -o addr show scope global | wc -l)" -lt ADDRESSES ] || break
    sleep 5
done
section() { echo "## $1"; }
section hostname; uname -n
section addresses; ip -j addr show scope global
section routes; ip -j route show table all; section routes6; ip -j -6 route show table all
section secrets; ls /etc/clusterwright /etc/credstore /etc/pki/clusterwright
section filter; nft list chain inet clusterwright output
section container; cd /usr/local/lib/probe; crun --cgroup-manager=disabled run probe 2>&1
section end
"""
_UNIT = """\
[Unit]
After=systemd-networkd.service nftables.service
[Service]
ExecStart=/usr/local/sbin/probe
StandardOutput=file:/dev/ttyS1
"""
# A container as a runtime starts any: its root is left by pivot_root.
_BUNDLE = "usr/local/lib/probe"
CONTAINER = "in a container"
_CONTAINER = {
    "ociVersion": "1.0.0",
    "process": {"user": {"uid": 0, "gid": 0}, "args": ["/bin/busybox", "echo", CONTAINER], "cwd": "/"},
    "root": {"path": "rootfs"},
    "mounts": [{"destination": "/proc", "type": "proc", "source": "proc"}],
    "linux": {"namespaces": [{"type": kind} for kind in ("pid", "mount", "uts", "ipc")]},
}
# What takes an emulated processor minutes, and nothing of the test looks at: the node of tests/images starts it.
_SPARED = (
    *("systemd-hwdb-update.service", "systemd-journal-catalog-update.service", "systemd-networkd-wait-online.service"),
    *("ldconfig.service", "systemd-binfmt.service", "systemd-update-done.service", "nvmf-autoconnect.service"),
    *("getty@.service", "modprobe@.service", "systemd-networkd-persistent-storage.service"),
    *("sys-kernel-debug.mount", "sys-kernel-tracing.mount", "dev-mqueue.mount", "systemd-journal-flush.service"),
)
# Of packages that the definition names, and nothing that runs asks for it.
_LEFT_OUT = "--remove-files=/boot/*,/usr/share/locale/*,/usr/share/doc/*"
_WANTED = "[Unit]\nWants=probe.service\n"


def write(files: dict[str, Artifact], folder: Path) -> None:
    """The files of a device as a tree."""
    for path, artifact in files.items():
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(artifact.content)
        place.chmod(artifact.mode)


def build(tree: Path, image: str, addresses: int, folder: Path) -> None:
    """Build ``image`` from its definition in a boot server's ``tree`` and offer it there.

    ``addresses`` is how many a node has when its network is up.
    """
    definition = tree / "srv/images" / image
    for path, text, mode in (
        ("usr/local/sbin/probe", _PROBE.replace("ADDRESSES", str(addresses)), 0o755),
        ("etc/systemd/system/probe.service", _UNIT, 0o644),
        ("etc/systemd/system/multi-user.target.d/99-probe.conf", _WANTED, 0o644),
        *((f"etc/systemd/system/{unit}", "", 0o644) for unit in _SPARED),
        (f"{_BUNDLE}/config.json", json.dumps(_CONTAINER), 0o644),
    ):
        place = definition / "mkosi.extra" / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
        place.chmod(mode)
    rootfs = definition / "mkosi.extra" / _BUNDLE / "rootfs"
    for name in ("bin", "dev", "proc"):
        (rootfs / name).mkdir(parents=True)
    shutil.copy("/usr/bin/busybox", rootfs / "bin")
    done = subprocess.run(
        [CHECKOUT / "tools/build-image", definition, folder, _LEFT_OUT], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-4000:]
    for built in folder.iterdir():
        if built.name.endswith((".cpio.zst", ".vmlinuz")):
            os.link(built.resolve(), tree / HTTP / "images" / built.name)
