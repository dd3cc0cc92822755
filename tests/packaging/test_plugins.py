"""A package of somebody else adds a switch system, a rule, a command and a list: built as a wheel and used."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.switches.test_managed_switch import KEY, SPEC

CHECKOUT = Path(__file__).parents[2]
LAB = CHECKOUT / "inventory/lab-roce.yaml"
CONFIGURATION = Path("leaf-00/etc/acme/startup")


@pytest.fixture(scope="module")
def site_packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with Acme's package alone, installed from its wheel."""
    place = tmp_path_factory.mktemp("acme")
    uv = subprocess.run([CHECKOUT / "tools/bootstrap-uv"], capture_output=True, text=True, check=True).stdout.strip()
    constraints = ("--build-constraints", str(CHECKOUT / "requirements-build.lock"))
    build = (uv, "build", "--quiet", "--wheel", "--out-dir", str(place), *constraints)
    subprocess.run([*build, str(Path(__file__).parent / "acme")], capture_output=True, check=True, cwd=place)
    install = (uv, "pip", "install", "--quiet", "--no-deps", "--python", sys.executable)
    wheels = map(str, place.glob("*.whl"))
    subprocess.run([*install, "--target", str(place / "site"), *wheels], capture_output=True, check=True, cwd=place)
    return place / "site"


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    path = tmp_path / "managed.yaml"
    text = SPEC.format(model="acme-a64", node="dgx-h100", key=KEY)
    path.write_text(text.replace("count: 1, routing_engine", "count: 2, routing_engine"))
    return path


def run_command(site: Path, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [str(Path(sys.executable).with_name("clusterwright")), *map(str, arguments)]
    environment = os.environ | {"PYTHONPATH": str(site)}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


def test_its_rule_is_judged_with_all_others(site_packages: Path, spec: Path) -> None:
    result = run_command(site_packages, "lint", spec)
    assert "ACME101" in result.stdout, result.stdout + result.stderr
    assert "ACME101" not in run_command(site_packages.parent, "lint", spec).stdout, "it is not installed here"


def test_its_command_stands_in_the_list_and_runs(site_packages: Path, spec: Path) -> None:
    assert "Added by clusterwright-acme 1.0." in run_command(site_packages, "--help").stdout
    result = run_command(site_packages, "acme-ports", spec)
    assert result.stdout == "1 switches of Acme\n", result.stderr


def test_its_list_is_written(site_packages: Path, spec: Path, tmp_path: Path) -> None:
    done = run_command(site_packages, "inventory", spec, "--format", "acme-order", "--out", tmp_path / "order")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "order/order.csv").read_text() == "device,part\nleaf-00,A64\n"


@pytest.fixture
def answers(site_packages: Path, spec: Path, tmp_path: Path) -> Callable[[], dict[str, str]]:
    done = run_command(site_packages, "render", spec, "--out", tmp_path / "tree")
    assert done.returncode == 0, done.stdout + done.stderr

    def ask() -> dict[str, str]:
        result = run_command(site_packages, "verify", tmp_path / "tree", "--spec", spec, "--format", "json")
        return {check["name"]: check["answer"] for check in json.loads(result.stdout)["checks"]}

    return ask


def test_its_switches_are_rendered_and_proven_from_their_text(
    answers: Callable[[], dict[str, str]], tmp_path: Path
) -> None:
    (tmp_path / "tree/manifest.json").unlink()  # as of a folder that somebody edits
    path = tmp_path / "tree" / CONFIGURATION
    text = path.read_text()
    assert text.startswith("hostname leaf-00\nmanagement 10.0.0.")
    assert answers()["management"] == "proven"
    path.write_text(text.replace("log 10.0.9.14\n", ""))
    assert answers()["management"] == "REFUTED"
    path.write_text(text + "telnet on\n")
    assert answers()["management"].startswith("not proven, because no reader knows leaf-00:/etc/acme/startup:")


def test_a_name_of_ours_is_not_taken_by_a_plugin(tmp_path: Path) -> None:
    taker = tmp_path / "taker/taker-1.0.dist-info"
    taker.mkdir(parents=True)
    (taker / "METADATA").write_text("Metadata-Version: 2.1\nName: taker\nVersion: 1.0\n")
    (taker / "entry_points.txt").write_text(
        "[clusterwright.commands]\nplace = no_such_module:place\nlint = no_such_module:lint\n"
        "[clusterwright.inventory_formats]\ncrew = no_such_module:crew\n"
    )
    listed = run_command(tmp_path / "taker", "--help").stdout
    assert "Added by" not in listed
    assert "Usage: clusterwright place" in run_command(tmp_path / "taker", "place", "--help").stdout
    done = run_command(tmp_path / "taker", "inventory", LAB, "--format", "crew", "--out", tmp_path / "crew")
    assert done.returncode == 0, done.stderr


def test_a_plugin_that_does_not_load_is_one_clear_error(site_packages: Path, spec: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken/broken-1.0.dist-info"
    broken.mkdir(parents=True)
    (broken / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1.0\n")
    (broken / "entry_points.txt").write_text("[clusterwright.rules]\nbroken = no_such_module\n")
    done = run_command(tmp_path / "broken", "lint", spec)
    assert done.returncode == 2
    assert 'broken 1.0: its "broken" (clusterwright.rules: no_such_module) cannot be loaded' in done.stderr
    assert "Traceback" not in done.stderr
