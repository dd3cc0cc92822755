"""nccl.conf and its companions: names that the libraries hold, NCCL's own reading, values that follow from the plan."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import tomllib
from dataclasses import replace
from itertools import takewhile
from pathlib import Path

import pytest
import yaml
from tests.hosts.nccl_reader import Element, read_parameters, read_topology, read_tuner_table
from tests.plans import plan_of, plan_with

from clusterwright import data_files
from clusterwright.hosts.kueue import writer as kueue
from clusterwright.hosts.nccl import files as nccl
from clusterwright.hosts.nccl.topology import cpu_mask, topology
from clusterwright.hosts.slurm import writer as slurm
from clusterwright.intent.device_kind import kind_of
from clusterwright.intent.nccl_settings import TASK_ENVIRONMENT, job_environment, settings, wiring_of
from clusterwright.plan.model import Plan
from clusterwright.spec.hardware.models import Cpu
from clusterwright.spec.runtime.names import known_names
from clusterwright.text.templates import template

REPOSITORY = Path(__file__).parents[2]
TABLES = sorted((data_files.folder("inventory") / "nccl").glob("*.txt"))
JOB = {"SLURM_JOB_ID": "42"}
SPECS = ("lab-roce", "lab-ib", "roce-24k", "ib-24k", "rsc")


def _files(plan: Plan) -> dict[str, str]:
    device = next(d for d in plan.devices if nccl.applies(plan, d))
    return {artifact.path: artifact.content.decode() for artifact in nccl.WRITER.render(plan, device)}


def _conf_text(plan: Plan) -> str:
    """nccl.conf, or what a node makes it of when it starts."""
    files = _files(plan)
    return files["etc/nccl/nccl.conf" if "etc/nccl/nccl.conf" in files else "etc/nccl.conf"]


def _conf(plan: Plan) -> dict[str, str]:
    return read_parameters(_conf_text(plan))


def _exports(plan: Plan) -> dict[str, str]:
    """What Slurm puts into the environment of a job, of which login shells have all but the job's own files."""
    files = _files(plan)
    text = "mkdir() { :; }\n" + files[TASK_ENVIRONMENT.removeprefix("/")]
    done = subprocess.run(["sh", "-c", text], env=JOB, capture_output=True, text=True, check=True)
    found = _said(done.stdout)
    shell = f"{files['etc/profile.d/clusterwright-nccl.sh']}\nenv"
    done = subprocess.run(["sh", "-c", shell], env={}, capture_output=True, text=True, check=True)
    of_shells = {line.partition("=")[0]: line.partition("=")[2] for line in done.stdout.splitlines()}
    assert of_shells.items() - {("PWD", of_shells.get("PWD"))} == {
        each for each in found.items() if "/job-42/" not in each[1]
    }
    return found


def _said(lines: str) -> dict[str, str]:
    return dict(line.removeprefix("export ").split("=", 1) for line in lines.splitlines())


@pytest.mark.parametrize(
    "file", [file for file in TABLES if file.stem in {"nccl-2.18", "nccl-2.27"}], ids=lambda f: f.stem
)
def test_the_tables_are_what_the_libraries_hold(file: Path) -> None:
    """Reads the real libraries of the releases that the specs name; their wheels are fetched once."""
    text = file.read_text()
    wheel = re.search(r"^# wheel: (\S+)==(\S+) sha256:([0-9a-f]{64})$", text, re.M)
    assert wheel is not None
    command = [sys.executable, REPOSITORY / "tools/runtime_names.py", "nccl", wheel[2], "--sha256", wheel[3]]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == text


@pytest.mark.parametrize("file", TABLES, ids=lambda file: file.stem)
def test_the_tables_say_where_they_come_from(file: Path) -> None:
    library, _, version = file.stem.partition("-")
    head, *names = (line for line in file.read_text().splitlines() if not line.startswith(("# V", "# wr")))
    assert re.fullmatch(rf"# wheel: \S+=={re.escape(version)}\.\S+ sha256:[0-9a-f]{{64}}", head)
    assert names == sorted(set(names))
    assert known_names(library, f"{version}.99") == frozenset(names)


@pytest.mark.parametrize("name", SPECS)
def test_the_profile_s_releases_know_every_variable(name: str) -> None:
    plan = plan_of(name)
    (profile,) = plan.spec.nccl_profiles
    read = known_names("nccl", profile.version)
    assert read is not None
    assert set(_conf(plan)) <= read
    if profile.pytorch is not None:
        torch = known_names("torch", profile.pytorch)
        assert torch is not None
        assert set(_exports(plan)) - {"NCCL_TUNER_CONFIG_FILE"} <= torch - read


