"""Drivers, services and programs of GPUs by their vendor and generation: what is rendered, and what is not."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest
from tests.plans import plan_with

from clusterwright.node_health.amd_gpus import amd_gpu_checks
from clusterwright.node_health.readings import CommandOutput, Readings
from clusterwright.output.rendering import Rendering
from clusterwright.plan.model import Plan
from clusterwright.proofs.declaration import Declaration
from clusterwright.rules.engine import lint_path
from clusterwright.spec.hardware.accelerators import fabric_manager_of, vendor_of, vendors
from clusterwright.spec.hardware.models import Gpus

NODE, CONTROLLER = "gpu-s00r00n0", "svc-v00n0"
PCIE = """\
    pcie:
      cpu: {arch: x86_64, vendor: GenuineIntel, family: 6, model: 143}
      numa_cpus: ["0-55,112-167", "56-111,168-223"]
      link_speed_gts: 32
      link_width: 16
      gpus: ["0000:00:00.0", "0000:01:00.0", "0000:02:00.0", "0000:03:00.0", "0000:04:00.0", "0000:05:00.0",
        "0000:06:00.0", "0000:07:00.0"]
      nvlinks: 18
      assumed: "A model of a test."
"""
WITHOUT_NVLINKS = PCIE.replace("nvlinks: 18", "nvlinks: 0")


def hardware(gpus: str, pcie: str = "") -> str:
    """A catalogue with a model of eight GPUs."""
    figures = "".join(f"    {name}: {{value: {value}, assumed: A model of a test.}}\n" for name, value in FIGURES)
    rails = "".join(
        f"          - {{interface: be{index}, rdma_device: mlx5_{index}, gpu: {index}}}\n" for index in range(8)
    )
    return (
        "version: 1\nkind: hardware\nmodels:\n  - name: eight\n    kind: node\n    manufacturer: Example\n    part: X\n"
        f"    technology: [ethernet, roce, infiniband]\n{figures}"
        "    management: {name: bmc, speed_gbps: 1, assumed: A model of a test.}\n"
        f"    gpus: {{count: 8, {gpus}, memory_gb: 80, assumed: A model of a test.}}\n{pcie}    nics:\n"
        f"      - group: backend\n        speed_gbps: 400\n        assumed: A model of a test.\n        devices:\n"
        f"{rails}"
        "      - group: frontend\n        speed_gbps: 200\n        assumed: A model of a test.\n        devices:\n"
        "          - {interface: fe0, rdma_device: mlx5_8}\n          - {interface: fe1, rdma_device: mlx5_9}\n"
    )


FIGURES = (("units", 8), ("power_w", 10000), ("weight_kg", 130))
NVIDIA = 'name: nvidia-open, version: "580.82.07", modules: [nvidia], built: true, packages: [nvidia-open'
AMD = 'name: amdgpu, version: "6.14.14", modules: [amdgpu], built: true, packages: [amdgpu-dkms'


def plan_of_model(folder: Path, gpus: str, driver: str, pcie: str = "", more: str = "") -> Plan:
    """The plan of lab-ib with other nodes, whose image brings ``driver``."""
    (folder / "eight.yaml").write_text(hardware(gpus, pcie))
    keys = (
        "hardware: [eight.yaml]\nnodes:\n  - {name: compute, model: eight}\n"
        f"images:\n  - name: training\n    drivers: [{{{driver}]}}]\n{more}"
    )
    return plan_with(folder, "lab-ib", keys)


def files_of(plan: Plan, device: str) -> dict[str, str]:
    """The texts of a device's files."""
    return {
        artifact.path: artifact.content.decode("utf-8", "replace") for artifact in Rendering(plan).of_device(device)
    }


def codes_of(folder: Path) -> list[str]:
    """The findings of the one spec in a folder."""
    (spec,) = (path for path in folder.glob("*.yaml") if path.name != "eight.yaml")
    return [finding.code for finding in lint_path(spec).findings]


@pytest.mark.parametrize(
    ("model", "vendor"),
    [
        ("H100-SXM5-80GB", "nvidia"),
        ("NVIDIA H100", None),
        ("H1000", None),
        ("GB300", "nvidia"),
        ("B200-SXM", "nvidia"),
        ("MI300X", "amd"),
        ("MI355X OAM", "amd"),
        ("Gaudi3", "intel"),
        ("GPU", None),
    ],
)
def test_a_vendor_is_known_by_whole_names(model: str, vendor: str | None) -> None:
    found = vendor_of(Gpus(8, model, 80))
    assert (found.name if found is not None else None) == vendor
    assert vendor_of(Gpus(8, model, 80, vendor="amd")) is vendors()["amd"]


