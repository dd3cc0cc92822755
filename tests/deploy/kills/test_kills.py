"""Updates that are killed at steps which a hook counts, in the driver, the provider and, from there, the engine.

The same command again ends each as an undisturbed update does, and the audit log is whole. A few moments are drawn for
every run of the tests; `make test-kill` takes sixty.
"""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.cli.in_process import command
from tests.deploy.pulumi.rendered_pod import RenderedPod, render_pod
from tests.deploy.pulumi.site import Held, Site, site_in

HOOK = Path(__file__).parent
VICTIMS = (("provider", "self", 12), ("provider", "engine", 8), ("provider", "all", 4), ("driver", "self", 6))
"""Where steps are counted, who dies, and at how many moments of each of two updates."""

FEW = 1
pytestmark = pytest.mark.usefixtures("pulumi_on_the_path")


def hooked(site: Site, kill: str, count: Path) -> subprocess.CompletedProcess[str]:
    """The command, in whose programs the hook counts or kills."""
    return site.program(
        PYTHONPATH=os.pathsep.join(filter(None, (str(HOOK), os.environ.get("PYTHONPATH")))),
        CLUSTERWRIGHT_KILL=kill,
        CLUSTERWRIGHT_KILL_SITE=str(site.root),
        CLUSTERWRIGHT_KILL_COUNT=str(count),
    )


@dataclass(frozen=True)
class Scenario:
    """An update that begins at ``start``, how many steps each role takes in it, and what it leaves."""

    name: str
    place: Path
    spec: Path
    steps: dict[str, int]
    finished: Held

    def begin(self) -> Site:
        """The deployment as it is before the update, at the place that its state names."""
        shutil.rmtree(self.place / "up", ignore_errors=True)
        shutil.copytree(self.place / "before", self.place / "up", symlinks=True)
        return Site(self.place / "up", self.spec)


def scenario(name: str, place: Path, site: Site) -> Scenario:
    """Runs the update once for each role, and counts."""
    shutil.copytree(site.root, place / "before", symlinks=True)
    steps: dict[str, int] = {}
    for role in ("provider", "driver"):
        shutil.rmtree(site.root)
        shutil.copytree(place / "before", site.root, symlinks=True)
        count = place / f"{role}.count"
        done = hooked(site, f"{role}:", count)
        assert done.returncode == 0, done.stdout + done.stderr
        steps[role] = count.stat().st_size
    return Scenario(name, place, site.spec, steps, (site.recorded(), site.held()))


@pytest.fixture(scope="module")
def scenarios(tmp_path_factory: pytest.TempPathFactory, pulumi_on_the_path: None) -> dict[str, Scenario]:
    """A first update, and one of nodes that run, in waves."""
    pod: RenderedPod = render_pod(tmp_path_factory.mktemp("pod"))
    first = tmp_path_factory.mktemp("first")
    found = {"first": scenario("first", first, site_in(first, pod))}
    waves = tmp_path_factory.mktemp("waves")
    spec = waves / "lab.yaml"
    shutil.copy(pod.spec, spec)
    running = Site(waves / "up", spec)
    running.up()
    running.give_nodes_another_setting()
    found["waves"] = scenario("waves", waves, running)
    return found


def moments(counts: dict[str, int], share: int) -> Iterator[tuple[str, str, int]]:
    """Role, victim and step, evenly over the update; ``share`` of them where that is not 0."""
    for role, victim, most in VICTIMS:
        number = share or most
        chance = random.Random(f"{role} {victim}")
        length = counts[role] / number
        for index in range(number):
            yield role, victim, 1 + min(int(length * (index + chance.random())), counts[role] - 1)


def suffer(scenario: Scenario, role: str, victim: str, step: int) -> str:
    """What is not as it should be after a kill and the same command; "" when all is well."""
    where = f"{scenario.name}: {victim} of the {role} at step {step} of {scenario.steps[role]}"
    site = scenario.begin()
    count = scenario.place / "killed.count"
    count.unlink(missing_ok=True)
    killed = hooked(site, f"{role}:{step}:{victim}", count)
    if killed.returncode == 0:
        return f"{where}: nobody died"
    if "Traceback" in killed.stderr:
        return f"{where}: {killed.stderr}"
    again = site.program()
    if again.returncode or "Traceback" in again.stderr:
        return f"{where}: {again.returncode} {again.stdout} {again.stderr}"
    if (site.recorded(), site.held()) != scenario.finished:
        return f"{where}: state or devices are not what an undisturbed update leaves"
    if command("audit", "verify", site.root, cwd=site.root).returncode:
        return f"{where}: the audit log is broken"
    return ""


def campaign(scenarios: dict[str, Scenario], share: int) -> list[str]:
    """What each moment left to complain of."""
    return [suffer(scenario, *moment) for scenario in scenarios.values() for moment in moments(scenario.steps, share)]


def test_a_few_moments(scenarios: dict[str, Scenario]) -> None:
    told = campaign(scenarios, FEW)

    assert len(told) == 2 * len(VICTIMS)
    assert [line for line in told if line] == []


@pytest.mark.kill
@pytest.mark.timeout(3600)
def test_sixty_moments(scenarios: dict[str, Scenario], capsys: pytest.CaptureFixture[str]) -> None:
    told = campaign(scenarios, 0)

    with capsys.disabled():
        steps = {scenario.name: scenario.steps for scenario in scenarios.values()}
        sys.stderr.write(f"\n{len(told)} kills, {told.count('')} of them converged; steps: {steps}\n")
    assert len(told) == 60
    assert [line for line in told if line] == []
