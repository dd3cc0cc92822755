"""The node check as nodes get it: rendered, copied to a root of its own, started by the system's Python."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path

import pytest
from tests.plans import plan_of, plan_with

from clusterwright.node_health.main import HEALTHY, UNHEALTHY
from clusterwright.node_health.readings import TIMEOUT_S, NodeCommand, run_commands
from clusterwright.output.rendering import Rendering

REPLAY = Path(__file__).parents[1] / "data/health/h100-roce"


def test_the_rendered_program_runs_without_clusterwright(tmp_path: Path) -> None:
    for artifact in Rendering(plan_of("lab-roce")).of_device("gpu-p00r00n0"):
        if artifact.kind == "node-health":
            place = tmp_path / artifact.path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(artifact.content.replace(b'"/usr/local/lib/', f'"{tmp_path}/usr/local/lib/'.encode()))
            place.chmod(artifact.mode)
    program = tmp_path / "usr/local/sbin/node-health"
    replay = ["--replay", str(REPLAY / "recorded.txt")]
    done = subprocess.run([program, "--expected", REPLAY, *replay], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (HEALTHY, "")
    assert json.loads(done.stdout)["ok"] is True
    # This machine is no such node: that is a verdict, not a failure of the program.
    record = tmp_path / "recorded.txt"
    here = ["--expected", str(tmp_path / "etc/clusterwright"), "--record", str(record)]
    done = subprocess.run([program, *here], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (UNHEALTHY, "")
    verdict = json.loads(done.stdout)
    failed = {each["name"] for each in verdict["checks"] if not each["ok"]}
    assert {"gpu-count", "nic-count", "image"} <= failed
    # What was recorded is judged the same again, wherever.
    done = subprocess.run(
        [program, "--expected", here[1], "--replay", str(record)], capture_output=True, text=True, check=False
    )
    assert json.loads(done.stdout)["checks"] == verdict["checks"]
    assert not list(tmp_path.rglob("*.pyc"))


def test_what_hangs_is_given_up_and_its_processes_are_ended(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    subprocess.run(["mkfifo", fifo], check=True)
    stuck = ("sh", "-c", f"sleep 611.{tmp_path.name[-1]}; true")
    answers = run_commands(
        [NodeCommand(stuck), NodeCommand(("true",)), NodeCommand(("cat", str(fifo))), NodeCommand(("no-such-tool",))]
    )
    assert answers[" ".join(stuck)].error == f"sh did not answer within {TIMEOUT_S:g} s"
    assert answers[f"cat {fifo}"].error == f"cat did not answer within {TIMEOUT_S:g} s"
    assert answers["no-such-tool"].error == "no-such-tool: No such file or directory"
    assert answers["true"].error == ""
    while subprocess.run(["pgrep", "-f", f"^{stuck[2].split(';')[0]}"], capture_output=True, check=False).stdout:
        time.sleep(0.05)
    fifo.write_bytes(b"")  # lets the reader go


def test_the_spec_sets_limits_and_leaves_checks_out(tmp_path: Path) -> None:
    overlay = (
        "images:\n- name: training\n  health:\n    link_downs: 2\n    interval_s: 120\n"
        "    leave_out: {gpu-nvlink: these machines have none, check-filter: told by packet-filter}\n"
    )
    plan = plan_with(tmp_path, "lab-roce", overlay)
    files = {
        artifact.path: artifact.content.decode("utf-8", "replace")
        for artifact in Rendering(plan).of_device("gpu-p00r00n0")
    }
    shared = json.loads(files["etc/clusterwright/health.json"])
    assert shared["limits"]["link_downs"] == 2
    assert shared["left_out"] == ["check-filter", "gpu-nvlink"]
    assert shared["commands"] == []
    assert "OnUnitActiveSec=120s\n" in files["etc/systemd/system/node-health.timer"]
    controller = {
        artifact.path: artifact.content.decode("utf-8", "replace")
        for artifact in Rendering(plan).of_device("svc-v00n0")
    }
    assert "HealthCheckInterval=120\n" in controller["etc/slurm/slurm.conf"]


@pytest.mark.parametrize(
    ("health", "checks", "longest_s"),
    [
        ("{}", "[]", 60),
        ("{patience_s: 45}", "[]", 90),
        ("{}", "[{name: scratch, run: 'true', timeout_s: 300}]", 600),
        ("{leave_out: {check-scratch: not now}}", "[{name: scratch, run: 'true', timeout_s: 300}]", 60),
    ],
)
def test_the_unit_waits_for_the_slowest_answer_it_allows(
    health: str, checks: str, longest_s: int, tmp_path: Path
) -> None:
    """One that systemd ended before had no verdict, and was failed itself."""
    overlay = f"images:\n- name: training\n  health: {health}\n  checks: {checks}\n"
    files = {
        artifact.path: artifact
        for artifact in Rendering(plan_with(tmp_path, "lab-roce", overlay)).of_device("gpu-p00r00n0")
    }
    text = files["etc/systemd/system/node-health.service"].content.decode()
    assert f"\nTimeoutStartSec={longest_s}\n" in text


@pytest.mark.parametrize(("told", "status"), [("PSU0 | C0h | ok  | 10.1 | Presence detected", 0), ("No BMC", 1)])
def test_the_bmc_s_answer_is_kept_whatever_it_is(tmp_path: Path, told: str, status: int) -> None:
    program = next(
        artifact.content.decode()
        for artifact in Rendering(plan_of("lab-ib")).of_device("gpu-s00r00n0")
        if artifact.path.endswith("sbin/power-supplies")
    )
    tools = tmp_path / "bin"
    tools.mkdir()
    for name, text in (("ipmitool", f"echo '{told}'; exit {status}"), ("modprobe", "exit 1")):
        (tools / name).write_text(f"#!/bin/sh\n{text}\n")
        (tools / name).chmod(0o755)
    kept = tmp_path / "run/power-supplies"
    script = program.replace("/run/clusterwright/power-supplies", str(kept))
    subprocess.run(["sh", "-c", script], check=True, env={"PATH": f"{tools}:/usr/bin:/bin"})
    uptime, said = kept.read_text().splitlines()
    assert float(uptime.split()[0]) > 0
    assert said == told


def test_processors_are_set_where_no_tuned_sets_them(tmp_path: Path) -> None:
    (artifact,) = [
        artifact
        for artifact in Rendering(plan_of("lab-ib")).of_device("gpu-s00r00n0")
        if artifact.path.endswith("processors.conf")
    ]
    for cpu in ("cpu0", "cpu17"):
        for name in ("cpufreq/scaling_governor", "power/pm_qos_resume_latency_us"):
            place = tmp_path / "sys/devices/system/cpu" / cpu / name
            place.parent.mkdir(parents=True, exist_ok=True)
            place.touch()
    (tmp_path / "node.conf").write_bytes(artifact.content)
    subprocess.run(["systemd-tmpfiles", "--create", f"--root={tmp_path}", tmp_path / "node.conf"], check=True)
    held = {
        str(path.relative_to(tmp_path)): path.read_text() for path in (tmp_path / "sys").rglob("*") if path.is_file()
    }
    assert sorted(set(held.values())) == ["99", "performance"]
    assert len(held) == 4
