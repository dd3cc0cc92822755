"""Source and destination of a cluster's deployment, and its Pulumi project.

All files of a deployment are under one root: ``state`` (the file backend, unless another one is chosen), ``objects``
(rendered files), ``manifests`` (records of their sources), ``flash`` (the directory target) and ``project`` (the Pulumi
project, one configuration a stack).
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from clusterwright.child_environment import child_environment, proxy_environment
from clusterwright.deploy.pulumi import LOCAL_GRPC
from clusterwright.deploy.pulumi.backend import VARIABLE as BACKEND_VARIABLE
from clusterwright.deploy.pulumi.backend import backend_url
from clusterwright.deploy.pulumi.command import how_to_install
from clusterwright.deploy.pulumi.units import Stack
from clusterwright.deploy.secrets.passphrase import FILE_VARIABLE, VARIABLE, salt_of_none
from clusterwright.deploy.targets import TargetSettings
from clusterwright.finding import ClusterwrightError

PROJECT = "clusterwright"
PROGRAM = "from clusterwright.deploy.pulumi.program import run\n\nrun()\n"

PIP = """\
# Before each update Pulumi has pip list every package that is installed, in this folder, and looks among them for those
# that name a plugin. Pulumi.yaml names the only one: pip would take longer to start than the program that is to run.
import runpy
import sys

if sys.argv[1:] == ["list", "-v", "--format", "json"]:
    print("[]")
else:
    del sys.path[0]
    runpy.run_module("pip", run_name="__main__", alter_sys=True)
"""


_OF_PULUMI = (
    *("PULUMI_", "CLUSTERWRIGHT_", "GOGC", "GOMAXPROCS", "GOMEMLIMIT", "GODEBUG"),
    # State in S3, Azure, Google's storage or PostgreSQL, by the variables of their libraries.
    *("AWS_", "AZURE_", "ARM_", "GOOGLE_", "CLOUDSDK_", "PG"),
)
_OF_SECRETS = frozenset({"ANSIBLE_VAULT_PASSWORD_FILE", "VAULT_ADDR", "VAULT_TOKEN"})
"""Variables for secrets of other sources, read by the provider."""

AT_ONCE = "CLUSTERWRIGHT_AT_ONCE"
"""Set to a reason by operators whose own Pulumi command changes running devices, all at once."""
IN_ORDER = "CLUSTERWRIGHT_IN_ORDER"
"""Set in the environment of an engine driven by this program, which takes care of waves, gates and proofs."""
ADOPTS = "CLUSTERWRIGHT_ADOPTS"
"""Set in the environment of an engine that records devices as they are, without a change on them."""


@dataclass(frozen=True, slots=True)
class Deployment:
    """Source and destination of a cluster's deployment."""

    spec: Path
    target: TargetSettings


def pulumi_environment(root: Path, variables: Collection[str] = ()) -> dict[str, str]:
    """The environment for Pulumi: with this installation, a state under ``root``, and without its service.

    ``variables`` are environment variables with secrets, read by the provider. A user's own PULUMI_BACKEND_URL takes
    precedence. Raises ClusterwrightError if no ``pulumi`` is on the PATH, or the backend's URL holds a secret.
    """
    path = os.pathsep.join((str(_own_programs()), os.environ.get("PATH", os.defpath)))
    if shutil.which("pulumi", path=path) is None:
        raise ClusterwrightError(f"pulumi is not on the PATH. {how_to_install()}")
    (root / "state").mkdir(parents=True, exist_ok=True)
    return {
        # State holds digests, never secrets, so an empty passphrase is enough; a user's own takes precedence.
        **({} if os.environ.get(FILE_VARIABLE) else {VARIABLE: ""}),
        **child_environment(names={*variables, *_OF_SECRETS}, prefixes=_OF_PULUMI),
        **proxy_environment(),
        **LOCAL_GRPC,
        "PATH": path,
        BACKEND_VARIABLE: backend_url(root),
        "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
        "PULUMI_SKIP_UPDATE_CHECK": "true",
    }


def _own_programs() -> Path:
    """The folder of this installation's python and provider, not resolved: a virtual environment's python is a link."""
    return Path(sys.executable).parent


def write_project(root: Path) -> Path:
    """Write the project's files under ``root`` and return their folder."""
    project = root.resolve() / "project"
    project.mkdir(parents=True, exist_ok=True)
    plugin = {"name": "clusterwright", "path": str(_own_programs())}
    content = {"name": PROJECT, "runtime": "python", "plugins": {"providers": [plugin]}}
    (project / "Pulumi.yaml").write_text(yaml.safe_dump(content, sort_keys=False))
    (project / "__main__.py").write_text(PROGRAM)
    (project / "pip.py").write_text(PIP)
    return project


def write_configuration(project: Path, deployment: Deployment, stack: Stack, environment: Mapping[str, str]) -> None:
    """Write the stack's configuration, keeping Pulumi's own entries (the encryption salt) in the file.

    ``environment`` is Pulumi's.
    """
    file = project / f"Pulumi.{stack.name}.yaml"
    content = _configuration_in(file)
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
    if "encryptionsalt" not in content and (salt := _salt_in(project) or salt_of_none(environment)):
        content["encryptionsalt"] = salt
    text = yaml.safe_dump(content)
    if not file.exists() or file.read_text() != text:  # a preview beside a running update changes nothing under it
        file.write_text(text)


def _configuration_in(file: Path) -> dict[str, Any]:
    """The configuration of a stack; empty without one, and for a damaged file.

    A damaged file is put aside: it may hold secrets set by hand.
    """
    if not file.exists():
        return {}
    try:
        content = yaml.safe_load(file.read_text())
    except (yaml.YAMLError, UnicodeDecodeError):
        content = None
    if isinstance(content, dict) and isinstance(content.get("config", {}), dict):
        return content
    aside = file.with_name(f"{file.name}.damaged")
    file.replace(aside)
    sys.stderr.write(
        f"{file}: is no configuration of a stack, and was written anew; what was there is in {aside.name}\n"
    )
    return {}


def _salt_in(project: Path) -> str:
    """The salt of another stack of the project, "" without one.

    Stacks of one passphrase share one key then: making a key costs the engine half a second, and a stack with a
    reference to another one needs the keys of both.
    """
    for file in sorted(project.glob("Pulumi.*.yaml")):
        try:
            content = yaml.safe_load(file.read_text())
        except (yaml.YAMLError, UnicodeDecodeError):  # truncated: an operation on that stack mends it
            continue
        if isinstance(content, dict) and isinstance(content.get("encryptionsalt"), str):
            return str(content["encryptionsalt"])
    return ""
