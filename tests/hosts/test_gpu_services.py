"""What runs beside jobs on nodes with GPUs: fabric manager, DCGM and its exporter, containers that see GPUs."""

from __future__ import annotations

import json
import os
import re
import subprocess
from dataclasses import astuple
from pathlib import Path

import pytest
from tests.plans import plan_with

from clusterwright.intent.image.packages import all_packages
from clusterwright.output.rendering import Rendering
from clusterwright.spec.distribution import distribution_of
from clusterwright.spec.driver_releases import ADAPTERS, GPU, known_releases

DRIVER = (
    "    drivers:\n    - name: nvidia-open\n      version: '580.82.07'\n      modules: [nvidia]\n"
    "      packages: [nvidia-open=580.82.07-1, nvidia-fabricmanager=580.82.07-1]\n"
)
CONTAINERS = "    containers: {{memlock: unlimited, shm_size_gb: 64, ipc: host, devices: [/dev/infiniband], {}}}\n"
METRICS = (
    "    gpu_metrics:\n      packages: [datacenter-gpu-manager-4-cuda13, datacenter-gpu-manager-exporter]\n"
    "      asked_by: services\n"
)
NODE, CONTROLLER = "gpu-s00r00n0", "svc-v00n0"


def rendered(folder: Path, device: str, *keys: str) -> tuple[dict[str, str], set[str]]:
    """The texts of a device's files, and the packages of the image, where the image of lab-ib has ``keys``."""
    plan = plan_with(folder, "lab-ib", "images:\n  - name: training\n" + "".join(keys))
    files = {
        artifact.path: artifact.content.decode("utf-8", "replace") for artifact in Rendering(plan).of_device(device)
    }
    image = plan.spec.image("training")
    distribution = distribution_of(image.distribution) if image is not None else None
    assert image is not None
    assert distribution is not None
    return files, {package.name for package in all_packages(plan, image, distribution)}


def started(files: dict[str, str]) -> list[str]:
    """What the node check has to find running."""
    return list(json.loads(files["etc/clusterwright/health.json"])["units"])


def test_the_fabric_manager_starts_where_gpus_meet_over_switches(tmp_path: Path) -> None:
    files, _ = rendered(tmp_path, NODE, DRIVER)
    assert "nvidia-fabricmanager.service" in started(files)
    assert "nvidia-fabricmanager.service" in files["etc/systemd/system/multi-user.target.d/90-clusterwright.conf"]
    without, packages = rendered(tmp_path, NODE, "    sysctl: {vm.swappiness: 1}\n")
    assert not [unit for unit in started(without) if "nvidia" in unit]
    assert not [name for name in packages if "nvidia" in name]


def test_one_dcgm_serves_the_exporter_at_the_port_of_the_spec(tmp_path: Path) -> None:
    files, packages = rendered(tmp_path, NODE, DRIVER, METRICS)
    assert {"nvidia-dcgm.service", "nvidia-dcgm-exporter.service"} <= set(started(files))
    assert {"datacenter-gpu-manager-4-cuda13", "datacenter-gpu-manager-exporter"} <= packages
    unit = files["etc/systemd/system/nvidia-dcgm-exporter.service.d/90-clusterwright.conf"]
    assert "DCGM_EXPORTER_LISTEN=:9400 DCGM_REMOTE_HOSTENGINE_INFO=localhost:5555" in unit


def test_containers_of_podman_are_told_of_gpus_anew_at_every_boot(tmp_path: Path) -> None:
    files, packages = rendered(tmp_path, NODE, DRIVER, CONTAINERS.format("runtime: podman"))
    assert "nvidia-cdi.service" in started(files)
    assert {"podman", "nvidia-container-toolkit"} <= packages
    assert "nvidia-ctk cdi generate" in files["etc/systemd/system/nvidia-cdi.service"]
    bare, packages = rendered(tmp_path, NODE, CONTAINERS.format("runtime: podman"))
    assert "podman" in packages
    assert "nvidia-container-toolkit" not in packages
    assert "nvidia-cdi.service" not in started(bare)


