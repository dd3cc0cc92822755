"""The built wheel, in an empty environment outside the checkout, does what the checkout does."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from zipfile import ZipFile

import pytest
import yaml
from tests.pages.shown import all_blocks, assert_whole

from clusterwright import __version__

CHECKOUT = Path(__file__).parents[2]
START = CHECKOUT / "docs/start.md"
BUILD = ("build", "--quiet", "--build-constraints", CHECKOUT / "requirements-build.lock")


def run(*command: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
    return subprocess.run(command, cwd=cwd, env=kept, capture_output=True, text=True, check=False)


def uv(*arguments: str | Path, cwd: Path) -> None:
    result = run(CHECKOUT / "tools/bootstrap-uv", cwd=cwd)
    assert result.returncode == 0, result.stderr
    done = run(result.stdout.strip(), *arguments, cwd=cwd)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the source distribution, and of the wheel that was built from it."""
    place = tmp_path_factory.mktemp("wheel")
    # Out of a copy of what is committed or about to be: a build must not depend on what lies around.
    listed = run("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", cwd=CHECKOUT).stdout.split("\0")
    for name in listed:
        source, copy = CHECKOUT / name, place / "source" / name
        if name and source.is_file():
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(source.read_bytes())
    uv(*BUILD, "--out-dir", place, place / "source", cwd=place)
    return place


@pytest.fixture(scope="module")
def installed(built: Path) -> Path:
    """The environment's folder of programs."""
    uv("venv", "--quiet", "--python", sys.executable, built / "environment", cwd=built)
    install = ("pip", "install", "--quiet", "--no-deps", "--python", built / "environment/bin/python")
    uv(*install, "--require-hashes", "-r", CHECKOUT / "requirements.lock", cwd=built)
    uv(*install, *built.glob("*.whl"), cwd=built)
    return built / "environment/bin"


def test_another_build_has_the_same_bytes(built: Path, tmp_path: Path) -> None:
    """From the sources instead of the source distribution, of other times."""
    for file in (built / "source").rglob("*.py"):
        os.utime(file, (1_000_000_000, 1_000_000_000))
    uv(*BUILD, "--sdist", "--wheel", "--out-dir", tmp_path, built / "source", cwd=tmp_path)
    made = sorted(file.name for file in tmp_path.glob("clusterwright_core-*"))
    assert len(made) == 2
    assert [name for name in made if (tmp_path / name).read_bytes() != (built / name).read_bytes()] == []


@pytest.fixture(scope="module")
def core(built: Path) -> Path:
    """The programs of an environment with the package and what clusterwright-core asks for, no more."""
    environment = built / "core"
    uv("venv", "--quiet", "--python", sys.executable, environment, cwd=built)
    install = ("pip", "install", "--quiet", "--no-deps", "--python", environment / "bin/python")
    uv(*install, "--require-hashes", "-r", CHECKOUT / "requirements-core.lock", cwd=built)
    uv(*install, *built.glob("*.whl"), cwd=built)
    return environment / "bin"


def test_the_core_alone_starts_lints_renders_lists_and_compares(core: Path, tmp_path: Path) -> None:
    wish = ("--nodes", "8", "--node-model", "dgx-h100", "--fabric", "roce")
    for words in (
        ("init", "mine", *wish),
        ("lint", "mine"),
        ("explain", "CW203"),
        ("models", "--grep", "400G"),
        ("schema",),
        ("render", "mine/cluster.yaml", "--out", "out"),
        ("inventory", "mine/cluster.yaml", "--format", "csv", "--out", "lists"),
        ("nccl", "mine/cluster.yaml"),
        ("diff", "mine/cluster.yaml", "mine/cluster.yaml"),
        ("--help",),
    ):
        done = run(core / "clusterwright", *words, cwd=tmp_path)
        assert done.returncode == 0, (words, done.stdout + done.stderr)
    proving = run(core / "clusterwright", "verify", "mine/cluster.yaml", cwd=tmp_path)
    assert proving.returncode == 2
    assert "`pip install clusterwright` adds it" in proving.stderr


