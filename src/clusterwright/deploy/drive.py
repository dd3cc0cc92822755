"""Driving Pulumi over the stacks of a cluster: one after another, and no further than the first that fails.

Everything of a deployment lies under one root: ``state`` (the file backend), ``objects`` (what was rendered),
``flash`` (the directory target) and ``project`` (the Pulumi project with one configuration file a stack).
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml

from clusterwright.deploy.targets import Chosen
from clusterwright.deploy.units import Stack
from clusterwright.finding import ClusterwrightError

PROGRAM = "from clusterwright.deploy.program import run\n\nrun()\n"

ACTIONS: Mapping[str, tuple[str, ...]] = {
    "preview": ("preview",),
    "up": ("up", "--yes", "--skip-preview", "--parallel", "64"),
    "refresh": ("refresh", "--yes", "--skip-preview"),
}
"""Pulumi's command line for each action; a preview is a command of its own, so ``up`` runs the program once.

64 racks at a time make about as many hosts as one run of Ansible is best at (128 to 256; see ``AnsibleTarget``).
"""


@dataclass(frozen=True, slots=True)
class Deployment:
    """Where a cluster is deployed from and to."""

    spec: Path
    target: Chosen


def drive(action: str, deployment: Deployment, stacks: Iterable[Stack]) -> tuple[int, Counter[str]]:
    """Runs one of ``ACTIONS`` over the stacks in order. Pulumi's output goes to standard output as it comes.

    Returns the exit status of the last Pulumi that ran, and how many resources of which stacks were what (``same``,
    ``create``, ``update``, ``delete``). Raises ClusterwrightError when Pulumi is not to be found.
    """
    environment = pulumi_environment(deployment.target.root)
    project = _write_project(deployment.target.root)
    changes: Counter[str] = Counter()
    for stack in stacks:
        _write_configuration(project, deployment, stack)
        chosen = ("--stack", stack.name, "--cwd", str(project), "--non-interactive")
        create = ("pulumi", "stack", "select", "--create", *chosen)
        created = subprocess.run(create, env=environment, capture_output=True, text=True, check=False)
        if created.returncode != 0:
            raise ClusterwrightError(f"Pulumi could not open stack {stack.name}: {created.stderr.strip()}")
        sys.stdout.flush()
        status = subprocess.run(("pulumi", *ACTIONS[action], *chosen), env=environment, check=False).returncode
        if status != 0:
            return status, changes
        if action != "preview":
            changes += _last_changes(environment, chosen)
    return 0, changes


def pulumi_environment(root: Path) -> dict[str, str]:
    """The environment in which Pulumi finds this installation, keeps its state under ``root`` and asks no service.

    Raises ClusterwrightError when no ``pulumi`` is on the PATH.
    """
    path = os.pathsep.join((str(_own_programs()), os.environ.get("PATH", os.defpath)))
    if shutil.which("pulumi", path=path) is None:
        raise ClusterwrightError(
            "pulumi is not on the PATH. Install Pulumi's CLI, or build it in a checkout: "
            'PATH="$(tools/build-pulumi):$PATH"'
        )
    (root / "state").mkdir(parents=True, exist_ok=True)
    return {
        # State holds digests, never secrets, so an empty passphrase protects all there is; a user's own wins.
        "PULUMI_CONFIG_PASSPHRASE": "",
        **os.environ,
        "PATH": path,
        "PULUMI_BACKEND_URL": f"file://{root.resolve() / 'state'}",
        "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
        "PULUMI_SKIP_UPDATE_CHECK": "true",
    }


def _own_programs() -> Path:
    """Where this installation's python and provider lie. Not resolved: a virtual environment's python is a link."""
    return Path(sys.executable).parent


def _write_project(root: Path) -> Path:
    project = root.resolve() / "project"
    project.mkdir(parents=True, exist_ok=True)
    plugin = {"name": "clusterwright", "path": str(_own_programs())}
    content = {"name": "clusterwright", "runtime": "python", "plugins": {"providers": [plugin]}}
    (project / "Pulumi.yaml").write_text(yaml.safe_dump(content, sort_keys=False))
    (project / "__main__.py").write_text(PROGRAM)
    return project


def _write_configuration(project: Path, deployment: Deployment, stack: Stack) -> None:
    """Writes the stack's configuration; what Pulumi itself keeps in the file (its encryption salt) stays."""
    file = project / f"Pulumi.{stack.name}.yaml"
    content = yaml.safe_load(file.read_text()) if file.exists() else {}
    target = deployment.target
    kept = {key: value for key, value in content.get("config", {}).items() if isinstance(value, dict)}  # encrypted ones
    content["config"] = {
        **kept,
        "clusterwright:spec": str(deployment.spec.resolve()),
        "clusterwright:layer": stack.layer,
        "clusterwright:target": target.name,
        "clusterwright:root": str(target.root.resolve()),
    }
    if target.access:
        content["config"]["clusterwright:access"] = str(target.access.resolve())
    if target.secrets:
        content["config"]["clusterwright:secrets"] = str(target.secrets.resolve())
    file.write_text(yaml.safe_dump(content))


def _last_changes(environment: Mapping[str, str], chosen: tuple[str, ...]) -> Counter[str]:
    history = ("pulumi", "stack", "history", "--json", "--page-size", "1", *chosen)
    answer = subprocess.run(history, env=environment, capture_output=True, text=True, check=True)
    updates = json.loads(answer.stdout)
    return Counter(updates[0].get("resourceChanges", {})) if updates else Counter()
