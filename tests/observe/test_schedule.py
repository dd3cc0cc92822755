"""What docs/drift.md gives to copy for a schedule: systemd takes the units, and the commands do what the page says."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from tests.conftest import CHECKOUT

from clusterwright.data_files import folder
from clusterwright.output.rendering import Rendering
from clusterwright.plan.build import build_plan
from clusterwright.spec.load import load_spec

PAGE = (CHECKOUT / "docs/drift.md").read_text()
NODE = "gpu-p00r00n0"
SERVICE, TIMER = "clusterwright-drift.service", "clusterwright-drift.timer"


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def units() -> dict[str, str]:
    """The unit files of the page by name: each begins with a comment that says where it lies."""
    (text,) = blocks("ini")
    pieces = re.split(r"^# /etc/systemd/system/(\S+)\n", text, flags=re.MULTILINE)
    return dict(zip(pieces[1::2], pieces[2::2], strict=True))


def commands() -> list[list[str]]:
    """The words of each ExecStart, as systemd hands them on: lines joined, ``$$`` a dollar."""
    joined = units()[SERVICE].replace("\\\n", " ")
    found = [line.partition("=")[2] for line in joined.splitlines() if line.startswith("ExecStart=")]
    return [[word.replace("$$", "$") for word in shlex.split(line)] for line in found]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A cluster, and what one of its nodes runs, where the page has them."""
    cluster, running = tmp_path / "srv/cluster", tmp_path / "var/lib/clusterwright/running"
    cluster.mkdir(parents=True)
    (tmp_path / "var/lib/node_exporter").mkdir(parents=True)
    shutil.copy(folder("inventory") / "lab-roce.yaml", cluster / "cluster.yaml")
    (conf,) = (
        item
        for item in Rendering(build_plan(load_spec(cluster / "cluster.yaml"))).of_device(NODE)
        if item.path == "etc/nccl.conf"
    )
    (running / NODE / "etc").mkdir(parents=True)
    (running / NODE / "etc/nccl.conf").write_bytes(conf.content.replace(b"NCCL_IB_TC=", b"NCCL_IB_TC=9"))
    return tmp_path


def shell(script: str, where: Path) -> subprocess.CompletedProcess[str]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        ["sh", "-c", script], cwd=where, env={**os.environ, "PATH": path}, capture_output=True, text=True, check=False
    )


def test_systemd_takes_the_units(tmp_path: Path) -> None:
    assert shutil.which("systemd-analyze"), "systemd-analyze is missing: apt-get install systemd"
    found = units()
    assert set(found) == {SERVICE, TIMER}
    for name in found:
        (tmp_path / "etc/systemd/system").mkdir(parents=True, exist_ok=True)
        (tmp_path / "etc/systemd/system" / name).write_text(found[name])
    for program in (command[0] for command in commands()):
        file = tmp_path / program.removeprefix("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("#!/bin/sh\n")
        file.chmod(0o755)

    def said() -> list[str]:
        done = subprocess.run(
            ["systemd-analyze", f"--root={tmp_path}", "verify", "--man=no", "--recursive-errors=no", SERVICE, TIMER],
            capture_output=True,
            text=True,
            check=False,
        )
        return [line for line in done.stderr.splitlines() if SERVICE in line or TIMER in line]

    assert said() == []
    (tmp_path / "etc/systemd/system" / TIMER).write_text(found[TIMER].replace("hourly", "hurly"))
    assert said(), "a mistake in a unit is found"


def test_the_service_replaces_its_file_when_it_could_compare_and_keeps_it_otherwise(place: Path) -> None:
    program, option, script = commands()[1]
    assert (program, option) == ("/bin/sh", "-c")
    here = re.sub(r"/(?=srv/|var/)", f"{place}/", script)
    metrics = place / "var/lib/node_exporter/drift.prom"

    done = shell(here, place)

    assert done.returncode == 0, done.stderr
    assert f'device="{NODE}",role="node",kind="changed"}} 1\n' in metrics.read_text()
    before = metrics.read_bytes()
    (place / "srv/cluster/cluster.yaml").write_text("version: 1\n")
    assert shell(here, place).returncode != 0
    assert metrics.read_bytes() == before


def test_the_job_of_a_pipeline_passes_with_differences_and_fails_when_it_could_not_compare(place: Path) -> None:
    (job,) = (yaml.safe_load(text)["drift"] for text in blocks("yaml") if text.startswith("drift:"))
    (script,) = job["script"]
    cluster = place / "srv/cluster"
    shutil.copytree(place / "var/lib/clusterwright/running", cluster / "collected")

    assert shell(script, cluster).returncode == 0
    (report,) = job["artifacts"]["paths"]
    assert '"NCCL_IB_TC"' in (cluster / report).read_text()
    (cluster / "cluster.yaml").write_text("version: 1\n")
    assert shell(script, cluster).returncode != 0


def test_alerts_ask_for_metrics_that_are_written(place: Path) -> None:
    (groups,) = (yaml.safe_load(text)["groups"] for text in blocks("yaml") if "groups:" in text)
    expressions = {rule["alert"]: rule["expr"] for group in groups for rule in group["rules"]}
    script = re.sub(r"/(?=srv/|var/)", f"{place}/", commands()[1][2])

    assert shell(script, place).returncode == 0

    (file,) = (place / "var/lib/node_exporter").iterdir()
    metric = re.search(r"\((clusterwright_\w+)\)", expressions["DeviceDrifted"])
    assert metric is not None
    assert f"# TYPE {metric[1]} gauge" in file.read_text()
    assert re.search(r'file=~"(.*)"', expressions["DriftUnknown"])[1] == ".*drift.prom"  # type: ignore[index]
    assert re.fullmatch(".*drift.prom", str(file))
