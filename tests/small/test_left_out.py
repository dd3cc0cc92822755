"""What the owner of one switch leaves out has the reference's default, and what routes need is demanded."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.in_process import command

from clusterwright.spec.schema.check import default_at

SPEC = """
version: 1
name: one
site: {{domain: lab.example.edu}}
nodes:
  - {{name: compute, model: dgx-h100, count: 4{levels}}}
fabrics:
  - name: backend
    technology: roce
    mtu: 9000
    attach: [{{nodes: compute, nics: backend}}]
    tiers: [{{role: leaf, model: {model}, per: cluster, down: {{{down}}}}}]
    addressing: {{hosts: 10.10.0.0/24{addressing}}}
{more}"""
SPELT_OUT = """
    pfc_watchdog: {detection_ms: 200, recovery_ms: 200}
    classes:
      - {name: default, dscp: [], queue: 0, weight: 5}
      - name: rdma
        dscp: ["24-27"]
        queue: 3
        priority: 3
        weight: 8
        ecn: mark
        marking: {min_kbytes: 150, max_kbytes: 1500, percent: 100}
      - {name: control, dscp: [48, 56], queue: 7, strict: true}
"""
BORDER = """
zones:
  - {name: campus, prefixes: [10.20.0.0/16]}
borders:
  - name: out
    device: leaf-00
    port: Ethernet60/1
    speed_gbps: 400
    address: 10.9.0.0/31
    neighbour: 10.9.0.1
    asn: 65000
    zones: [campus]
"""


def written(
    folder: Path,
    *,
    model: str = "sn5600",
    down: str = "medium: dac, length_m: 2",
    levels: str = "",
    addressing: str = "",
    more: str = "",
) -> Path:
    path = folder / "spec.yaml"
    path.write_text(SPEC.format(model=model, down=down, levels=levels, addressing=addressing, more=more))
    return path


def rendered(spec: Path) -> dict[str, bytes]:
    out = spec.parent / "out"
    done = command("render", spec, "--out", out, cwd=spec.parent)
    assert done.returncode == 0, done.stderr
    files = (path for path in out.rglob("*") if path.is_file() and path.name != "manifest.json")
    return {str(path.relative_to(out)): path.read_bytes() for path in files}


@pytest.mark.parametrize(
    ("model", "down"),
    [
        ("sn5600", "medium: dac, length_m: 2"),
        ("sn5600-sonic", "medium: dac, length_m: 2"),
        ("dcs-7060x6-64pe", "medium: dac, length_m: 2"),
        ("z9864f-on-sonic", "mode: 2x400"),
    ],
)
def test_one_switch_of_each_system_takes_every_default(tmp_path: Path, model: str, down: str) -> None:
    spec = written(tmp_path, model=model, down=down)
    assert command("lint", spec, cwd=tmp_path).stdout == "no findings in 1 file\n"
    answer = command("verify", spec, cwd=tmp_path)
    assert answer.returncode == 0, answer.stdout
    assert "qos: proven." in answer.stdout


def test_defaults_that_are_spelt_out_change_no_byte(tmp_path: Path) -> None:
    for name in ("short", "long"):
        (tmp_path / name).mkdir()
    short = written(tmp_path / "short")
    long = written(
        tmp_path / "long",
        levels=", role: node, levels: [{name: rack, of: 4}]",
        addressing=", hosts_per_switch: 24, host_links: shared",
        more=SPELT_OUT,
    )
    assert rendered(short) == rendered(long)


def test_classes_of_the_reference_are_for_rdma_alone(tmp_path: Path) -> None:
    assert [entry["name"] for entry in default_at("cluster", ("fabrics", "classes"))] == ["default", "rdma", "control"]
    spec = written(tmp_path)
    spec.write_text(spec.read_text().replace("technology: roce", "technology: ethernet"))
    (text,) = rendered(spec).values()
    assert b"switch-priority" not in text


def test_more_nodes_than_a_rack_holds_need_levels(tmp_path: Path) -> None:
    spec = written(tmp_path)
    spec.write_text(spec.read_text().replace("count: 4", "count: 6"))
    assert "CW701" in command("lint", spec, cwd=tmp_path).stdout


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        (("per: cluster", "per: cluster, count: 2, join: rail"), "CW303"),
        (("technology: roce", "technology: infiniband"), "CW301"),
    ],
)
def test_what_no_default_can_know_is_asked_for(tmp_path: Path, changed: tuple[str, str], told: str) -> None:
    spec = written(tmp_path)
    spec.write_text(spec.read_text().replace(*changed))
    assert f"error {told}:" in command("lint", spec, cwd=tmp_path).stdout


def test_two_tiers_need_numbers_and_pools(tmp_path: Path) -> None:
    spec = written(tmp_path)
    upper = "}}, {role: spine, model: sn5600, per: cluster, count: 2}]"
    up = ", up: {links: 16, speed_gbps: 400, medium: mmf, length_m: 10}}"
    spec.write_text(spec.read_text().replace("length_m: 2}}]", f"length_m: 2}}{up}{upper[2:]}"))
    told = command("lint", spec, cwd=tmp_path).stdout
    assert "Tier leaf of backend has no AS numbers." in told
    assert "Tier spine of backend has no AS numbers." in told
    assert "backend has 2 tiers and no pool of `loopbacks`." in told
    assert "backend has 2 tiers and no pool of `links`." in told


def test_a_border_of_one_tier_needs_a_number_and_a_loopback(tmp_path: Path) -> None:
    spec = written(tmp_path, model="dcs-7060x6-64pe", more=BORDER)
    told = command("lint", spec, cwd=tmp_path).stdout
    assert "leaf-00 runs BGP at border out, and backend has no `asn` and `loopbacks`." in told
    text = spec.read_text().replace("per: cluster", "per: cluster, asn: {base: 65001, per: tier}")
    spec.write_text(text.replace("hosts: 10.10.0.0/24", "hosts: 10.10.0.0/24, loopbacks: 10.11.0.0/24"))
    assert "CW534" not in command("lint", spec, cwd=tmp_path).stdout


def test_nccl_s_data_travels_in_the_lossless_class(tmp_path: Path) -> None:
    spec = Path(__file__).parent / "specs" / "nineteen.yaml"
    out = tmp_path / "out"
    assert command("render", spec, "--merged", "--out", out, cwd=tmp_path).returncode == 0
    settings = next(out.rglob("nccl.conf")).read_text()
    assert "NCCL_IB_TC=96\n" in settings  # DSCP 24, the first of the lossless class