@pytest.mark.parametrize("name", SPECS)
def test_the_file_says_what_it_seems_to_say(name: str) -> None:
    text = _conf_text(plan_of(name))
    assert text.endswith("\n")
    for line in text.splitlines():
        assert line.startswith("# ") or re.fullmatch(r"NCCL_[A-Z0-9_]+=[^\s\"'#]+", line), line
    names = [line.partition("=")[0] for line in text.splitlines() if not line.startswith("#")]
    assert names == sorted(set(names))


def test_roce_values_follow_the_plan() -> None:
    found = _conf(plan_of("roce-24k"))
    assert found["NCCL_IB_HCA"] == "=mlx5_0,mlx5_1,mlx5_2,mlx5_3,mlx5_4,mlx5_5,mlx5_6,mlx5_7"
    assert found["NCCL_IB_TC"] == str(50 * 4)
    assert found["NCCL_IB_FIFO_TC"] == "224"
    assert found["NCCL_CROSS_NIC"] == "1"  # all eight NICs of a node end at one rack switch
    assert found["NCCL_IB_ADDR_FAMILY"] == "AF_INET6"
    assert found["NCCL_IB_ADDR_RANGE"] == "fd24:7a1c:b000::/52"
    assert found["NCCL_IB_GID_INDEX"] == "-1"
    assert found["NCCL_IB_QPS_PER_CONNECTION"] == "16"
    assert found["NCCL_IB_SPLIT_DATA_ON_QPS"] == "0"
    assert found["NCCL_SOCKET_IFNAME"] == "=fe0,fe1"
    assert found["NCCL_UID_STAGGER_THRESHOLD"] == "256"


def test_rails_do_not_cross() -> None:
    found = _conf(plan_of("lab-ib"))
    assert found["NCCL_CROSS_NIC"] == "0"
    assert found["NCCL_IB_HCA"] == "=mlx5_0,mlx5_3,mlx5_4,mlx5_5,mlx5_6,mlx5_9,mlx5_10,mlx5_11"
    assert not {"NCCL_IB_TC", "NCCL_IB_ADDR_RANGE", "NCCL_IB_GID_INDEX"} & set(found)


def test_sharp_and_the_service_level_come_from_the_fabric(tmp_path: Path) -> None:
    plan = plan_of("rsc")
    found = _conf(plan)
    assert found["NCCL_COLLNET_ENABLE"] == "0"
    assert found["NCCL_IB_TIMEOUT"] == "22"
    assert found["NCCL_IB_SL"] == "0"
    moved = plan_with(tmp_path, "rsc", "fabrics:\n  - name: backend\n    subnet_manager: {sharp: true}\n")
    assert _conf(moved)["NCCL_COLLNET_ENABLE"] == "1"


def test_pytorch_s_names_are_those_of_its_release(tmp_path: Path) -> None:
    new = _exports(plan_of("roce-24k"))
    assert new["TORCH_FR_BUFFER_SIZE"] == "20000"
    assert new["TORCH_FR_DUMP_TEMP_FILE"] == "/var/log/nccl/job-42/rank_"
    assert new["TORCH_NCCL_RANKS_PER_ROOT"] == "128"
    assert new["TORCH_NCCL_ASYNC_ERROR_HANDLING"] == "3"
    assert not {name for name in new if name.startswith("TORCH_NCCL_TRACE")}
    assert _exports(plan_of("rsc")) == {"NCCL_ASYNC_ERROR_HANDLING": "1", "NCCL_DESYNC_DEBUG": "1"}
    middle = _exports(plan_with(tmp_path, "lab-roce", 'nccl:\n  pytorch: "2.6"\n'))
    assert middle["TORCH_NCCL_TRACE_BUFFER_SIZE"] == "2000"
    assert "TORCH_FR_BUFFER_SIZE" not in middle


def test_variables_by_hand_go_to_the_program_that_reads_them(tmp_path: Path) -> None:
    plan = plan_with(tmp_path, "lab-roce", "nccl:\n  variables: {NCCL_DEBUG: WARN, TORCH_NCCL_NAN_CHECK: 1}\n")
    assert _conf(plan)["NCCL_DEBUG"] == "WARN"
    assert _exports(plan)["TORCH_NCCL_NAN_CHECK"] == "1"
    assert "TORCH_NCCL_NAN_CHECK" not in _conf(plan)