def test_nodes_of_amd_get_programs_of_amd(tmp_path: Path) -> None:
    plan = plan_of_model(tmp_path, "model: MI300X", AMD, WITHOUT_NVLINKS, "nccl: {topology_file: true}\n")
    node, controller = files_of(plan, NODE), files_of(plan, CONTROLLER)
    texts = {path: text for path, text in {**node, **controller}.items() if not path.startswith("srv/")}
    # A module that is never loaded anywhere, the checks of all vendors, and what the check calls a name.
    elsewhere = {"etc/modprobe.d/90-encryption.conf", "etc/clusterwright/health.json"}
    paths = {path for path, text in texts.items() if re.search("nvidia|nvml", text, re.IGNORECASE)}
    assert {path for path in paths if not texts[path].startswith("PK")} <= elsewhere
    assert "File=/dev/dri/renderD[128-135]" in controller["etc/slurm/gres.conf"]
    assert json.loads(node["etc/clusterwright/health.json"])["gpus"]["asked_by"] == "amdgpu"
    # RCCL reads /etc/nccl.conf where it is told to, and NVIDIA's form of a topology never.
    assert "NCCL_CONF_FILE" in node["etc/profile.d/clusterwright-nccl.sh"]
    assert [path for path, text in node.items() if "NCCL_TOPO_FILE" in text] == []
    assert "CW358" in codes_of(tmp_path)


