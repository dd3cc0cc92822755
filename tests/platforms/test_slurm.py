"""slurmctld reads the rendered files and answers with the topology we meant."""

from __future__ import annotations

import itertools
import json
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from tests.platforms.plans import plan_of, plan_with

from clusterwright.artifact import Artifact
from clusterwright.deploy.secrets.secrets import SecretError, resolve
from clusterwright.intent.scheduling import controllers
from clusterwright.plan.model import Plan
from clusterwright.platforms.image.packages import all_packages
from clusterwright.platforms.linux.writer import health as node_health
from clusterwright.platforms.linux.writer import secrets as node_secrets
from clusterwright.platforms.linux.writer.health import LIMITS_FILE
from clusterwright.platforms.slurm import writer as slurm
from clusterwright.platforms.slurm.hostlist import hostlist
from clusterwright.platforms.slurm.topology import blocks
from clusterwright.spec.distribution import distribution_of
from clusterwright.spec.hardware.models import Gpus

PACKAGES = {"slurmctld": "slurmctld", "scontrol": "slurm-client", "munged": "munge"}

# slurmctld gets the rendered files, a host name and its planned address, which every compute node shares.
SCRIPT = """
set -e
mkdir -p /etc/slurm
mount --bind {folder}/etc/slurm /etc/slurm
mount --bind {folder}/hosts /etc/hosts
mount -t tmpfs none /run
mount -t tmpfs none /var/spool
mount -t tmpfs none /var/log
mkdir -p /run/munge /var/log/munge /var/log/slurm /var/spool/slurmctld
chown munge /run/munge /var/log/munge
chown slurm /var/log/slurm /var/spool/slurmctld
hostname {controller}
ip link set lo up
ip address add {address} dev lo nodad
runuser -u munge -- munged --force
slurmctld -D -c > {folder}/slurmctld.out 2>&1 &
controller=$!
for try in $(seq 300); do
    scontrol ping > {folder}/ping 2>&1 && grep -q "is UP" {folder}/ping && break
    kill -0 $controller || exit 1
    sleep 0.1
done
scontrol show topology > {folder}/topology
scontrol show config > {folder}/config
scontrol show nodes > {folder}/nodes
{questions}
kill $controller $(cat /run/munge/munged.pid)
wait
"""

# Nodes that need no slurmd to be free: the controller takes them for machines of a cloud that it can start.
CLOUD = """PrivateData=cloud
SuspendProgram=/bin/true
ResumeProgram=/bin/true
SuspendTime=3600
"""
# Jobs one after the other, each once the controller has given the one before its nodes.
QUESTIONS = """
placed=0
for request in {requests}; do
    sbatch --output=/dev/null $request --wrap true
    placed=$((placed + 1))
    for try in $(seq 150); do
        [ "$(squeue --noheader --states=configuring,running | wc -l)" = $placed ] && break
        sleep 0.1
    done
done
squeue --noheader --sort=i --format='%i %N' > {folder}/jobs
"""


def _files(plan: Plan, device: str) -> dict[str, Artifact]:
    return {artifact.path: artifact for artifact in slurm.WRITER.render(plan, plan.by_name[device])}


