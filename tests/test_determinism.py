"""The same spec gives the same bytes, whatever the seed of Python's hashes, the locale and the time zone."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from clusterwright.output.rendering import Rendering
from clusterwright.plan.build import build_plan
from clusterwright.spec.load import load_spec

CHECKOUT = Path(__file__).parents[1]
INVENTORY = CHECKOUT / "inventory"
COMMAND = Path(sys.executable).with_name("clusterwright")
SURROUNDINGS = (
    {"PYTHONHASHSEED": "0", "LC_ALL": "C", "TZ": "UTC"},
    {"PYTHONHASHSEED": "1", "LC_ALL": "C.UTF-8", "TZ": "Asia/Kathmandu"},
    {"PYTHONHASHSEED": "4294967295", "LC_ALL": "POSIX", "TZ": "America/St_Johns", "COLUMNS": "40"},
)
# Everything in a plan but the spec it came from, which knows where its file lies.
DIGEST = """
import hashlib, sys
from clusterwright.plan.build import build_plan
from clusterwright.spec.load import load_spec
plan = build_plan(load_spec(sys.argv[1]))
parts = (plan.groups, plan.devices, plan.cables, plan.subnets)
print(hashlib.sha256(repr(parts).encode()).hexdigest())
"""


def run(surroundings: dict[str, str], *command: str | Path) -> str:
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("LC_", "LANG"))}
    done = subprocess.run(command, env=environment | surroundings, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def tree_digest(folder: Path) -> dict[str, str]:
    """Path, mode and digest of every file below a folder."""
    return {
        str(file.relative_to(folder)): f"{file.stat().st_mode:o} {hashlib.sha256(file.read_bytes()).hexdigest()}"
        for file in sorted(folder.rglob("*"))
        if file.is_file()
    }


@pytest.mark.parametrize("name", ["lab-roce", "lab-ib", "rsc"])
def test_plans_do_not_depend_on_hashes_or_locale(name: str) -> None:
    digests = {run(env, sys.executable, "-c", DIGEST, INVENTORY / f"{name}.yaml") for env in SURROUNDINGS}
    assert len(digests) == 1


@pytest.mark.parametrize("name", ["lab-roce", "lab-ib"])
def test_rendered_trees_do_not_depend_on_hashes_or_locale(name: str, tmp_path: Path) -> None:
    trees = []
    for number, environment in enumerate(SURROUNDINGS):
        out = tmp_path / str(number)
        run(environment, COMMAND, "render", INVENTORY / f"{name}.yaml", "--out", out)
        trees.append(tree_digest(out))
    assert len(trees[0]) > 20
    assert trees[0] == trees[1]
    assert trees[0] == trees[2]


@pytest.mark.parametrize("format_", ["json", "csv", "ansible"])
def test_inventories_do_not_depend_on_hashes_or_locale(format_: str, tmp_path: Path) -> None:
    spec = INVENTORY / "lab-roce.yaml"
    seen = set()
    for number, environment in enumerate(SURROUNDINGS):
        out = tmp_path / str(number)
        options = ["--out", str(out)] if format_ == "csv" else []
        printed = run(environment, COMMAND, "inventory", spec, "--format", format_, *options)
        seen.add((printed.replace(str(out), "OUT"), tuple(tree_digest(out).items())))
    assert len(seen) == 1


@pytest.mark.parametrize("name", ["lab-roce", "lab-nvue", "lab-sonic", "lab-border"])
def test_a_device_has_the_same_text_whichever_are_rendered_before_it(name: str) -> None:
    """What devices have alike is made for the first of them: nothing of that one may get into the others' text."""
    spec = load_spec(INVENTORY / f"{name}.yaml")
    trees = []
    for turned in (list, reversed):
        plan = build_plan(spec)
        trees.append({each.name: Rendering(plan).of_device(each.name) for each in turned(plan.devices)})
    assert trees[0] == trees[1]