@pytest.mark.parametrize("name", SPECS)
def test_every_value_says_where_it_comes_from(name: str) -> None:
    plan = plan_of(name)
    (profile,) = plan.spec.nccl_profiles
    device = next(d for d in plan.devices if nccl.applies(plan, d))
    every = settings(plan, device.node_group, wiring_of(kind_of(plan, device), profile))
    assert {each.name: each.value for each in every if not each.environment and not each.at_start} == _conf(plan)
    for each in every:
        assert plan.spec.document.locate(each.origin).line > 1, each.name
        assert len(each.reason) > 10


@pytest.mark.parametrize(("name", "per_switch"), [("lab-roce", 2), ("rsc", 2), ("ib-24k", 2)])
def test_the_topology_places_every_gpu_beside_its_adapter(name: str, per_switch: int) -> None:
    plan = plan_of(name)
    device = next(d for d in plan.devices if nccl.applies(plan, d))
    model = plan.spec.catalogue[device.model]
    system = read_topology(_files(plan)[f"etc/nccl/topology-{device.model}.xml"])
    assert model.pcie is not None
    switches = [switch for cpu in system.children for switch in cpu.children]
    assert len(switches) == 8 // per_switch
    gpus = {address: index for index, address in enumerate(model.pcie.gpus)}
    backend = {nic.pci: nic for group in model.nic_groups for nic in group.nics if group.name == "backend"}
    for cpu in system.children:
        for switch in cpu.children:
            below = [child.attributes["busid"] for child in switch.children]
            beside = {gpus[address] for address in below if address in gpus}
            adapters = [backend[address] for address in below if address in backend]
            assert {nic.gpu for nic in adapters} == beside
            assert len(beside) == per_switch
            assert {str(nic.numa) for nic in adapters} == {cpu.attributes["numaid"]}
    assert sum(int(link.attributes["count"]) for link in _all(system, "nvlink")) == 8 * model.pcie.nvlinks


def test_the_topology_of_arm_names_the_architecture_alone() -> None:
    model, fabric = plan_of("lab-ib").spec.catalogue["dgx-h100"], plan_of("lab-ib").spec.fabric("backend")
    assert model.pcie is not None
    arm = replace(model, pcie=replace(model.pcie, cpu=Cpu(arch="arm64", vendor=None, family=None, model=None)))

    system = read_topology(template("nccl/topology.xml.j2").render(system=topology(arm, fabric)))

    assert [sorted(cpu.attributes) for cpu in system.children] == [["affinity", "arch", "numaid"]] * 2
    assert {cpu.attributes["arch"] for cpu in system.children} == {"arm64"}


def _all(element: Element, name: str) -> list[Element]:
    own = [element] if element.name == name else []
    return [*own, *(found for child in element.children for found in _all(child, name))]


def test_masks_are_written_as_the_kernel_does() -> None:
    assert cpu_mask("0-3,8", 40) == "00,0000010f"
    assert cpu_mask("32-39", 40) == "ff,00000000"
    assert cpu_mask("0-31", 32) == "ffffffff"


@pytest.mark.parametrize("missing", [None, "0000:5e:00.0"])
def test_another_machine_does_not_get_the_topology(missing: str | None, tmp_path: Path) -> None:
    files = _files(plan_of("lab-roce"))
    xml = files["etc/nccl/topology-grand-teton-h100.xml"]
    for address in re.findall(r'busid="(0000:[^"]+)"', xml):
        if address != missing:
            (tmp_path / "sys/bus/pci/devices" / address).mkdir(parents=True)
    command = ["sh", "-c", files["usr/local/sbin/nccl-topology"], "nccl-topology", str(tmp_path)]
    for _ in range(2):
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        link = tmp_path / "run/nccl/topology.xml"
        if missing is None:
            assert str(link.readlink()) == "/etc/nccl/topology-grand-teton-h100.xml"
        else:
            assert not link.is_symlink()
            assert missing in done.stderr


def test_the_tuner_s_table_is_what_the_plugin_reads() -> None:
    files = _files(plan_of("lab-roce"))
    assert read_tuner_table(files["etc/nccl/tuner.csv"]) == [
        ("allreduce", 0, 1 << 20, "tree", "ll128", -1, -1, -1),
        ("allreduce", (1 << 20) + 1, 1 << 32, "ring", "simple", -1, 8, -1),
    ]
    assert _exports(plan_of("lab-roce"))["NCCL_TUNER_CONFIG_FILE"] == "/etc/nccl/tuner.csv"


def _in_job(script: str, number: int, user: int, then: str = "true") -> dict[str, str]:
    """What a job of ``user`` finds in its environment, once ``then`` has run in it."""
    command = ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups", "sh", "-ec"]
    env = {"SLURM_JOB_ID": str(number), "PATH": "/usr/bin:/bin"}
    found = _said(subprocess.run([*command, script], env=env, capture_output=True, text=True, check=True).stdout)
    subprocess.run([*command, then], env={**env, **found}, check=True)
    return found


