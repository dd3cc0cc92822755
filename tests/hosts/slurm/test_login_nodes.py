"""Login nodes of a Slurm: what they get, what they need, and jobs that their commands hand to a real slurmctld."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.hosts.slurm.controller import acting, files_of
from tests.hosts.slurm.login import LAB, LOGIN_NODES, SLURM_FLOWS, login_overlay
from tests.hosts.slurm.node import JobReport, plan_on, run_jobs
from tests.plans import plan_with

from clusterwright.artifact import Artifact
from clusterwright.hosts.linux.writer import secrets as node_secrets
from clusterwright.hosts.slurm import writer as slurm
from clusterwright.hosts.slurm.reader import GRES_CONF, SLURM_CONF, SLURMD_DEFAULTS
from clusterwright.intent.image.packages import all_packages
from clusterwright.output.rendering import Rendering
from clusterwright.plan.model import Plan
from clusterwright.proofs.check import Verdict
from clusterwright.proofs.declaration import Declaration
from clusterwright.proofs.operation.slurm import SLURM_NODES
from clusterwright.proofs.tree import RenderedTree, tree_of
from clusterwright.rules.engine import lint_path
from clusterwright.spec.distribution import distribution_of

NODE, (LOGIN, OTHER_LOGIN) = "gpu-s00r00n0", LOGIN_NODES
KEY = """scheduler:
  login: [login]
  munge: {by_site: null, secret: munge-key}
secrets:
  - {name: munge-key, source: environment, key: MUNGE_KEY}
"""
# The login node is a machine of its own name and its own /etc/slurm, and has nothing else of the controller's. Two
# users submit there, for a job's epilog ends all that its user runs: srun waits while the batch script has the node.
ON_LOGIN_NODE = """
unshare --mount --uts sh -eu -c '
hostname {name}
mount --bind {folder}/login/etc/slurm /etc/slurm
ls /etc/slurm > {folder}/configuration
setpriv --reuid 65534 --regid 65534 --clear-groups \\
    sbatch --parsable --output=/dev/null --gres=gpu:8 --wrap "sleep 2" > {folder}/submitted 2>&1 || :
setpriv --reuid 1 --regid 1 --clear-groups \\
    timeout 90 srun --gres=gpu:8 sh -c "echo \\$SLURMD_NODENAME \\$CUDA_VISIBLE_DEVICES" > {folder}/step 2>&1 || :
'
for try in $(seq 100); do [ -n "$(squeue --noheader)" ] || break; sleep 0.1; done
scontrol --oneliner show jobs > {folder}/jobs
"""


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    return plan_with(tmp_path_factory.mktemp("login"), LAB, f"nodes:\n{login_overlay(KEY)}")


def test_login_nodes_have_the_controller_s_text_and_no_daemon(plan: Plan) -> None:
    controller = files_of(plan, acting(plan))
    for name in LOGIN_NODES:
        files = files_of(plan, name)
        assert files[SLURM_CONF].content == controller[SLURM_CONF].content
        assert not {SLURMD_DEFAULTS, GRES_CONF, slurm.RETURN_NODES, slurm.STATE_FOLDERS} & files.keys()
        wants = files[slurm.WANTS].content.decode()
        assert [line for line in wants.splitlines() if line.startswith("Wants=")] == [
            "Wants=munge.service",
            "Wants=munge-key.path",
        ]
        assert not [path for path, file in files.items() if b"slurmd.service" in file.content]


def test_login_nodes_get_munge_s_key_and_wait_for_it(plan: Plan) -> None:
    for name in LOGIN_NODES:
        secrets = {file.path: file for file in node_secrets.WRITER.render(plan, plan.by_name[name])}
        key = secrets[node_secrets.MUNGE_KEY]
        assert (key.content, key.mode) == (b"<secret munge-key as munge-key>", 0o600)
        restart = files_of(plan, name)["etc/systemd/system/munge-key.service"].content.decode()
        assert restart.endswith("restart munge.service\n")


@pytest.mark.parametrize(
    ("distribution", "commands"),
    [("Debian 13", "slurm-client"), ("Ubuntu 24.04", "slurm-client"), ("Rocky 9", "slurm")],
)
def test_images_of_login_nodes_have_the_commands(plan: Plan, distribution: str, commands: str) -> None:
    image, of_image = plan.spec.image("login"), distribution_of(distribution)
    assert image is not None
    assert of_image is not None
    names = {package.name for package in all_packages(plan, image, of_image)}
    assert {"munge", commands} <= names
    assert not {"slurmd", "slurmctld", "slurm-slurmd", "slurm-slurmctld"} & names


def test_a_controller_s_group_may_be_a_login_group(tmp_path: Path) -> None:
    """The machine without slurmctld gets slurm.conf, the other one has it."""
    plan = plan_with(tmp_path, LAB, "nodes:\n  - {name: services, image: training}\nscheduler: {login: [services]}\n")
    second = files_of(plan, "svc-v00n1")
    assert second[SLURM_CONF].content == files_of(plan, acting(plan))[SLURM_CONF].content
    assert GRES_CONF not in second


@pytest.mark.parametrize("flow", ["", *SLURM_FLOWS])
def test_lint_asks_for_each_flow_of_the_commands(tmp_path: Path, flow: str) -> None:
    base = f"nodes:\n{login_overlay(without_flow=flow)}"
    plan_with(tmp_path, LAB, base)
    messages = [finding.message for finding in lint_path(tmp_path / "overlay.yaml").findings]
    if not flow:
        assert messages == []
        return
    source, target = SLURM_FLOWS[flow].split(", protocol")[0].removeprefix("from: ").split(", to: ")
    (message,) = messages
    assert message.startswith(f"No flow leads from {source} to {target} over TCP port")


def tree_with(plan: Plan, device: str, edit: tuple[str, str] | None) -> RenderedTree:
    """What is rendered, with one line of a machine's slurm.conf edited, or the file taken away."""

    def artifacts() -> Iterator[Artifact]:
        for artifact in Rendering(plan).of_kinds(SLURM_NODES.kinds):
            if (artifact.device, artifact.path) != (device, SLURM_CONF):
                yield artifact
            elif edit is not None:
                text = artifact.content.decode()
                assert edit[0] in text
                yield Artifact(device, SLURM_CONF, text.replace(*edit, 1).encode(), artifact.kind)

    return tree_of(plan.name, artifacts(), Declaration(plan))


