"""The files of a boot server, from which images and installers are made, and the programs that read them."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from clusterwright.artifact import Artifact
from clusterwright.output.rendering import Rendering
from clusterwright.plan.model import Plan


def files_of(plan: Plan, device: str) -> Mapping[str, Artifact]:
    return {artifact.path: artifact for artifact in Rendering(plan).of_device(device)}


def first_server(plan: Plan) -> str:
    assert plan.spec.boot is not None
    return next(device.name for device in plan.devices if device.node_group == plan.spec.boot.servers)


def write(files: Mapping[str, Artifact], folder: Path, below: str = "") -> Path:
    for path, artifact in files.items():
        if path.startswith(below):
            place = folder / path.removeprefix(below)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(artifact.content)
            place.chmod(artifact.mode)
    return folder


def write_shared(files: Mapping[str, Artifact], folder: Path, image: str = "training") -> Path:
    """The files that nodes of an image have alike, unpacked from the archive that its boot server offers."""
    (archive,) = (
        item.content
        for path, item in files.items()
        if path.startswith(f"srv/http/images/{image}/") and path.endswith("/tree.cpio")
    )
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run(["cpio", "--extract", "--quiet", "--make-directories"], input=archive, cwd=folder, check=True)
    return folder


def run(*command: str | Path, **more: str) -> subprocess.CompletedProcess[str]:
    assert shutil.which(str(command[0])), (
        f"{command[0]} is missing: tools/debian-packages.txt says which package has it"
    )
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120, env={**os.environ, **more})