def test_the_core_is_small(core: Path) -> None:
    """The figure of docs/install.md, without what Python compiles."""
    size = sum(
        path.stat().st_size
        for path in core.parent.glob("lib/**/*")
        if path.is_file() and path.suffix != ".pyc" and "pip" not in path.parts
    )
    assert 10e6 < size < 40e6, f"{size / 1e6:.0f} MB"


def test_the_whole_distribution_asks_for_the_same_version_and_all_it_can_use() -> None:
    whole = tomllib.loads((CHECKOUT / "full/pyproject.toml").read_text())["project"]
    assert whole["version"] == __version__
    assert whole["dependencies"] == [f"clusterwright-core[full]=={__version__}"]
    assert "clusterwright" in whole["scripts"]  # `uvx clusterwright` takes programs of no other package


def test_the_pages_that_messages_cite_travel(built: Path) -> None:
    (wheel,) = built.glob("*.whl")
    carried = set(ZipFile(wheel).namelist())
    sources = (CHECKOUT / "src").rglob("*.py")
    cited = {page for source in sources for page in re.findall(r"\bdocs/[\w/-]+\.md", source.read_text())}
    assert {"docs/growing.md", "docs/isolation.md"} <= cited
    assert not {page for page in cited if f"clusterwright/data/{page}" not in carried}


def test_man_finds_the_manual_page(installed: Path) -> None:
    """Beside the programs on the PATH, without a MANPATH."""
    result = run("env", f"PATH={installed}:/usr/bin:/bin", "man", "--where", "clusterwright", cwd=installed)
    assert result.stdout.strip() == str(installed.parent / "share/man/man1/clusterwright.1"), result.stderr


def test_the_files_about_the_project_agree() -> None:
    citation = yaml.safe_load((CHECKOUT / "CITATION.cff").read_text())
    assert citation["version"] == __version__
    changelog = (CHECKOUT / "CHANGELOG.md").read_text()
    assert "\n## Unreleased\n" in changelog or f"\n## {__version__} (" in changelog  # `make release` dates it
    assert citation["license"] == "Apache-2.0"
    assert (CHECKOUT / "LICENSES/Apache-2.0.txt").read_bytes() == (CHECKOUT / "LICENSE").read_bytes()


def test_it_lints_every_reference_spec(installed: Path, tmp_path: Path) -> None:
    (carried,) = installed.parent.glob("lib/python3*/site-packages/clusterwright/data/inventory")

    done = run(installed / "clusterwright", "lint", carried, "--fail-on", "error", cwd=tmp_path)

    assert done.returncode == 0, done.stdout + done.stderr


def test_it_renders_a_spec_of_the_users(installed: Path, tmp_path: Path) -> None:
    spec = tmp_path / "mine.yaml"
    spec.write_bytes((CHECKOUT / "inventory/lab-roce.yaml").read_bytes())

    done = run(installed / "clusterwright", "render", spec, "--out", tmp_path / "out", cwd=tmp_path)

    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "out/image/compute/etc/nccl.conf").is_file()
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


@pytest.mark.usefixtures("pulumi_on_the_path")
def test_a_newcomer_follows_the_first_page_to_its_end(installed: Path, tmp_path: Path) -> None:
    """Every command of the page in an empty folder, those that the tests of the pages leave out as well."""
    commands = [step for block in all_blocks(START.read_text()) for step in block.steps]
    verbs = [step.command.split()[1] for step in commands if step.command.startswith("clusterwright ")]
    story = ("init", "lint", "render", "verify", "report", "preview", "up", "lint", "diff", "up", "preview")
    told = iter(verbs)
    assert all(verb in told for verb in story), verbs
    path = f"{installed}{os.pathsep}{os.environ['PATH']}"
    for step in commands:
        done = run("env", f"PATH={path}", "bash", "-c", f"{step.command} 2>&1", cwd=tmp_path)
        assert done.returncode == (1 if " diff " in step.command else 0), (step.command, done.stdout)
        if step.shown:
            assert_whole(step, done.stdout)
