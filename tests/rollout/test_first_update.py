"""The first update of a cluster of which some devices are dead: all others are brought up, and the dead ones named."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from tests.cli.in_process import command

from clusterwright.data_files import folder
from clusterwright.deploy.pulumi.automation import Ran
from clusterwright.deploy.pulumi.order import drive_stacks
from clusterwright.deploy.pulumi.units import Stack, Unit


def stack_of(layer: str, kind: str) -> Stack:
    return Stack(layer, layer, "" if layer == "upper" else layer, (Unit(f"{layer}0", kind, layer, (f"{layer}n0",)),))


STACKS = (stack_of("upper", "switch"), stack_of("pod0", "rack"), stack_of("services", "service"))


def started(*, upper_last: bool = False, fails: str = "", is_allowed: bool = False) -> list[str]:
    order: list[str] = []

    def run(stack: Stack) -> Ran:
        order.append(stack.layer)
        return Ran(stack=stack.name, ok=stack.layer != fails, counts={}, duration_s=0.0)

    def allows(ran: Ran) -> bool:
        return ran.ok or is_allowed

    drive_stacks(STACKS, run, 2, upper_last=upper_last, allows=allows)
    return order


def test_services_go_ahead_of_pods_and_are_the_last_but_one_to_be_destroyed() -> None:
    assert started() == ["upper", "services", "pod0"]
    assert started(upper_last=True) == ["pod0", "services", "upper"]


def test_others_go_on_behind_a_failure_that_is_allowed() -> None:
    assert started(fails="services") == ["upper", "services"]
    assert started(fails="services", is_allowed=True) == ["upper", "services", "pod0"]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A spec, and two devices whose folder is a file: nothing can be put on them."""
    place = tmp_path_factory.mktemp("first")
    shutil.copy(folder("inventory") / "lab-roce.yaml", place / "cluster.yaml")
    (place / "up/flash").mkdir(parents=True)
    for name in ("atsw-01", "gpu-p00r00n0"):
        (place / "up/flash" / name).touch()
    return place


def up(site: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return command("up", "cluster.yaml", "--yes", "--reason", "first racks", *options, cwd=site)


def holding(site: Path) -> set[str]:
    return {folder.name for folder in (site / "up/flash").iterdir() if folder.is_dir()}


@pytest.mark.slow
@pytest.mark.usefixtures("pulumi_on_the_path")
def test_dead_devices_stop_no_bring_up_and_are_owed_until_they_are_out_of_service(site: Path) -> None:
    first = up(site)
    assert first.returncode == 3, first.stderr
    assert "deployment failed on atsw-01, gpu-p00r00n0." in first.stderr
    assert {"gpu-p00r00n1", "gpu-p01r00n0", "svc-v00n0", "ssw-00", "rtsw-p00r00"} <= holding(site)
    assert 'clusterwright_rollout_stopped{cluster="lab-roce"} 1' in (site / "up/metrics/rollout.prom").read_text()
    lines = first.stdout.splitlines()
    ends = [index for name in ("services-rack0", "pod0") for index, line in enumerate(lines) if f"-{name}: " in line]
    assert ends == sorted(ends), "services first"

    (site / "up/flash/atsw-01").unlink()
    exception = 'exceptions:\n  - {device: gpu-p00r00n0, state: out-of-service, reason: "ticket 4711, no power"}\n'
    with (site / "cluster.yaml").open("a") as spec:
        spec.write(exception)
    second = up(site)
    assert second.returncode == 0, second.stderr
    assert "left out, as out of service: gpu-p00r00n0" in second.stderr
    assert "atsw-01" in holding(site)

    text = (site / "cluster.yaml").read_text()
    (site / "cluster.yaml").write_text(text.replace(exception, ""))
    (site / "up/flash/gpu-p00r00n0").unlink()
    third = up(site)
    assert third.returncode == 0, third.stderr
    assert "gpu-p00r00n0" in holding(site)


@pytest.mark.slow
@pytest.mark.usefixtures("pulumi_on_the_path")
def test_more_dead_devices_than_the_budget_start_no_other_stack(tmp_path: Path) -> None:
    shutil.copy(folder("inventory") / "lab-roce.yaml", tmp_path / "cluster.yaml")
    (tmp_path / "up/flash").mkdir(parents=True)
    for name in ("atsw-01", "ssw-01"):
        (tmp_path / "up/flash" / name).touch()
    stopped = up(tmp_path)
    assert stopped.returncode == 3, stopped.stderr
    assert "lab-roce-upper failed; deployment failed on atsw-01, ssw-01" in stopped.stderr
    assert {"ssw-00", "atsw-00"} <= holding(tmp_path), "a stack is tried to its end"
    assert not any(name.startswith("gpu-") for name in holding(tmp_path))