def verdict(plan: Plan, device: str, edit: tuple[str, str] | None, *, declared: bool = True) -> Verdict:
    tree = tree_with(plan, device, edit)
    return SLURM_NODES.run(tree if declared else replace(tree, declaration=None))


def test_login_nodes_with_the_controller_s_text_are_proven(plan: Plan) -> None:
    result = verdict(plan, LOGIN, ("ClusterName", "ClusterName"))
    assert result.is_proven, [*result.counterexamples, result.unjudged]
    assert [fact.value for fact in result.facts] == [16, 128]


@pytest.mark.parametrize("declared", [True, False])
@pytest.mark.parametrize(
    "edit",
    [
        ("AuthType=auth/munge", "AuthType=auth/none"),
        ("SrunPortRange=61000-63999", "SrunPortRange=40000-41000"),
        ("MessageTimeout=10", "MessageTimeout=100"),
        ("Default=YES", "Default=NO"),
        ("SlurmctldHost=svc-v00n0", "SlurmctldHost=svc-v00n1"),
    ],
)
def test_a_login_node_with_another_text_is_refuted(plan: Plan, edit: tuple[str, str], declared: bool) -> None:
    (example, *_) = verdict(plan, LOGIN, edit, declared=declared).counterexamples
    assert example.device == LOGIN


def test_the_edited_line_is_named(plan: Plan) -> None:
    (example,) = verdict(plan, LOGIN, ("MessageTimeout=10", "MessageTimeout=100")).counterexamples
    line = files_of(plan, LOGIN)[SLURM_CONF].content.decode().splitlines()[example.line - 1]
    assert line == "MessageTimeout=10"
    assert example.message == "commands read something else here than slurmctld does on svc-v00n0"


def test_a_login_node_without_the_file_is_refuted(plan: Plan) -> None:
    (example,) = verdict(plan, OTHER_LOGIN, None).counterexamples
    assert (example.device, example.message) == (
        OTHER_LOGIN,
        "the file is missing: no command of Slurm finds its controller",
    )


def jobs_of_login_node(folder: Path) -> JobReport:
    cores = {"sockets": 1, "cores_per_socket": os.cpu_count() or 1, "threads_per_core": 1}
    plan = plan_on(folder, LAB, cores, login_overlay())
    configuration = folder / "login/etc/slurm"
    configuration.mkdir(parents=True)
    for path, artifact in files_of(plan, LOGIN).items():
        if path.startswith(f"{slurm.FOLDER}/"):
            (configuration / Path(path).name).write_bytes(artifact.content)
    return run_jobs(plan, folder, NODE, then=ON_LOGIN_NODE.format(name=LOGIN, folder=folder))


def test_a_real_slurmctld_takes_jobs_of_a_login_node(tmp_path: Path) -> None:
    """A batch script ends well; an srun on the login node is told when it gets the node, and hears its tasks."""
    report = jobs_of_login_node(tmp_path)
    assert (tmp_path / "configuration").read_text().split() == ["slurm.conf"]
    submitted = (tmp_path / "submitted").read_text()
    assert submitted.strip().isdecimal(), submitted + report.logs
    queued, told, output = (tmp_path / "step").read_text().splitlines()
    assert queued.endswith("queued and waiting for resources"), queued
    assert told.endswith("has been allocated resources"), told
    assert output == f"{NODE} 0,1,2,3,4,5,6,7", report.logs
    jobs = (tmp_path / "jobs").read_text()
    assert jobs.count("JobState=COMPLETED") == 2, jobs + report.logs