def test_records_of_a_job_are_in_nobody_s_way(tmp_path: Path) -> None:
    """PyTorch removes what lies where its pipe will be, which fails where that is another user's."""
    records = tmp_path / "records"
    records.mkdir()
    records.chmod(0o1777)
    for folder in takewhile(lambda each: each != Path(tempfile.gettempdir()), (tmp_path, *tmp_path.parents)):
        folder.chmod(0o755)
    script = _files(plan_of("lab-roce"))[TASK_ENVIRONMENT.removeprefix("/")].replace("/var/log/nccl", str(records))
    pipe = "TORCH_NCCL_DEBUG_INFO_PIPE_FILE"
    makes_it = f'rm -f "${pipe}-0.pipe"; mkfifo "${pipe}-0.pipe"'
    first = _in_job(script, 1, 4001, makes_it)
    again = _in_job(script, 1, 4001, makes_it)  # a job that was put back in the queue
    assert first[pipe] == again[pipe] == f"{records}/job-1/pipe_rank_"
    second = _in_job(script, 2, 4002, makes_it)
    assert second[pipe] != first[pipe]
    squatted = _in_job(script, 3, 4001)
    other = _in_job(script, 3, 4002, makes_it)  # the first user has made the folder of a job that is not theirs
    assert Path(other[pipe]).parent != Path(squatted[pipe]).parent
    assert other["TORCH_FR_DUMP_TEMP_FILE"].startswith(f"{Path(other[pipe]).parent}/")


def test_slurm_s_tasks_keep_what_their_job_has_set(tmp_path: Path) -> None:
    plan = plan_of("lab-roce")
    files = _files(plan)
    prolog = files[TASK_ENVIRONMENT.removeprefix("/")].replace("/var/log/nccl", str(tmp_path))
    env = {"SLURM_JOB_ID": "7", "PATH": "/usr/bin:/bin", "TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC": "99"}
    done = subprocess.run(["sh", "-c", prolog], env=env, capture_output=True, text=True, check=True)
    said = _said(done.stdout)
    assert said.keys() == {setting.name for setting in job_environment(plan, "compute")} - {
        "TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC"
    }
    assert said["TORCH_FR_DUMP_TEMP_FILE"] == f"{tmp_path}/job-7/rank_"
    controller = {
        artifact.path: artifact.content.decode() for artifact in slurm.WRITER.render(plan, plan.by_name["svc-v00n0"])
    }
    assert f"\nTaskProlog={TASK_ENVIRONMENT}\n" in controller["etc/slurm/slurm.conf"]


def test_containers_and_pods_find_it_too(tmp_path: Path) -> None:
    overlay = """images:
  - name: training
    packages: [enroot, mlnx-tools, podman]
    containers: {memlock: unlimited, shm_size_gb: 64, ipc: host, devices: [/dev/infiniband]}
"""
    plan = plan_with(tmp_path, "lab-roce", overlay)
    files = _files(plan)
    wanted = {setting.name: setting.value for setting in job_environment(plan, "compute") if not setting.file_of_job}
    podman = tomllib.loads(files["etc/containers/containers.conf.d/91-clusterwright-nccl.conf"])["containers"]
    assert {key: value for key, _, value in (each.partition("=") for each in podman["env"]) if key != "PATH"} == wanted
    assert "/etc/nccl.conf:/etc/nccl.conf:ro" in podman["volumes"]
    lines = files["etc/enroot/environ.d/50-clusterwright-nccl.env"].splitlines()
    assert dict(line.split("=", 1) for line in lines) == wanted
    mounts = files["etc/enroot/mounts.d/50-clusterwright-nccl.fstab"].splitlines()
    assert mounts[0] == "/etc/nccl.conf /etc/nccl.conf none x-create=file,bind,ro,nosuid,nodev,noexec,nofail,silent"
    objects = {artifact.path: artifact.content for artifact in kueue.render(plan, plan.by_name["svc-v00n0"])}
    assert yaml.safe_load(objects["etc/kueue/nccl.yaml"])["data"] == wanted
    pod = yaml.safe_load(objects["etc/kueue/pod.yaml"])["spec"]
    (container,) = pod["containers"]
    assert {each["name"] for each in container["volumeMounts"]} == {each["name"] for each in pod["volumes"]}
    own = {each["name"]: each for each in container["volumeMounts"]}["records"]
    assert own == {"name": "records", "mountPath": "/var/log/nccl", "subPathExpr": "job-$(POD_UID)"}
