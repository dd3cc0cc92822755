"""The node check as nodes get it: rendered, copied to a root of its own, started by the system's Python."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path

from tests.platforms.plans import plan_of, plan_with

from clusterwright.node_health.main import HEALTHY, UNHEALTHY
from clusterwright.node_health.readings import DEADLINE_S, Question, ask
from clusterwright.output.engine import render_device

REPLAY = Path(__file__).parents[1] / "data/health/h100-roce"


def test_the_rendered_program_runs_without_clusterwright(tmp_path: Path) -> None:
    for artifact in render_device(plan_of("lab-roce"), "gpu-p00r00n0"):
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
    answers = ask([Question(stuck), Question(("true",)), Question(("cat", str(fifo))), Question(("no-such-tool",))])
    assert answers[" ".join(stuck)].trouble == f"sh did not answer within {DEADLINE_S:g} s"
    assert answers[f"cat {fifo}"].trouble == f"cat did not answer within {DEADLINE_S:g} s"
    assert answers["no-such-tool"].trouble == "no-such-tool: No such file or directory"
    assert answers["true"].trouble == ""
    while subprocess.run(["pgrep", "-f", f"^{stuck[2].split(';')[0]}"], capture_output=True, check=False).stdout:
        time.sleep(0.05)
    fifo.write_bytes(b"")  # lets the reader go


def test_the_spec_sets_limits_and_leaves_checks_out(tmp_path: Path) -> None:
    overlay = (
        "images:\n- name: training\n  health:\n    link_downs: 2\n    interval_s: 120\n"
        "    leave_out: {gpu-nvlink: these machines have none, check-filter: told by packet-filter}\n"
    )
    plan = plan_with(tmp_path, "lab-roce", overlay)
    files = {each.path: each.content.decode("utf-8", "replace") for each in render_device(plan, "gpu-p00r00n0")}
    shared = json.loads(files["etc/clusterwright/health.json"])
    assert shared["limits"]["link_downs"] == 2
    assert shared["left_out"] == ["check-filter", "gpu-nvlink"]
    assert shared["commands"] == []
    assert "OnUnitActiveSec=120s\n" in files["etc/systemd/system/node-health.timer"]
    controller = {each.path: each.content.decode("utf-8", "replace") for each in render_device(plan, "svc-v00n0")}
    assert "HealthCheckInterval=120\n" in controller["etc/slurm/slurm.conf"]
