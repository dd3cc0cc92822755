"""Few nodes get one switch for their GPUs and one for all else, in a spec that fits on a screen."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.in_process import command
from tests.start.machines import KNOWN_GAPS, NODE_MODELS

from clusterwright.rules.engine import lint_path
from clusterwright.spec.load import load_spec

FABRICS = ("roce", "infiniband", "ethernet")


def init(folder: Path, *words: str) -> str:
    """What init prints; the spec is in the folder where it succeeds."""
    done = command("init", folder / "mine", *words, cwd=folder)
    return done.stdout + done.stderr


def codes(folder: Path) -> set[str]:
    return {finding.code for finding in lint_path(folder / "mine/cluster.yaml").findings}


@pytest.mark.parametrize("fabric", FABRICS)
@pytest.mark.parametrize("model", NODE_MODELS)
def test_four_nodes_of_each_machine_are_planned_in_less_than_seventy_lines(
    tmp_path: Path, model: str, fabric: str
) -> None:
    wish = ("--nodes", "4", "--node-model", model, "--fabric", fabric)
    init(tmp_path, *wish)
    assert codes(tmp_path) <= KNOWN_GAPS
    spec = load_spec(tmp_path / "mine/cluster.yaml")
    lines = len((tmp_path / "mine/cluster.yaml").read_text().splitlines())
    if any(fabric.is_management for fabric in spec.fabrics):
        assert spec.fabrics[0].tiers[0].model.name == "q3200", "its switches are managed over a port of their own"
        assert [len(fabric.tiers) for fabric in spec.fabrics] == [1, 1, 1]
        assert lines < 70
        return
    assert [len(fabric.tiers) for fabric in spec.fabrics] == [1, 1]
    assert lines < 60


@pytest.mark.parametrize("fabric", FABRICS)
@pytest.mark.parametrize("scheduler", ["slurm", "kueue", "none"])
def test_nothing_of_it_is_refuted(tmp_path: Path, fabric: str, scheduler: str) -> None:
    init(tmp_path, "--nodes", "4", "--node-model", "dgx-h100", "--fabric", fabric, "--scheduler", scheduler)
    answer = command("verify", "mine/cluster.yaml", cwd=tmp_path).stdout
    assert "REFUTED" not in answer
    assert ": not proven" not in answer
    assert "isolation: proven." in answer
    assert answer.count(": not checked: ") == 1, "who else gets in to nodes that somebody else installed"


def test_from_nothing_to_a_job_s_settings_and_filter(tmp_path: Path) -> None:
    told = init(tmp_path, "--nodes", "4", "--node-model", "dgx-h100", "--fabric", "roce")
    assert "cluster.yaml written" in told
    assert command("lint", "mine", cwd=tmp_path).stdout == "no findings in 1 file\n"
    assert command("render", "mine/cluster.yaml", "--merged", "--out", "out", cwd=tmp_path).returncode == 0
    devices = {path.name for path in (tmp_path / "out").iterdir()}
    assert devices >= {"leaf-00", "tor-00", "gpu-r00n0", "head-r01n0"}
    node = tmp_path / "out/gpu-r00n0/etc"
    settings = (node / "nccl.conf").read_text()
    assert "NCCL_SOCKET_IFNAME==fe0,fe1\n" in settings
    assert "NCCL_IB_TC=96\n" in settings
    rules = (node / "nftables.conf").read_text()
    assert "udp dport { 4791 }" in rules
    assert "10.20.0.0/16" in rules


@pytest.mark.parametrize(
    ("wish", "lines"),
    [("--nodes 4 --fabric roce", 25), ("--nodes 64 --fabric infiniband", 39), ("--nodes 64 --fabric roce", 41)],
)
def test_bare_is_machines_and_their_fabric(tmp_path: Path, wish: str, lines: int) -> None:
    init(tmp_path, "--node-model", "dgx-h100", "--bare", *wish.split())
    assert codes(tmp_path) <= KNOWN_GAPS
    spec = load_spec(tmp_path / "mine/cluster.yaml")
    assert [fabric.name for fabric in spec.fabrics] == ["backend"]
    assert not spec.images
    assert len((tmp_path / "mine/cluster.yaml").read_text().splitlines()) == lines


@pytest.mark.parametrize("distribution", ["Debian 12", "Ubuntu 22.04", "Ubuntu 24.04", "Rocky 9", "RHEL 9", "Rocky 10"])
def test_each_distribution_is_written(tmp_path: Path, distribution: str) -> None:
    init(tmp_path, "--nodes", "2", "--node-model", "dgx-h100", "--fabric", "roce", "--distribution", distribution)
    assert codes(tmp_path) <= KNOWN_GAPS
    assert load_spec(tmp_path / "mine/cluster.yaml").images[0].distribution == distribution


@pytest.mark.parametrize(
    ("wish", "reason"),
    [
        ("--nodes 4 --distribution Ubunto", "Ubunto is not known. Known are Debian 12,"),
        ("--nodes 20 --distribution Debian\N{NO-BREAK SPACE}12", "is not known"),
        ("--nodes 20 --distribution RHEL-9", "is not known"),
        ("--nodes 4 --one-switch --tenants 2", "no --tenants on one switch"),
        ("--nodes 40 --one-switch --switch-model sn5600", "has no 320 ports of 400G"),
    ],
)
def test_what_cannot_be_done_is_said(tmp_path: Path, wish: str, reason: str) -> None:
    assert reason in init(tmp_path, "--node-model", "dgx-h100", "--fabric", "roce", *wish.split(" "))
    assert not (tmp_path / "mine").exists()


@pytest.mark.parametrize(
    ("distribution", "scheduler"), [("Ubuntu 24.04", "none"), ("Rocky 9", "kueue"), ("Rocky 10", "slurm")]
)
def test_several_tiers_have_nodes_with_what_you_installed(tmp_path: Path, distribution: str, scheduler: str) -> None:
    words = ("--nodes", "64", "--node-model", "dgx-h100", "--fabric", "roce", "--scheduler", scheduler)
    init(tmp_path, *words, "--distribution", distribution)
    assert codes(tmp_path) <= KNOWN_GAPS
    image = load_spec(tmp_path / "mine/cluster.yaml").images[0]
    assert (image.distribution, image.delivery) == (distribution, "existing")


def test_a_slurm_that_is_too_old_for_ipv6_is_said_before_anything_is_sized(tmp_path: Path) -> None:
    words = ("--nodes", "64", "--node-model", "dgx-h100", "--fabric", "roce", "--distribution", "Ubuntu 24.04")
    assert "slurmd 23.11 of Ubuntu 24.04 fetches no configuration. Take --scheduler none" in init(tmp_path, *words)
    assert not (tmp_path / "mine").exists()


def test_a_node_that_nobody_knows_gets_one_switch_too(tmp_path: Path) -> None:
    init(tmp_path, "--nodes", "2", "--node-model", "acme", "--like", "dgx-h100", "--fabric", "roce")
    assert codes(tmp_path) == {"CW195"}


def test_more_devices_than_two_low_switches_join_get_wider_ones(tmp_path: Path) -> None:
    """It stopped at 64 scalable units, since nothing joined 90 management switches."""
    told = init(tmp_path, "--nodes", "2048", "--node-model", "dgx-h100", "--fabric", "infiniband")
    assert "cluster.yaml written" in told
