"""A pod in somebody else's program, beside a resource of theirs, by the real engine."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import clusterwright
from clusterwright.data_files import folder
from clusterwright.deploy.pulumi.project import AT_ONCE, pulumi_environment

PAGE = Path(__file__).parents[3] / "docs/pulumi.md"
pytestmark = pytest.mark.usefixtures("pulumi_on_the_path")


def program(word: str) -> str:
    """The one program of the page that has ``word``."""
    (found,) = (each for each in re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL) if word in each)
    return str(found)


class Project:
    """A Pulumi project in ``folder`` with the program of the page."""

    def __init__(self, place: Path) -> None:
        self.place = place
        shutil.copy(folder("inventory") / "lab-roce.yaml", place / "cluster.yaml")
        (place / "__main__.py").write_text(program("ClusterLayer"))
        runtime = f"{{name: python, options: {{virtualenv: {sys.prefix}}}}}"
        (place / "Pulumi.yaml").write_text(f"name: theirs\nruntime: {runtime}\nbackend: {{url: 'file://{place}'}}\n")
        self.run("stack", "init", "dev")

    def run(self, *arguments: str, fails: bool = False, **more: str) -> subprocess.CompletedProcess[str]:
        environment = {**pulumi_environment(self.place), "PULUMI_CONFIG_PASSPHRASE": "", "PULUMI_HOME": str(self.place)}
        environment[AT_ONCE] = more.get("at_once", "")
        environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{more.get('PATH', os.environ['PATH'])}"
        done = subprocess.run(
            ["pulumi", *arguments, "--non-interactive"],
            cwd=self.place,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode != 0) is fails, done.stdout + done.stderr
        return done

    def resources(self) -> list[dict[str, Any]]:
        exported = json.loads(self.run("stack", "export").stdout)
        found: list[dict[str, Any]] = exported["deployment"]["resources"]
        return found


# What Pulumi's distribution brings as its language host, which starts packs too; the one that is built here is older.
HOST = """#!/bin/sh
exec {python} "$2" "$1" "$2"
"""


def test_a_policy_pack_sees_what_each_device_is(tmp_path: Path) -> None:
    (place := tmp_path / "program").mkdir()
    project = Project(place)
    (pack := tmp_path / "pack").mkdir()
    (pack / "PulumiPolicy.yaml").write_text("runtime: test\n")
    policy = program("PolicyPack")
    (pack / "__main__.py").write_text(policy)
    host = tmp_path / "pulumi-analyzer-policy-test"
    host.write_text(HOST.format(python=sys.executable))
    host.chmod(0o755)
    on_path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    plan = clusterwright.plan(clusterwright.load(place / "cluster.yaml"))
    models = {device.name: device.model for device in plan.devices}

    refused = project.run("preview", "--policy-pack", str(pack), fails=True, PATH=on_path)
    (pack / "__main__.py").write_text(re.sub("APPROVED = .*", f"APPROVED = {set(models.values())}", policy))
    approved = project.run("preview", "--policy-pack", str(pack), PATH=on_path)

    told = dict(re.findall(r"(\S+) is a (\S+), which nobody has approved", refused.stdout))
    assert told.items() <= models.items()
    assert set(told.values()) == {"wedge400-grand-teton", "dcs-7010tx-48"}, "those of the upper layer and of the pod"
    assert "nobody has approved" not in approved.stdout


def test_a_program_holds_layers_beside_its_own_resources(tmp_path: Path) -> None:
    project = Project(tmp_path)

    project.run("up", "--yes", "--skip-preview")

    resources = project.resources()
    by_name = {resource["urn"].rpartition("::")[2]: resource for resource in resources}
    assert {"clusterwright:index:Layer", "theirs:index:Rollout"} <= {resource["type"] for resource in resources}
    flash = tmp_path / "up/flash"
    assert (flash / "gpu-p00r00n0/etc/nccl.conf").is_file()
    assert (flash / "ssw-00").is_dir()
    assert not (flash / "gpu-p01r00n0").exists()
    rack = by_name["p00r00"]
    assert by_name["ssw-00"]["urn"] in rack["dependencies"], "the upper layer goes first"
    about = rack["inputs"]["about"]
    assert (about["cluster"], about["layer"], about["kind"]) == ("lab-roce", "p00", "rack")
    assert about["models"]["gpu-p00r00n0"]
    assert about["roles"]["rtsw-p00r00"] == "rtsw"
    (outputs,) = (resource["outputs"] for resource in resources if resource["type"] == "pulumi:pulumi:Stack")
    of_pod = [
        resource["inputs"]
        for resource in resources
        if resource.get("inputs", {}).get("about", {}).get("layer") == "p00"
    ]
    assert outputs["devices"] == sum(len(each["devices"]) for each in of_pod)

    again = project.run("up", "--yes", "--skip-preview")
    assert "unchanged" in again.stdout
    assert not re.search(r"[~+-] \d+ (created|updated|deleted)", again.stdout), again.stdout

    spec = tmp_path / "cluster.yaml"
    before = (flash / "gpu-p00r00n0/etc/nccl.conf").read_bytes()
    spec.write_text(spec.read_text().replace("qps_per_connection: 4", "qps_per_connection: 2"))
    assert "would change all at once" in project.run("preview").stdout
    running = project.run("up", "--yes", "--skip-preview", fails=True)
    assert "`clusterwright up` changes what runs" in running.stdout + running.stderr
    assert (flash / "gpu-p00r00n0/etc/nccl.conf").read_bytes() == before

    # A state that knows of nothing is no leave: the devices say that they run.
    project.run("stack", "init", "lost")
    lost = project.run("up", "--yes", "--skip-preview", "--stack", "lost", fails=True)
    assert "would change all at once" in lost.stdout + lost.stderr
    assert (flash / "gpu-p00r00n0/etc/nccl.conf").read_bytes() == before

    project.run("up", "--yes", "--skip-preview", "--stack", "dev", at_once="nobody uses it yet")
    assert (flash / "gpu-p00r00n0/etc/nccl.conf").read_bytes() != before

    project.run("stack", "select", "dev")
    spec.write_text(spec.read_text() + "colour: red\n")
    refused = project.run("preview", fails=True)
    assert 'unknown key "colour"' in refused.stdout + refused.stderr
    assert "Traceback" not in refused.stdout + refused.stderr