@pytest.mark.parametrize(("holders", "status"), [("", 0), ("4711", 1)])
def test_a_gpu_of_amd_that_is_held_after_a_job_drains_the_node(tmp_path: Path, holders: str, status: int) -> None:
    node = files_of(plan_of_model(tmp_path, "model: MI300X", AMD), NODE)
    programs = {"ls": f"echo {holders}" if holders else "true", "pkill": "false", "pgrep": "true", "find": "true"}
    for name, text in programs.items():
        program = tmp_path / "bin" / name
        program.parent.mkdir(exist_ok=True)
        program.write_text(f"#!/bin/sh\n{text}\n")
        program.chmod(0o755)
    environment = {"PATH": f"{tmp_path / 'bin'}:/usr/bin:/bin", "SLURM_JOB_UID": "54321", "SLURM_JOB_ID": "7"}
    epilog = ["sh", "-c", node["usr/local/sbin/node-epilog"]]
    done = subprocess.run(epilog, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == status, done.stderr
    assert ("4711" in done.stderr) is bool(holders)


NODES = [f"renderD{128 + index}" for index in range(8)]


def amd_answers() -> dict[str, dict[str, str]]:
    """The files in /sys of eight GPUs, by name and render node."""
    return {
        "mem_info_vram_total": dict.fromkeys(NODES, "206141652992"),
        "current_link_width": dict.fromkeys(NODES, "16"),
        "max_link_width": dict.fromkeys(NODES, "16"),
        "ras/umc_err_count": dict.fromkeys(NODES, "ue: 0"),
    }


def failed_checks(gpus: object, answers: dict[str, dict[str, str]], bus: str = "0") -> set[str]:
    """The checks of GPUs that fail."""
    folder = "/sys/class/drm"
    texts = {}
    for name, files in answers.items():
        lines = [f"{folder}/{node}/device/{name}:{line}\n" for node, line in files.items()]
        texts[f"grep . {folder}/renderD*/device/{name}"] = CommandOutput("".join(lines))
    for index, node in enumerate(NODES):
        texts[f"readlink -f {folder}/{node}/device"] = CommandOutput(
            f"/sys/devices/pci0000:00/0000:{bus}{index}:00.0\n"
        )
    expected = {"gpus": gpus, "limits": {"uncorrected_ecc": 0}}
    return {each.name for each in amd_gpu_checks(Readings(texts), expected) if not each.ok}


def test_the_node_check_asks_the_driver_of_amd(tmp_path: Path) -> None:
    plan = plan_of_model(tmp_path, "model: MI300X", AMD, WITHOUT_NVLINKS)
    gpus = json.loads(files_of(plan, NODE)["etc/clusterwright/health.json"])["gpus"]
    assert failed_checks(gpus, amd_answers()) == set()
    for name, line, code in (
        ("current_link_width", "8", "gpu-pcie"),
        ("current_link_width", "N/A", "gpu-pcie"),
        ("ras/umc_err_count", "ue: 3", "gpu-ecc"),
        ("ras/umc_err_count", "", "gpu-ecc"),
        ("mem_info_vram_total", "1024", "gpu-model"),
    ):
        answers = amd_answers()
        answers[name][NODES[3]] = line
        assert failed_checks(gpus, answers) == {code}
    gone = amd_answers()
    for files in gone.values():
        del files[NODES[3]]
    assert failed_checks(gpus, gone) == {"gpu-count"}
    assert failed_checks(gpus, amd_answers(), bus="1") == {"gpu-count"}


@pytest.mark.parametrize(
    ("model", "starts", "packages", "code"),
    [
        ("H100-SXM5", True, "nvidia-fabricmanager=580.82.07-1", ""),
        ("H100-SXM5", True, "perftest", "CW439"),
        ("B200-SXM", True, "nvidia-fabricmanager=580.82.07-1", "CW439"),
        ("B200-SXM", True, "nvidia-fabricmanager=580.82.07-1, nvlsm", ""),
        ("GB200", False, "perftest", ""),
        ("GB200", False, "nvidia-fabricmanager=580.82.07-1", "CW428"),
    ],
)
def test_who_sets_up_nvswitches_follows_from_the_generation(
    tmp_path: Path, model: str, starts: bool, packages: str, code: str
) -> None:
    plan = plan_of_model(tmp_path, f"model: {model}", f"{NVIDIA}, {packages}", PCIE)
    units = json.loads(files_of(plan, NODE)["etc/clusterwright/health.json"])["units"]
    assert ("nvidia-fabricmanager.service" in units) is starts
    wanted = {"CW428", "CW439"}
    assert sorted(wanted.intersection(codes_of(tmp_path))) == ([code] if code else [])


def test_a_model_says_who_sets_up_its_nvswitches(tmp_path: Path) -> None:
    plan = plan_of_model(tmp_path, "model: GB200, nvlink: {generation: 4, links: 18, switches: node}", NVIDIA, PCIE)
    assert fabric_manager_of(plan.spec.catalogue["eight"]) == "node"
    assert "CW439" in codes_of(tmp_path)


def test_one_vendor_s_driver_for_another_s_gpus_is_refused(tmp_path: Path) -> None:
    plan_of_model(tmp_path, "model: MI300X", NVIDIA)
    assert "CW357" in codes_of(tmp_path)


def test_nothing_is_rendered_for_a_vendor_that_nobody_wrote(tmp_path: Path) -> None:
    driver = 'name: gaudi, version: "1.22", modules: [habanalabs], packages: [habanalabs-dkms'
    plan = plan_of_model(tmp_path, "model: Gaudi3", driver)
    assert "File=" not in files_of(plan, CONTROLLER)["etc/slurm/gres.conf"]
    assert json.loads(files_of(plan, NODE)["etc/clusterwright/health.json"])["gpus"] is None
    assert "CW357" in codes_of(tmp_path)


def test_a_head_without_gpus_is_not_asked_for_their_driver(tmp_path: Path) -> None:
    """It shares the image of GPU nodes: the module finds no device there, and the head would be unfit for good."""
    (tmp_path / "eight.yaml").write_text(hardware("model: H100", ""))
    keys = (
        "hardware: [eight.yaml]\nnodes:\n  - {name: compute, model: eight}\n  - {name: services, image: training}\n"
        f"images:\n  - name: training\n    drivers: [{{{NVIDIA}]}}]\n"
    )
    plan = plan_with(tmp_path, "lab-ib", keys)
    asked = {
        name: json.loads(files_of(plan, name)["etc/clusterwright/health.json"])["drivers"]
        for name in (NODE, CONTROLLER)
    }
    assert asked == {NODE: {"nvidia": "580.82.07"}, CONTROLLER: {}}
    assert Declaration(plan).node_checks[CONTROLLER].check.values.keys().isdisjoint({"drivers.nvidia"})