def test_enroot_has_its_folders_and_slurm_its_plugin(tmp_path: Path) -> None:
    keys = (DRIVER, CONTAINERS.format("runtime: enroot, folder: /scratch/enroot"))
    files, packages = rendered(tmp_path, NODE, *keys)
    assert {"enroot", "enroot+caps", "nvslurm-plugin-pyxis", "libnvidia-container-tools"} <= packages
    assert "podman" not in packages
    assert "enroot-folders.service" in started(files)
    assert "RequiresMountsFor=/scratch/enroot\n" in files["etc/systemd/system/enroot-folders.service"]
    # enroot reads a name and the shell's words after it.
    settings = dict(re.findall(r"(?m)^(ENROOT_\w+) (.*)$", files["etc/enroot/enroot.conf"]))
    echo = f"echo {settings['ENROOT_DATA_PATH']}"
    result = subprocess.run(["sh", "-c", echo], capture_output=True, text=True, check=True)
    assert result.stdout == f"/scratch/enroot/data-{os.getuid()}\n"
    controller, _ = rendered(tmp_path, CONTROLLER, *keys)
    assert controller["etc/slurm/plugstack.conf"].splitlines()[1].startswith("optional spank_pyxis.so ")


@pytest.mark.parametrize(
    ("distribution", "runtime", "is_opened"),
    [("Ubuntu 24.04", "enroot", True), ("Ubuntu 24.04", "podman", False), ("Ubuntu 22.04", "enroot", False)],
)
def test_enroot_may_make_user_namespaces_where_apparmor_refuses_them(
    tmp_path: Path, distribution: str, runtime: str, is_opened: bool
) -> None:
    """Ubuntu 24.04 refuses them to programs without a profile, and no container of enroot would start."""
    containers = CONTAINERS.format(f"runtime: {runtime}")
    files, _ = rendered(tmp_path, NODE, f"    distribution: {distribution}\n", DRIVER, containers)
    settings = [text for path, text in files.items() if path.startswith("etc/sysctl.d/")]
    line = "kernel.apparmor_restrict_unprivileged_userns = 0"
    assert any(line in text.splitlines() for text in settings) is is_opened


@pytest.mark.parametrize(("how", "status"), [("optional", 0), ("required", 1)])
def test_srun_looks_for_the_plugin_among_its_own(tmp_path: Path, how: str, status: int) -> None:
    controller, _ = rendered(tmp_path, CONTROLLER, DRIVER, CONTAINERS.format("runtime: enroot"))
    (tmp_path / "slurm.conf").write_text("ClusterName=a\nSlurmctldHost=localhost\nNodeName=n0\n")
    plugins = controller["etc/slurm/plugstack.conf"]
    (tmp_path / "plugstack.conf").write_text(plugins.replace("optional ", f"{how} "))
    environment = {"SLURM_CONF": str(tmp_path / "slurm.conf"), "PATH": "/usr/bin:/bin"}
    done = subprocess.run(["srun", "--help"], capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == status, done.stderr
    if status:
        assert "spank_pyxis.so" in done.stderr


def test_the_page_has_the_releases_that_rules_go_by() -> None:
    page = (Path(__file__).parents[2] / "docs/nodes.md").read_text()
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in page.splitlines() if line.count("|") == 6]
    told = {name.rpartition(", ")[2]: " ".join(cells).split() for name, *cells in rows}
    for name in ("RHEL 10", "Debian 13", "Ubuntu 24.04", "Ubuntu 22.04"):
        distribution = distribution_of(name)
        assert distribution is not None
        known = known_releases(distribution)
        held = [each for kind in (GPU, ADAPTERS) if kind in known for each in astuple(known[kind])]
        assert told[name] == [".".join(map(str, release)) for release in held]
