"""Nodes on a provider's fabric: a spec of twelve lines renders what nodes need, and claims say what is not checked."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.cli.in_process import command
from tests.small.answers import rendered

SPEC = Path(__file__).parent / "specs" / "rented.yaml"
PAGE = Path(__file__).parents[2] / "docs" / "rented-nodes.md"


def spec_with(folder: Path, *changes: tuple[str, str]) -> Path:
    text = SPEC.read_text()
    for before, after in changes:
        assert before in text, before
        text = text.replace(before, after)
    path = folder / "spec.yaml"
    path.write_text(text)
    return path


def findings(spec: Path) -> list[str]:
    """The errors and warnings of lint, each with its code and message."""
    answer = command("lint", spec, cwd=spec.parent).stdout
    return re.findall(r"(?:error|warning) (CW\d+: .*)", answer)


def answers(spec: Path) -> dict[str, str]:
    """The answer of each claim, by its name."""
    lines = command("verify", spec, cwd=spec.parent).stdout.splitlines()
    return {line.split(":")[0]: line for line in lines if line[:1].islower() and ": " in line}


def test_twelve_lines_lint_clean_and_stand_on_the_page() -> None:
    assert len(SPEC.read_text().splitlines()) == 12
    assert SPEC.read_text() in PAGE.read_text()
    assert not findings(SPEC)


def test_claims_about_the_fabric_are_not_checked_and_those_about_nodes_are_proven() -> None:
    reply = answers(SPEC)
    for claim in ("ib-cabling", "ib-partitions", "ib-managers", "ib-up-down", "isolation", "reachability"):
        assert "not checked: the fabric" in reply[claim], reply[claim]
        assert "the provider's" in reply[claim], reply[claim]
    assert reply["ib-nccl"].startswith("ib-nccl: proven.")
    assert reply["slurm"].startswith("slurm: proven.")
    answer = command("verify", SPEC, cwd=SPEC.parent)
    assert "REFUTED" not in answer.stdout
    assert answer.returncode == 3


def test_nodes_get_nccl_slurm_limits_and_checks_and_no_network(tmp_path: Path) -> None:
    out = rendered(tmp_path, SPEC)
    settings = (out / "gpu-r00n0/etc/nccl.conf").read_text()
    assert "NCCL_IB_PKEY=1\n" in settings
    assert "NCCL_SOCKET_IFNAME==eth0\n" in settings
    assert "NodeName=gpu-r00n[0-3]" in (out / "head-r01n0/etc/slurm/slurm.conf").read_text()
    check = (out / "gpu-r00n0/etc/clusterwright/health.json").read_text()
    assert '"interface": "ib7"' in check
    assert '"interface": "be0"' not in check
    assert not list(out.rglob("*.network"))
    assert not list(out.rglob("nftables.conf"))
    assert not [path for path in out.iterdir() if "provider" in path.name]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("NCCL_IB_PKEY=1\n", "NCCL_IB_PKEY=0\n"),
        ("NCCL_IB_PKEY=1\n", ""),
        ("mlx5_7", "mlx5_8"),
    ],
)
def test_another_index_or_adapter_is_refuted(tmp_path: Path, before: str, after: str) -> None:
    out = rendered(tmp_path, SPEC)
    path = out / "gpu-r00n0/etc/nccl.conf"
    path.write_text(path.read_text().replace(before, after))
    (out / "manifest.json").unlink()
    assert "ib-nccl: REFUTED" in command("verify", out, "--spec", SPEC, cwd=tmp_path).stdout


def test_two_nodes_and_a_cable_are_the_same(tmp_path: Path) -> None:
    spec = spec_with(
        tmp_path,
        ("count: 4", "count: 2"),
        ("technology: infiniband", "technology: roce"),
        ("mtu: 4096, pkey_index: 1", "mtu: 9000, addresses: dhcp"),
        ("[ib0, ib1, ib2, ib3, ib4, ib5, ib6, ib7]", "[enp1s0f0, enp1s0f1], rdma_devices: [rocep1s0f0, rocep1s0f1]"),
    )  # fmt: skip
    assert not findings(spec)
    settings = (rendered(tmp_path, spec) / "gpu-r00n1/etc/nccl.conf").read_text()
    assert "NCCL_IB_HCA==rocep1s0f0,rocep1s0f1\n" in settings
    assert "NCCL_IB_PKEY" not in settings


TIERS = "tiers: [{role: leaf, model: qm9790, per: cluster, down: {medium: dac, length_m: 3}}]"


@pytest.mark.parametrize(
    ("change", "finding"),
    [
        (("takes: [nccl,", "takes: [network, nccl,"), "CW516: ubuntu sets up the network of its nodes"),
        (("delivery: existing, takes: [nccl, slurm, health, limits]", "delivery: disk"), "CW516: ubuntu sets up the"),
        (("addresses: dhcp, ", ""), "CW516: frontend has no `addresses`"),
        (("mtu: 4096, pkey_index: 1", "mtu: 4096, addresses: dhcp"), "CW516: backend is InfiniBand"),
        (("mtu: 1500, addresses: dhcp", "mtu: 1500, addresses: dhcp, pkey_index: 1"), "CW516: frontend is ethernet"),
        (("ib6, ib7]", "ib6, ib7, ib8]"), "CW516: 9 names for 8 adapters"),
        ((", interfaces: [ib0, ib1, ib2, ib3, ib4, ib5, ib6, ib7]", ""), "CW517: NCCL and the node check look for be0"),
        (("owner: provider, mtu: 4096", f"owner: provider, mtu: 4096, {TIERS}"), "CW516: backend is the provider"),
        (("owner: provider, mtu: 4096", f"mtu: 4096, {TIERS}"), "CW516: backend is yours: `pkey_index`"),
        (("owner: provider, mtu: 4096", "mtu: 4096"), 'CW111: fabrics[backend] lacks the key "tiers"'),
        (("owner: provider, mtu: 4096", "owner: provder, mtu: 4096"), "CW113"),
    ],
)  # fmt: skip
def test_what_a_providers_fabric_cannot_have_is_refused(tmp_path: Path, change: tuple[str, str], finding: str) -> None:
    told = findings(spec_with(tmp_path, change))
    assert any(line.startswith(finding) for line in told), told


FLOWS = """zones: [{name: gpu, nodes: [gpu]}, {name: campus, prefixes: ["10.20.0.0/16"]}]
flows: [{name: ssh, from: campus, to: gpu, protocol: tcp, ports: [22], owner: us, reason: "people log in"}]
images: ["""


def test_a_filter_without_addresses_is_refused(tmp_path: Path) -> None:
    told = findings(spec_with(tmp_path, ("takes: [nccl,", "takes: [filter, nccl,"), ("images: [", FLOWS)))
    assert any(line.startswith("CW524: Zone gpu of flow ssh has no address") for line in told), told


def test_lists_and_the_report_are_made(tmp_path: Path) -> None:
    listed = command("inventory", SPEC, "--format", "json", cwd=tmp_path)
    assert listed.returncode == 0
    assert '"backend-provider-00"' in listed.stdout
    assert command("inventory", SPEC, "--format", "ansible", cwd=tmp_path).returncode == 0
    assert command("report", SPEC, "--out", tmp_path / "report", cwd=tmp_path).returncode == 0
