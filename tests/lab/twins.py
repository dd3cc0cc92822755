"""Specs and commands that the lab's tests share."""

from __future__ import annotations

import subprocess
import sys
from functools import cache
from pathlib import Path

from clusterwright import data_files
from clusterwright.extras.lab.cut import Cut
from clusterwright.extras.lab.twin import Twin, build_twin
from clusterwright.plan.build import build_plan
from clusterwright.plan.model import Plan
from clusterwright.spec.load import load_spec

COMMAND = Path(sys.executable).with_name("clusterwright")


def small_spec(folder: Path, name: str) -> Path:
    """The small RoCE cluster under a name of its own, so that labs of several tests can run at once."""
    text = (data_files.folder("inventory") / "lab-roce.yaml").read_text()
    path = folder / f"{name}.yaml"
    path.write_text(text.replace("name: lab-roce\n", f"name: {name}\n", 1))
    return path


def twin_of(spec: str | Path, cut: Cut, fabric: str = "backend") -> Twin:
    """The twin of a spec's fabric, as data; ``spec`` is a path or a reference spec's name."""
    path = spec if isinstance(spec, Path) else data_files.folder("inventory") / f"{spec}.yaml"
    return build_twin(_plan(path), fabric, cut)


@cache
def _plan(path: Path) -> Plan:
    return build_plan(load_spec(path))


def lab(*arguments: object, status: int = 0) -> str:
    """The standard output of ``clusterwright lab``, which must end with this status."""
    done = subprocess.run(
        [COMMAND, "lab", *map(str, arguments)], capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == status, f"{arguments}: {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


def error(*arguments: object) -> str:
    """What ``clusterwright lab`` says on the standard error, refusing with status 2."""
    done = subprocess.run(
        [COMMAND, "lab", *map(str, arguments)], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 2, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return done.stderr
