"""The built wheel, in an empty environment outside the checkout, does what the checkout does."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[2]


def run(*command: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
    return subprocess.run(command, cwd=cwd, env=kept, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The environment's folder of programs."""
    place = tmp_path_factory.mktemp("wheel")

    def uv(*arguments: str | Path) -> None:
        done = run(found.stdout.strip(), *arguments, cwd=place)
        assert done.returncode == 0, done.stderr

    found = run(CHECKOUT / "tools/bootstrap-uv", cwd=place)
    assert found.returncode == 0, found.stderr
    # Out of a copy of what is committed or about to be: a build must not depend on what lies around.
    listed = run("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", cwd=CHECKOUT).stdout.split("\0")
    for name in listed:
        source, copy = CHECKOUT / name, place / "source" / name
        if name and source.is_file():
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(source.read_bytes())
    build_lock = CHECKOUT / "requirements-build.lock"
    uv("build", "--quiet", "--wheel", "--build-constraints", build_lock, "--out-dir", place, place / "source")
    uv("venv", "--quiet", "--python", sys.executable, place / "environment")
    install = ("pip", "install", "--quiet", "--no-deps", "--python", place / "environment/bin/python")
    uv(*install, "--require-hashes", "-r", CHECKOUT / "requirements.lock")
    uv(*install, *place.glob("*.whl"))
    return place / "environment/bin"


def test_it_lints_every_reference_spec(installed: Path, tmp_path: Path) -> None:
    (carried,) = installed.parent.glob("lib/python3*/site-packages/clusterwright/data/inventory")

    done = run(installed / "clusterwright", "lint", carried, cwd=tmp_path)

    assert done.returncode == 0, done.stdout + done.stderr


def test_it_renders_a_spec_of_the_users(installed: Path, tmp_path: Path) -> None:
    spec = tmp_path / "mine.yaml"
    spec.write_bytes((CHECKOUT / "inventory/lab-roce.yaml").read_bytes())

    done = run(installed / "clusterwright", "render", spec, "--out", tmp_path / "out", cwd=tmp_path)

    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "out/gpu-p00r00n0/etc/nccl.conf").is_file()
    assert (tmp_path / "out/manifest.json").is_file()


def test_it_starts_a_cluster_in_an_empty_folder(installed: Path, tmp_path: Path) -> None:
    wish = ("--nodes", "8", "--node-model", "dgx-h100", "--fabric", "infiniband")
    for command in (("init", "mine", *wish), ("lint", "mine"), ("schema",), ("models",)):
        done = run(installed / "clusterwright", *command, cwd=tmp_path)
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.usefixtures("pulumi_on_the_path")
def test_it_previews_with_pulumi(installed: Path, tmp_path: Path) -> None:
    spec = tmp_path / "mine.yaml"
    spec.write_bytes((CHECKOUT / "inventory/lab-roce.yaml").read_bytes())

    done = run(installed / "clusterwright", "preview", spec, "--pod", "pod0", cwd=tmp_path)

    assert done.returncode == 0, done.stdout + done.stderr
    assert "8 to create" in done.stdout
