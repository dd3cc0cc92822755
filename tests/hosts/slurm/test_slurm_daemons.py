"""What starts Slurm's daemons, gives them their key, and looks after a job."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
from pathlib import Path

import pytest
import yaml
from tests.hosts.slurm.controller import acting, controller_answers, controller_files, files_of
from tests.plans import plan_of, plan_with

from clusterwright import data_files
from clusterwright.artifact import Artifact
from clusterwright.deploy.secrets.secrets import SecretError, resolve
from clusterwright.hosts.linux.effects import LIMITS_FILE
from clusterwright.hosts.linux.writer import secrets as node_secrets
from clusterwright.hosts.node_checks import health as node_health
from clusterwright.hosts.slurm import writer as slurm
from clusterwright.hosts.slurm.configuration import EPILOG
from clusterwright.intent.image.packages import all_packages
from clusterwright.spec.distribution import distribution_of

ROLE = yaml.safe_load((data_files.folder("roles") / "device_tree/defaults/main.yml").read_text())
DRAINED = "exceptions:\n  - {device: gpu-p00r00n0, state: drained, reason: a fan}\n"
KEY = "scheduler:\n  munge: {by_site: null, secret: munge-key}\n"


def test_daemons_wait_for_the_cluster_s_key_and_start_when_it_comes(tmp_path: Path) -> None:
    plan = plan_with(tmp_path, "lab-roce", KEY)
    for name, daemon in (("gpu-p00r00n0", "slurmd"), (acting(plan), "slurmctld")):
        files = {artifact.path: artifact.content.decode() for artifact in slurm.WRITER.render(plan, plan.by_name[name])}
        (key,) = (
            artifact
            for artifact in node_secrets.WRITER.render(plan, plan.by_name[name])
            if artifact.path == node_secrets.MUNGE_KEY
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
    text = files_of(plan_with(tmp_path, "lab-roce", KEY), "gpu-p00r00n0")
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


def test_nothing_of_a_job_outlives_it(tmp_path: Path) -> None:
    """The epilog ends what the job's user left, and drains the node where that is not to be had."""
    script = files_of(plan_of("lab-roce"), "gpu-p00r00n0")[EPILOG].content.decode()
    (tmp_path / "nvidia-smi").write_text('#!/bin/sh\ncat "$HELD"\n')
    (tmp_path / "nvidia-smi").chmod(0o755)
    (tmp_path / "none").touch()
    (tmp_path / "some").write_text("4711\n")
    user = 54321
    for held, status in (("none", 0), ("some", 1)):
        left = subprocess.Popen(["sleep", "60"], user=user, extra_groups=[])  # theirs once this returns
        env = {"PATH": f"{tmp_path}:/usr/bin:/bin", "SLURM_JOB_UID": str(user), "HELD": str(tmp_path / held)}
        done = subprocess.run(["sh", "-c", script], env=env, capture_output=True, text=True, timeout=30, check=False)
        assert done.returncode == status, done.stderr
        assert left.wait(5) == -9
        assert ("hold GPUs" in done.stderr) is (held == "some")


def test_compute_nodes_ask_the_controller() -> None:
    plan = plan_of("lab-roce")
    files = files_of(plan, "gpu-p00r00n0")
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
    worker, controller = (files_of(plan, name) for name in ("gpu-p00r00n0", acting(plan)))
    assert _wants(worker) == ["munge.service", "slurmd.service"]
    assert _wants(controller) == ["munge.service", "slurmctld.service"]
    folders = controller[slurm.STATE_FOLDERS].content.decode()
    assert "d /var/spool/slurmctld 0700 slurm slurm -\n" in folders  # where slurm.conf keeps the state
    assert "StateSaveLocation=/var/spool/slurmctld\n" in controller["etc/slurm/slurm.conf"].content.decode()
    health = next(
        artifact
        for artifact in node_health.WRITER.render(plan, plan.by_name["gpu-p00r00n0"])
        if artifact.path == LIMITS_FILE
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


def test_a_controller_that_ended_is_not_waited_for(tmp_path: Path) -> None:
    """systemd says that a start failed once ExecStartPost is done: a minute went by for a controller that was gone."""
    script = tmp_path / "return-nodes"
    script.write_bytes(controller_files(plan_of("lab-roce"))["usr/local/sbin/slurm-return-nodes"].content)
    (tmp_path / "scontrol").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "scontrol").chmod(0o755)
    with subprocess.Popen(["true"]) as ended:
        pass
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin"}
    words = ["sh", str(script), "--wait"]
    subprocess.run(words, env={**environment, "MAINPID": str(ended.pid)}, check=True, timeout=5)
    with pytest.raises(subprocess.TimeoutExpired):
        subprocess.run(words, env={**environment, "MAINPID": str(os.getpid())}, check=True, timeout=3)


def test_slurm_gets_a_node_back_that_the_spec_drains_no_more(tmp_path: Path) -> None:
    plan, drained = plan_of("lab-roce"), plan_with(tmp_path, "lab-roce", DRAINED)
    (step,) = (each for each in ROLE["device_tree_switch_overs"] if each["name"] == "slurmctld")
    activate = "\n".join(shlex.join(command) for command in step["activate"])
    conf = "etc/slurm/slurm.conf"
    (tmp_path / "drained.conf").write_bytes(controller_files(drained)[conf].content)
    (tmp_path / "usual.conf").write_bytes(controller_files(plan)[conf].content)

    def brought_onto(name: str) -> str:
        tell = f"sinfo -hN -o '%N %T %E' | sort -u > {tmp_path}/{name}.states"
        return f"cat {tmp_path}/{name}.conf > /etc/slurm/slurm.conf\n{activate}\nsleep 1\n{tell}\n"

    then = f"mount --bind {tmp_path}/usr/local/sbin /usr/local/sbin\nchmod 755 /usr/local/sbin/slurm-return-nodes\n"
    then += brought_onto("drained")
    then += "scontrol update NodeName=gpu-p00r01n0 State=DRAIN Reason='a fan'\n" + brought_onto("usual")
    controller_answers(plan, tmp_path, then=then)

    before, after = (_states(tmp_path / f"{name}.states") for name in ("drained", "usual"))
    assert before["gpu-p00r00n0"] == "drained* drained in the spec"
    assert not before["gpu-p00r01n0"].startswith("drained")
    assert not after["gpu-p00r00n0"].startswith("drained")
    assert after["gpu-p00r01n0"] == "drained* a fan"


def _states(file: Path) -> dict[str, str]:
    return dict(line.split(maxsplit=1) for line in file.read_text().splitlines())
