"""A preview that finds nothing to do, by the real command: it says so without reading the spec, unless it has to."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import pytest

from clusterwright.data_files import folder
from clusterwright.deploy.pulumi.automation import Engine
from clusterwright.deploy.pulumi.manifest import Manifest, ManifestUnit
from clusterwright.deploy.pulumi.recorded_stack import RecordedStack
from clusterwright.deploy.pulumi.units import Stack, Unit
from clusterwright.rollout.unchanged import unchanged

# Whatever of these is imported ends the command: nothing is judged, planned or rendered.
WITHOUT = """
import sys

for name in sys.argv.pop(1).split():
    sys.modules[name] = None
from clusterwright.cli.main import main

main()
"""
READS_SPECS = (
    "clusterwright.spec.load clusterwright.rules.engine clusterwright.plan.model clusterwright.plan.build "
    "clusterwright.output.rendering"
)
COUNTED = """#!/bin/sh
echo "$*" >> {log}
exec {pulumi} "$@"
"""
MANIFEST = Manifest("lab", "lab-pod0", "pod0", "p00", (ManifestUnit("p00r0", "rack", {"a": "1", "b": "2"}),))


@dataclass
class Site:
    """A pod of the small cluster under ``root``; ``log`` has a line for each command of Pulumi that was run."""

    root: Path

    @property
    def spec(self) -> Path:
        return self.root / "spec.yaml"

    @property
    def log(self) -> Path:
        return self.root / "log"

    @property
    def commands(self) -> list[str]:
        """What Pulumi was asked in the last run, without options."""
        lines = self.log.read_text().splitlines()
        return [re.sub("^--non-interactive ", "", line).split(" --")[0] for line in lines]

    def run(self, action: str, *options: str, without: str = "") -> subprocess.CompletedProcess[str]:
        chosen = ("--root", str(self.root / "up"), "--pod", "pod0", *options)
        command = (sys.executable, "-c", WITHOUT, without, action, str(self.spec), *chosen)
        self.log.write_text("")
        path = f"{self.root / 'bin'}{os.pathsep}{os.environ['PATH']}"
        return subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, "PATH": path})


def _deployed(root: Path) -> Site:
    found = Site(root)
    shutil.copy(folder("inventory") / "lab-roce.yaml", found.spec)
    program = found.root / "bin" / "pulumi"
    program.parent.mkdir()
    program.write_text(COUNTED.format(log=found.log, pulumi=shutil.which("pulumi")))
    program.chmod(0o755)
    done = found.run("up", "--reason", "first deployment", "--yes")
    assert done.returncode == 0, done.stderr
    return found


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, pulumi_on_the_path: None) -> Site:
    return _deployed(tmp_path_factory.mktemp("unchanged"))


def _said(done: subprocess.CompletedProcess[str]) -> tuple[int, str, str]:
    """The exit status with both outputs, but how long anything took."""
    out, err = (re.sub(r"\d+\.\d+ s", "N s", text) for text in (done.stdout, done.stderr))
    return done.returncode, out, err


def test_says_what_a_preview_says_that_reads_the_spec(site: Site) -> None:
    short = site.run("preview", without=READS_SPECS)
    commands = site.commands
    shutil.rmtree(site.root / "up" / "manifests")
    long = site.run("preview")

    assert short.returncode == 0, short.stderr
    assert short.stdout.startswith("lab-roce: nothing changes\n")
    assert _said(short) == _said(long)
    assert commands == ["version", "stack export", "preview"]


@pytest.mark.usefixtures("pulumi_on_the_path")
def test_an_update_asks_pulumi_no_more_than_it_has_to_know(tmp_path: Path) -> None:
    """Each command of Pulumi's takes as long to start as a small spec takes to be read."""
    site = _deployed(tmp_path)
    assert site.commands == ["version", "stack export", "stack init lab-roce-pod0", "up"]
    assert site.run("up").returncode == 0
    assert site.commands == ["version", "stack export"], "no engine is started for what holds all that it is to have"
    both = site.run("up", "--pod", "pod1", "--reason", "another pod")
    assert both.returncode == 0, both.stderr
    listed = ["version", "stack ls", "stack export", "stack init lab-roce-pod1", "up"]
    assert sorted(site.commands) == sorted(listed)