def _controller_answers(plan: Plan, folder: Path, requests: Sequence[str] = ()) -> dict[str, str]:
    """What a real controller says about our files: topology, config and nodes, and which nodes jobs get."""
    for program, package in PACKAGES.items():
        assert shutil.which(program), f"{program} is missing: apt-get install {package}"
    controller = controllers(plan)[0]
    for path, artifact in _files(plan, controller).items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(artifact.content)
    host = re.search(r"^SlurmctldHost=\S+\((\S+)\)$", (folder / "etc/slurm/slurm.conf").read_text(), re.M)
    assert host is not None
    assert plan.spec.scheduler is not None
    names = [d.name for d in plan.devices if d.node_group == plan.spec.scheduler.nodes]
    lines = ["127.0.0.1 localhost", f"{host[1]} {controller}", *(f"{host[1]} {name}" for name in names)]
    (folder / "hosts").write_text("\n".join(lines) + "\n")
    questions = (
        QUESTIONS.format(folder=folder, requests=" ".join(f"'{request}'" for request in requests)) if requests else ""
    )
    if requests:
        _start_from_a_cloud(folder / "etc/slurm")
    script = SCRIPT.format(folder=folder, controller=controller, address=host[1], questions=questions)
    done = subprocess.run(
        ["unshare", "--mount", "--net", "--uts", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c", script],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    said = (folder / "slurmctld.out").read_text() if (folder / "slurmctld.out").exists() else ""
    assert done.returncode == 0, done.stdout + done.stderr + said
    assert "fatal" not in said, said
    assert "Running as primary controller" in said, said
    answers = ["topology", "config", "nodes", *(["jobs"] if requests else [])]
    return {name: (folder / name).read_text() for name in answers}


def _start_from_a_cloud(folder: Path) -> None:
    """Says of every node that the controller may start it, and how many GPUs it will find then."""
    conf = folder / "slurm.conf"
    conf.write_text(conf.read_text().replace("State=UNKNOWN", "State=CLOUD") + CLOUD)
    gres = folder / "gres.conf"
    gpus = re.search(r" Gres=gpu:(\S+):(\d+) ", conf.read_text())
    assert gpus is not None
    gres.write_text(gres.read_text().replace("AutoDetect=nvml", f"Name=gpu Type={gpus[1]} Count={gpus[2]}"))


@pytest.mark.parametrize(("name", "leaves", "middle"), [("lab-roce", 4, 2), ("lab-ib", 2, 0)])
def test_slurmctld_sees_the_planned_tree(name: str, leaves: int, middle: int, tmp_path: Path) -> None:
    plan = plan_of(name)
    _is_the_planned_tree(plan, _controller_answers(plan, tmp_path), leaves, middle)


def _is_the_planned_tree(plan: Plan, answers: dict[str, str], leaves: int, middle: int) -> None:
    levels: dict[int, set[str]] = {}
    for switch, level in re.findall(r"^SwitchName=(\S+) Level=(\d+) ", answers["topology"], re.M):
        levels.setdefault(int(level), set()).add(switch)
    assert len(levels[0]) == leaves
    assert sum(len(found) for level, found in levels.items() if 0 < level < max(levels)) == middle
    assert levels[max(levels)] == {"cluster"}
    assert plan.spec.scheduler is not None
    nodes = re.findall(r"^NodeName=(\S+)", answers["nodes"], re.M)
    assert set(nodes) == {d.name for d in plan.devices if d.node_group == plan.spec.scheduler.nodes}
    assert "topology/tree" in answers["config"]


def test_a_job_of_a_pod_s_size_gets_one_pod(tmp_path: Path) -> None:
    """The whole cluster in a real controller, once ten nodes of the first pod are taken."""
    plan = plan_of("roce-24k")
    any_pod = "|".join(f"p{number:02d}" for number in range(8))
    requests = ("--nodes=10", "--nodes=384", f"--nodes=300 --constraint=[{any_pod}]", "--nodes=2", "--nodes=385")
    answers = _controller_answers(plan, tmp_path, requests)
    _is_the_planned_tree(plan, answers, 1536, 8)
    said = answers["jobs"]
    given = [_expand(line.split()[1]) for line in said.splitlines()]
    assert [len(nodes) for nodes in given] == [10, 384, 300, 2, 385], said
    pods = [{plan.by_name[node].pod for node in nodes} for nodes in given]
    assert [len(each) for each in pods] == [1, 1, 1, 1, 2]
    assert pods[1] != pods[0]  # the first pod is no longer whole
    assert len({plan.by_name[node].rack for node in given[0]}) == 5
    assert len({plan.by_name[node].rack for node in given[3]}) == 1


def test_nodes_have_their_processors_memory_and_pod() -> None:
    plan = plan_of("lab-roce")
    text = _files(plan, controllers(plan)[0])["etc/slurm/slurm.conf"].content.decode()
    assert (
        "NodeName=gpu-p00r[00-01]n[0-1] Sockets=2 CoresPerSocket=56 ThreadsPerCore=2 RealMemory=1953125 "
        "Gres=gpu:nvidia_h100_80gb_hbm3:8 Feature=p00 State=UNKNOWN\n"
    ) in text


# What NVML calls them, as nvidia-smi prints it, by a spec that has them.
NVML_NAMES = {
    "lab-roce": "NVIDIA H100 80GB HBM3",
    "lab-ib": "NVIDIA H100 80GB HBM3",
    "rsc-phase1": "NVIDIA A100-SXM4-80GB",
}


@pytest.mark.parametrize(("name", "nvml"), NVML_NAMES.items())
def test_slurmd_finds_the_gpus_of_the_written_type(name: str, nvml: str) -> None:
    """gres.conf(5): the type has to be a part of NVML's name in small letters, with ``_`` for blanks."""
    plan = plan_of(name)
    text = _files(plan, controllers(plan)[0])["etc/slurm/slurm.conf"].content.decode()
    types = set(re.findall(r" Gres=gpu:(\S+):8", text))
    assert types
    assert all(each in nvml.lower().replace(" ", "_") for each in types)


def test_gpus_that_nobody_knows_nvml_s_name_of_have_no_type() -> None:
    assert slurm.gres(Gpus(8, "X1000", 80)) == "gpu:8"


@pytest.mark.parametrize("name", ["lab-roce", "lab-ib", "roce-24k", "ib-24k", "rsc"])
def test_topology_yaml_says_what_topology_conf_says(name: str) -> None:
    """Against the documented grammar (topology.yaml(5)): no packaged Slurm is new enough to read it."""
    plan = plan_of(name)
    files = _files(plan, controllers(plan)[0])
    (entry,) = yaml.safe_load(files["etc/slurm/topology.yaml"].content)
    assert set(entry) == {"topology", "cluster_default", "tree"}
    assert entry["cluster_default"] is True
    lines = files["etc/slurm/topology.conf"].content.decode().splitlines()[1:]
    in_conf = {name: (key, members) for name, key, members in (re.split(r" |=", line)[1:] for line in lines)}
    keys = {"Nodes": "nodes", "Switches": "children"}
    assert [set(switch) for switch in entry["tree"]["switches"]] == [
        {"switch", keys[key]} for key, _ in in_conf.values()
    ]
    for switch in entry["tree"]["switches"]:
        key, members = in_conf[switch["switch"]]
        assert switch[keys[key]] == members
        assert len(switch["switch"]) <= 64


def test_blocks_in_both_forms(tmp_path: Path) -> None:
    overlay = "scheduler: {kind: slurm, nodes: compute, plugin: block, leaf: rack, block_sizes: [2, 4, 8]}\n"
    plan = plan_with(tmp_path, "lab-roce", overlay)
    files = _files(plan, controllers(plan)[0])
    (entry,) = yaml.safe_load(files["etc/slurm/topology.yaml"].content)
    assert entry["block"]["block_sizes"] == [2, 4, 8]
    assert [f"BlockName={each['block']} Nodes={each['nodes']}" for each in entry["block"]["blocks"]] == [
        line for line in files["etc/slurm/topology.conf"].content.decode().splitlines() if line.startswith("BlockName")
    ]
    assert "BlockSizes=2,4,8" in files["etc/slurm/topology.conf"].content.decode()
    assert "TopologyPlugin=topology/block" in files["etc/slurm/slurm.conf"].content.decode()


KEY = "scheduler:\n  munge: {by_site: null, secret: munge-key}\n"


def test_daemons_wait_for_the_cluster_s_key_and_start_when_it_comes(tmp_path: Path) -> None:
    plan = plan_with(tmp_path, "lab-roce", KEY)
    for name, daemon in (("gpu-p00r00n0", "slurmd"), (controllers(plan)[0], "slurmctld")):
        files = {each.path: each.content.decode() for each in slurm.WRITER.render(plan, plan.by_name[name])}
        (key,) = (
            each for each in node_secrets.WRITER.render(plan, plan.by_name[name]) if each.path == node_secrets.MUNGE_KEY
        )
        assert (key.content, key.mode) == (b"<secret munge-key as munge-key>", 0o600)
        units = "etc/systemd/system"
        for unit in ("munge", daemon):
            drop_in = files[f"{units}/{unit}.service.d/90-clusterwright.conf"]
            assert "ConditionPathExists=/etc/clusterwright/munge.key\n" in drop_in
        assert "Wants=munge-key.path\n" in files[slurm.WANTS]
        assert "PathChanged=/etc/clusterwright/munge.key\n" in files[f"{units}/munge-key.path"]
        restart = f"restart munge.service {daemon}.service\n"
        assert restart in files[f"{units}/munge-key.service"]
        assert not [path for path in files if "munge-key" in files[path] and path.endswith(".key")]


@pytest.mark.parametrize(("value", "is_taken"), [("a" * 64, True), ("short", False), ("a" * 1025, False)])
def test_a_key_that_munge_would_not_take_is_refused(value: str, is_taken: bool) -> None:
    content = b"<secret munge-key as munge-key>"
    if is_taken:
        assert resolve(content, {"munge-key": value}) == value.encode()
    else:
        with pytest.raises(SecretError, match="no key for munge"):
            resolve(content, {"munge-key": value})


def test_munge_starts_with_the_key_that_came_and_trusts_who_has_it(tmp_path: Path) -> None:
    """What the units do, by hand: the key is put where munged wants it, as its user's, and a credential is taken."""
    text = _files(plan_with(tmp_path, "lab-roce", KEY), "gpu-p00r00n0")
    drop_in = text["etc/systemd/system/munge.service.d/90-clusterwright.conf"].content.decode()
    (install,) = re.findall(r"^ExecStartPre=\+(.*)$", drop_in, re.M)
    script = f"""
set -e
mount -t tmpfs none /etc/munge
mount -t tmpfs none /run
mount -t tmpfs none /var/log
mkdir -p /run/munge /var/log/munge {tmp_path}/key
chown munge /run/munge /var/log/munge /etc/munge
echo {"k" * 64} > {tmp_path}/munge.key
{install.replace("/etc/clusterwright/munge.key", str(tmp_path / "munge.key"))}
runuser -u munge -- munged
munge -n | unmunge > /dev/null
kill $(cat /run/munge/munged.pid)
"""
    done = subprocess.run(
        ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c", script],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_messages_reach_a_large_cluster_in_three_hops() -> None:
    for name, nodes in (("lab-roce", 8), ("roce-24k", 3072)):
        plan = plan_of(name)
        text = _files(plan, controllers(plan)[0])["etc/slurm/slurm.conf"].content.decode()
        width, timeout = (int(re.findall(rf"^{key}=(\d+)$", text, re.M)[0]) for key in ("TreeWidth", "MessageTimeout"))
        assert width**3 >= nodes
        assert timeout == (60 if nodes > 1024 else 10)


def test_nothing_of_a_job_outlives_it(tmp_path: Path) -> None:
    """The epilog ends what the job's user left, and drains the node where that is not to be had."""
    script = _files(plan_of("lab-roce"), "gpu-p00r00n0")[slurm.EPILOG].content.decode()
    (tmp_path / "nvidia-smi").write_text('#!/bin/sh\ncat "$HELD"\n')
    (tmp_path / "nvidia-smi").chmod(0o755)
    (tmp_path / "none").touch()
    (tmp_path / "some").write_text("4711\n")
    user = 54321
    for held, status in (("none", 0), ("some", 1)):
        left = subprocess.Popen(["setpriv", f"--reuid={user}", "--clear-groups", "sleep", "60"])
        env = {"PATH": f"{tmp_path}:/usr/bin:/bin", "SLURM_JOB_UID": str(user), "HELD": str(tmp_path / held)}
        done = subprocess.run(["sh", "-c", script], env=env, capture_output=True, text=True, timeout=30, check=False)
        assert done.returncode == status, done.stderr
        assert left.wait(5) == -9
        assert ("hold GPUs" in done.stderr) is (held == "some")


def test_compute_nodes_ask_the_controller() -> None:
    plan = plan_of("lab-roce")
    files = _files(plan, "gpu-p00r00n0")
    assert files["etc/default/slurmd"].content.decode().endswith('--conf-server svc-v00n0:6817"\n')
    drop_in = files["etc/systemd/system/slurmd.service.d/90-clusterwright.conf"].content.decode()
    lines = drop_in.splitlines()
    assert {"Requires=munge.service", "ConditionPathExists=", "EnvironmentFile=/etc/default/slurmd"} <= {*lines}
    # It comes after what it needs, and comes up without it: then the node check drains the node and says why.
    assert {"Wants=roce-qos.service", "After=roce-qos.service", "Wants=remote-fs.target", "After=remote-fs.target"} <= {
        *lines
    }
    assert not [line for line in lines if line.startswith(("Requires=roce", "RequiresMountsFor"))]


def test_both_sides_start_at_boot_whatever_a_preset_says() -> None:
    plan = plan_of("lab-roce")
    worker, controller = (_files(plan, name) for name in ("gpu-p00r00n0", controllers(plan)[0]))
    assert _wants(worker) == ["munge.service", "slurmd.service"]
    assert _wants(controller) == ["munge.service", "slurmctld.service"]
    folders = controller[slurm.STATE_FOLDERS].content.decode()
    assert "d /var/spool/slurmctld 0700 slurm slurm -\n" in folders  # where slurm.conf keeps the state
    assert "StateSaveLocation=/var/spool/slurmctld\n" in controller["etc/slurm/slurm.conf"].content.decode()
    health = next(
        each for each in node_health.WRITER.render(plan, plan.by_name["gpu-p00r00n0"]) if each.path == LIMITS_FILE
    )
    assert {"munge.service", "slurmd.service"} <= {*json.loads(health.content)["units"]}


def _wants(files: dict[str, Artifact]) -> list[str]:
    return re.findall(r"^Wants=(\S+)$", files[slurm.WANTS].content.decode(), re.M)


def test_images_hold_what_either_side_calls(tmp_path: Path) -> None:
    """scontrol drains a node, srun starts the steps of a batch script: on Debian neither comes with slurmd."""
    overlay = "nodes:\n  - {name: services, image: training}\n"
    plan = plan_with(tmp_path, "lab-roce", overlay)
    image, debian = plan.spec.image("training"), distribution_of("Debian 13")
    assert image is not None
    assert debian is not None
    names = {package.name for package in all_packages(plan, image, debian)}
    assert {"munge", "slurmd", "slurmctld", "slurm-client"} <= names


def test_blocks_hold_every_node_once() -> None:
    plan = plan_of("lab-roce")
    assert plan.spec.scheduler is not None
    assert [f"{block.name}:{block.nodes}" for block in blocks(plan, plan.spec.scheduler)] == [
        "p00r00:gpu-p00r00n[0-1]",
        "p00r01:gpu-p00r01n[0-1]",
        "p01r00:gpu-p01r00n[0-1]",
        "p01r01:gpu-p01r01n[0-1]",
    ]


def test_hostlists_fold_products() -> None:
    names = [f"gpu-p{pod:02d}r{rack:03d}n{node}" for pod in range(8) for rack in range(192) for node in range(2)]
    assert hostlist(names) == "gpu-p[00-07]r[000-191]n[0-1]"
    assert hostlist([name for name in names if name != "gpu-p00r000n0"]).count("gpu-") == 3
    assert hostlist(["a1", "a2", "a4", "b", "c"]) == "a[1-2,4],b,c"
    assert hostlist(["single9"]) == "single9"
    assert hostlist([]) == ""


@given(st.sets(st.tuples(st.integers(0, 12), st.integers(0, 12)), min_size=1, max_size=60))
def test_hostlists_expand_to_what_was_folded(pairs: set[tuple[int, int]]) -> None:
    names = {f"gpu-r{rack:02d}n{node}" for rack, node in pairs}
    assert sorted(_expand(hostlist(sorted(names)))) == sorted(names)


def _expand(expression: str) -> list[str]:
    """The reading of a hostlist expression, written independently of the folding."""
    found: list[str] = []
    for entry in re.findall(r"(?:[^,\[]|\[[^\]]*\])+", expression):
        choices: list[list[str]] = []
        for text, numbers in re.findall(r"([^\[]+)|\[([^\]]*)\]", entry):
            if text:
                choices.append([text])
                continue
            values: list[str] = []
            for part in numbers.split(","):
                low, _, high = part.partition("-")
                values.extend(str(n).zfill(len(low)) for n in range(int(low), int(high or low) + 1))
            choices.append(values)
        found.extend("".join(parts) for parts in itertools.product(*choices))
    return found
