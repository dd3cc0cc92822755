"""podman itself takes the settings of containers that an image has."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from tests.plans import plan_of

from clusterwright.output.rendering import Rendering

FOLDER = "etc/containers/"
# Nothing is started: a process may not raise its own limits on machines of the tests.
CREATE = """
set -eu
mount -t tmpfs none /run
mkdir /run/etc /run/work
mount -t overlay overlay -o lowerdir=/etc,upperdir=/run/etc,workdir=/run/work /etc
touch /etc/nccl.conf
mkdir -p /etc/containers
mount --bind {settings} /etc/containers
mkdir -p /var/log
mount -t tmpfs none /var/log
mkdir -p /var/log/nccl
mkdir -p /run/dev/infiniband /run/dev/shm
mount --bind /dev/shm /run/dev/shm
mknod /run/dev/infiniband/uverbs0 c 1 3
mknod /run/dev/null c 1 3
mount --rbind /run/dev /dev
podman() {{ command podman --root {root} --runroot /run/podman --storage-driver vfs --cgroup-manager cgroupfs "$@"; }}
podman create --name probe --network host --rootfs {rootfs} /bin/true > /dev/null
podman inspect probe
"""


def test_podman_gives_containers_what_the_image_asks_for(tmp_path: Path) -> None:
    plan = plan_of("lab-tenants")
    node = next(
        device
        for device in plan.devices
        if (image := plan.spec.image(device.image or "")) is not None and image.containers is not None
    )
    settings, rootfs = tmp_path / "settings", tmp_path / "rootfs"
    rootfs.mkdir()
    settings.mkdir()
    for artifact in Rendering(plan).of_device(node.name):
        if artifact.path.startswith(FOLDER):
            place = settings / artifact.path.removeprefix(FOLDER)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(artifact.content)
    (settings / "policy.json").write_text('{"default": [{"type": "insecureAcceptAnything"}]}')

    script = CREATE.format(settings=settings, root=tmp_path / "root", rootfs=rootfs)
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", script], capture_output=True, text=True, timeout=60, check=False
    )

    assert done.returncode == 0, done.stderr
    (container,) = json.loads(done.stdout)
    host = container["HostConfig"]
    assert {"Name": "RLIMIT_MEMLOCK", "Soft": -1, "Hard": -1} in host["Ulimits"]
    assert host["ShmSize"] == 64 * 1000**3
    assert [device["PathInContainer"] for device in host["Devices"]] == ["/dev/infiniband/uverbs0"]
    assert {"/etc/nccl.conf", "/var/log/nccl"} <= {mount["Destination"] for mount in container["Mounts"]}
    assert any(name.startswith("TORCH_NCCL_") for name in container["Config"]["Env"])
