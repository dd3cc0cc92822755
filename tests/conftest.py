"""What tests in several folders share."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from tests import in_memory
from tests.strategies import EXAMPLES

CHECKOUT = Path(__file__).parents[1]

# The commands that tests start are those beside the interpreter that runs the tests, whether or not its environment is
# active.
os.environ["PATH"] = os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)))

# Tests start thousands of Python programs. What these import is compiled once, even where the environment asks them to
# leave no compiled files behind: compiling it each time was half of their work.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# What is collected and what fixtures keep stays: looking through all of it again and again for garbage was a tenth of
# the work. The same holds of Python programs that tests start, and of Go's collector in Pulumi's commands: each ends
# before it has used much.
gc.set_threshold(100_000, 10, 10)
_found_first = str(CHECKOUT / "tests/started_programs")
os.environ["PYTHONPATH"] = os.pathsep.join((_found_first, *filter(None, [os.environ.get("PYTHONPATH")])))
os.environ.setdefault("GOGC", "400")

# A deployment makes sure that each of its steps is on the disk, for which a disk takes milliseconds: an eighth of the
# time of all tests, in which nothing else ran.
if (_folder := in_memory.folder()) is not None:
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", _folder)

# Extras are found by their entry points, which installing wrote down.
for _group, _names in tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["project"]["entry-points"].items():
    if not _names.items() <= {(entry.name, entry.value) for entry in metadata.entry_points(group=_group)}:
        pytest.exit("pyproject.toml has entry points that are not installed: run `make setup`", returncode=4)

# Files that take about a minute or more by the clock, the longest first: they start first, so that none of them is
# still running when all others have ended. `make test` keeps a file in one process, where its fixtures are made once.
LONGEST = (
    "tests/network_boot/test_power_on.py",
    "tests/network_boot/test_installing.py",
    "tests/images/test_boot.py",
    "tests/hosts/test_opensm.py",
    "tests/deploy/pulumi/test_crashes.py",
    "tests/deploy/pulumi/test_engine.py",
    "tests/deploy/kills/test_kills.py",
    "tests/generated/test_generated.py",
    "tests/schema_keys/test_every_key_counts.py",
    "tests/lab/test_isolation_packets.py",
    "tests/benchmarks/test_sections.py",
    "tests/deploy/ansible/test_fleet.py",
    "tests/deploy/pulumi/test_over_ssh.py",
    "tests/test_bad_input.py",
    "tests/rollout/test_up_in_waves.py",
    "tests/lab/test_hundred_routers.py",
    "tests/packaging/test_wheel.py",
    "tests/proofs/isolation/test_isolation_mutations.py",
    "tests/deploy/secrets/test_versions.py",
    "tests/lab/test_lab.py",
    "tests/deploy/pulumi/test_full_disk.py",
    "tests/keys/test_rotation.py",
)

settings.register_profile(
    "ci",
    max_examples=EXAMPLES,
    derandomize=True,
    database=None,
    deadline=None,  # two cores are shared with whatever else runs
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
    phases=[Phase.explicit, Phase.generate],  # making a failing cluster smaller takes minutes
)
settings.register_profile(
    "long",
    settings.get_profile("ci"),
    max_examples=40 * EXAMPLES,
    derandomize=False,
    print_blob=True,
    phases=[Phase.explicit, Phase.generate, Phase.shrink],
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Puts the files that take longest first."""
    rank = {CHECKOUT / name: index for index, name in enumerate(LONGEST)}
    items.sort(key=lambda item: rank.get(item.path, len(rank)))


def pytest_collection_finish() -> None:
    """Leaves the collected tests, and all modules that they import, out of every later search for garbage."""
    gc.collect()
    gc.freeze()


SPENT = "--processor-time"
spent = pytest.StashKey[dict[str, float]]()
"""Seconds of processor time by file, of a process and the children that it waited for."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(SPENT, type=int, default=0, help="say which N files take most processor time, children included")


def pytest_configure(config: pytest.Config) -> None:
    config.stash[spent] = {}


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Counts what a test takes, with the fixtures that are made for it and those that end behind it."""
    before = sum(os.times()[:4])
    try:
        return (yield)
    finally:
        _add(item.config, item.nodeid.partition("::")[0], sum(os.times()[:4]) - before)


def _add(config: pytest.Config, name: str, seconds: float) -> None:
    config.stash[spent][name] = config.stash[spent].get(name, 0) + seconds


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Tells the process that gave out the tests, where there is one."""
    if (output := getattr(session.config, "workeroutput", None)) is not None:
        output["spent"] = session.config.stash[spent]


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    for name, took in getattr(node, "workeroutput", {}).get("spent", {}).items():
        _add(node.config, name, took)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if most := config.getoption(SPENT):
        seconds = config.stash[spent]
        terminalreporter.section(f"processor time: {sum(seconds.values()):.0f} s in {len(seconds)} files")
        for name, took in sorted(seconds.items(), key=lambda item: -item[1])[:most]:
            terminalreporter.write_line(f"{took:8.1f} s  {name}")


@pytest.fixture(scope="session")
def pulumi_on_the_path() -> None:
    """Pulumi from the PATH, or built once; no Go either is a failure that says what to install."""
    result = subprocess.run([CHECKOUT / "tools/build-pulumi"], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    os.environ["PATH"] = f"{result.stdout.strip()}{os.pathsep}{os.environ['PATH']}"
    os.environ.setdefault("CLUSTERWRIGHT_REASON", "a test")  # a change of what runs is asked why