def test_what_pulumi_starts_knows_no_plan() -> None:
    """The program of a stack that has its manifest, and the provider: both are started for each update."""
    program = (
        WITHOUT.partition("from")[0]
        + "import clusterwright.deploy.pulumi.program, clusterwright.deploy.pulumi.provider"
    )
    subprocess.run((sys.executable, "-c", program, READS_SPECS), check=True)


def test_pip_is_asked_for_no_packages_and_answers_all_else_itself(site: Site) -> None:
    def pip(*arguments: str) -> str:
        command = (sys.executable, "-m", "pip", *arguments)
        return subprocess.run(command, cwd=site.root / "up/project", capture_output=True, text=True, check=True).stdout

    assert pip("list", "-v", "--format", "json") == "[]\n"
    assert re.match(r"pip \d+", pip("--version"))


def test_leaves_out_the_engine_when_told_so(site: Site) -> None:
    done = site.run("preview", "--no-engine", without=READS_SPECS)
    assert _said(done) == (0, "lab-roce: nothing changes\n", "")


def test_a_job_that_expects_no_changes_is_told_by_the_exit_status(site: Site) -> None:
    text = site.spec.read_text()
    quiet = site.run("preview", "--expect-no-changes")
    try:
        site.spec.write_text(text.replace("net.core.netdev_max_backlog: 250000", "net.core.netdev_max_backlog: 300000"))
        pending = site.run("preview", "--expect-no-changes", "--no-engine")
        by_engine = site.run("preview", "--expect-no-changes")
        shown = site.run("preview", "--no-engine")
    finally:
        site.spec.write_text(text)
    assert (quiet.returncode, pending.returncode, by_engine.returncode) == (0, 4, 4), pending.stdout
    assert shown.returncode == 0


@pytest.mark.parametrize("options", [("--format", "json"), ("--pod", "pod1"), ("--upper",)])
def test_reads_the_spec_for_what_a_note_does_not_say(site: Site, options: tuple[str, ...]) -> None:
    done = site.run("preview", "--no-engine", *options, without="clusterwright.plan.build")
    assert done.returncode == 2
    assert "clusterwright.plan.build" in done.stderr


def test_an_edit_is_read_and_a_mistake_in_it_refused(site: Site) -> None:
    text = site.spec.read_text()
    try:
        site.spec.write_text(text + "# only a remark\n")
        noted = site.run("preview", "--no-engine")
        site.spec.write_text(text + "no-such-key: 1\n")
        refused = site.run("preview", "--no-engine")
    finally:
        site.spec.write_text(text)
    assert _said(noted) == (0, "lab-roce: nothing changes\n", "")
    assert refused.returncode == 1
    assert "no-such-key" in refused.stderr
    assert refused.stdout == ""


@dataclass(frozen=True)
class Holding:
    """Stands for the engine: a state that says what was given."""

    found: RecordedStack

    def given(self, stack: Stack) -> RecordedStack:
        assert stack == Stack("lab-pod0", "pod0", "p00", (Unit("p00r0", "rack", "p00", ("a", "b")),))
        return self.found


@pytest.mark.parametrize(
    ("trees", "failed", "is_same"),
    [
        ({"a": "1", "b": "2"}, {}, True),
        ({"a": "1", "b": "3"}, {}, False),
        ({"a": "1", "b": ""}, {}, False),
        ({"a": "1"}, {}, False),
        ({"a": "1", "b": "2", "c": "3"}, {}, False),
        ({"a": "1", "b": "2"}, {"b": "no answer"}, False),
        ({}, {}, False),
    ],
)
def test_devices_hold_all_of_it_and_nothing_else(
    trees: Mapping[str, str], failed: Mapping[str, str], is_same: bool
) -> None:
    found = unchanged([MANIFEST], cast("Engine", Holding(RecordedStack(trees, failed))))
    assert (found is not None) is is_same


def test_a_stack_without_devices_is_not_taken_for_deployed() -> None:
    empty = Manifest("lab", "lab-pod0", "pod0", "p00", ())

    class Nothing:
        def given(self, _: Stack) -> RecordedStack:
            return RecordedStack({}, {})

    assert unchanged([empty], cast("Engine", Nothing())) is None
