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

from clusterwright.data_files import folder
from clusterwright.deploy.pulumi.project import pulumi_environment

PAGE = Path(__file__).parents[2] / "docs/pulumi.md"
pytestmark = pytest.mark.usefixtures("pulumi_on_the_path")


def program() -> str:
    (found,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    return str(found)


class Project:
    """A Pulumi project in ``folder`` with the program of the page."""

    def __init__(self, place: Path) -> None:
        self.place = place
        shutil.copy(folder("inventory") / "lab-roce.yaml", place / "cluster.yaml")
        (place / "__main__.py").write_text(program())
        runtime = f"{{name: python, options: {{virtualenv: {sys.prefix}}}}}"
        (place / "Pulumi.yaml").write_text(f"name: theirs\nruntime: {runtime}\nbackend: {{url: 'file://{place}'}}\n")
        self.run("stack", "init", "dev")

    def run(self, *arguments: str, fails: bool = False) -> subprocess.CompletedProcess[str]:
        environment = {**pulumi_environment(self.place), "PULUMI_CONFIG_PASSPHRASE": "", "PULUMI_HOME": str(self.place)}
        environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
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


def test_a_program_holds_layers_beside_its_own_resources(tmp_path: Path) -> None:
    project = Project(tmp_path)

    project.run("up", "--yes", "--skip-preview")

    resources = project.resources()
    by_name = {each["urn"].rpartition("::")[2]: each for each in resources}
    assert {"clusterwright:index:Layer", "theirs:index:Rollout"} <= {each["type"] for each in resources}
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
    (outputs,) = (each["outputs"] for each in resources if each["type"] == "pulumi:pulumi:Stack")
    of_pod = [each["inputs"] for each in resources if each.get("inputs", {}).get("about", {}).get("layer") == "p00"]
    assert outputs["devices"] == sum(len(each["devices"]) for each in of_pod)

    again = project.run("up", "--yes", "--skip-preview")
    assert "unchanged" in again.stdout
    assert not re.search(r"[~+-] \d+ (created|updated|deleted)", again.stdout), again.stdout

    spec = tmp_path / "cluster.yaml"
    spec.write_text(spec.read_text() + "colour: red\n")
    refused = project.run("preview", fails=True)
    assert 'unknown key "colour"' in refused.stdout + refused.stderr
    assert "Traceback" not in refused.stdout + refused.stderr
