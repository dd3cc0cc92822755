"""Switches that somebody else configures: planned and listed, and no claim about their fabric is called proven."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from tests.cli.in_process import command

from clusterwright import data_files

INVENTORY = data_files.folder("inventory")
MODELS = """\
version: 1
kind: hardware
models:
  - name: qfx5240
    kind: switch
    manufacturer: Juniper
    part: QFX5240-64OD
    technology: [ethernet, roce]
    network_os: SYSTEM
    units: {value: 2, source: data sheet}
    power_w: {value: 2000, source: data sheet}
    weight_kg: {value: 25, source: data sheet}
    management: {name: "re0:mgmt-0", speed_gbps: 1, source: data sheet}
    ports:
      - block: all
        cages: "et-0/0/[0-63]"
        connector: osfp
        source: data sheet
        modes:
          - {name: 2x400, speed_gbps: 400, subports: [":0", ":1"]}
  - name: ex4400
    kind: switch
    manufacturer: Juniper
    part: EX4400-48T
    technology: [ethernet]
    network_os: SYSTEM
    units: {value: 1, source: data sheet}
    power_w: {value: 200, source: data sheet}
    weight_kg: {value: 7, source: data sheet}
    management: {name: me0, speed_gbps: 1, source: data sheet}
    ports:
      - block: all
        cages: "ge-0/0/[0-47]"
        connector: rj45
        source: data sheet
        modes:
          - {name: 1x1, speed_gbps: 1, subports: [""]}
"""
PER_FABRIC = (
    "ethernet-links", "bgp-sessions", "reachability", "valley-free", "ethernet-bisection", "ethernet-failures", "qos",
    "ecmp-hash", "isolation", "management", "exchanges",
)  # fmt: skip


def spec(folder: Path, fabric: str, role: str, model: str, system: str = "external") -> Path:
    """The lab with Spectrum switches, of which one tier runs another system."""
    (folder / "hw.yaml").write_text(MODELS.replace("SYSTEM", system))
    path = folder / "spec.yaml"
    path.write_text(
        f"version: 1\nextends: {INVENTORY}/lab-nvue.yaml\nname: lab\nhardware: [hw.yaml]\n"
        f"fabrics:\n  - {{name: {fabric}, tiers: [{{role: {role}, model: {model}}}]}}\n"
    )
    return path


def answers(path: Path, *arguments: str) -> dict[str, dict[str, Any]]:
    """What verify answers about each claim."""
    done = command("verify", path, "--format", "json", *arguments, cwd=path.parent)
    return {check["name"]: check for check in json.loads(done.stdout)["checks"]}


def test_no_claim_about_a_fabric_with_another_system_is_proven(tmp_path: Path) -> None:
    reply = answers(spec(tmp_path, "backend", "atsw", "qfx5240"))

    for name in PER_FABRIC:
        assert reply[name]["answer"] == "not checked: 2 switches of another system (backend)", name
        assert not reply[name]["proven"]
    assert "rsw-ssw: AS numbers" in {fact["name"] for fact in reply["bgp-sessions"]["facts"]}, "the frontend was judged"
    assert not reply["bgp-sessions"]["counterexamples"], "nothing is said of half a fabric"
    assert reply["node-logins"]["proven"]
    assert command("verify", "spec.yaml", cwd=tmp_path).returncode == 3


def test_a_management_switch_bars_the_claims_about_its_network_alone(tmp_path: Path) -> None:
    reply = answers(spec(tmp_path, "management", "mgmt", "ex4400"))

    barred = {name for name, check in reply.items() if check["answer"].startswith("not checked: 1 switch of another")}
    assert barred == {"ethernet-links", "reachability", "ethernet-failures", "isolation", "management", "exchanges"}
    assert all(reply[name]["proven"] for name in set(PER_FABRIC) - barred)


def test_a_fabric_without_a_cpu_in_its_switches_is_not_proven_either(tmp_path: Path) -> None:
    reply = answers(spec(tmp_path, "management", "mgmt", "ex4400", system="unmanaged"))
    assert reply["isolation"]["answer"] == "not checked: 1 switch of another system (management)"


def test_where_all_switches_are_of_another_system_the_claims_are_named(tmp_path: Path) -> None:
    (tmp_path / "hw.yaml").write_text(MODELS.replace("SYSTEM", "external"))
    path = tmp_path / "spec.yaml"
    path.write_text("""\
version: 1
name: alone
hardware: [hw.yaml]
site: {domain: lab.example.net}
nodes: [{name: compute, model: dgx-h100, role: node, count: 4, levels: [{name: rack, of: 4}]}]
fabrics:
  - name: frontend
    technology: ethernet
    mtu: 9000
    attach: [{nodes: compute, nics: frontend}]
    tiers: [{role: leaf, model: qfx5240, per: cluster, asn: {base: 4200000100, per: switch}}]
    addressing: {loopbacks: "10.255.0.0/20", links: "10.192.0.0/13", hosts: "10.0.0.0/10", hosts_per_switch: 24,
                 host_links: point-to-point}
""")
    reply = answers(path)
    assert set(reply) == {"ethernet-links", "reachability", "ethernet-failures", "isolation", "management", "exchanges"}
    assert {check["answer"] for check in reply.values()} == {"not checked: 1 switch of another system (frontend)"}


def test_what_is_wrong_elsewhere_still_refutes(tmp_path: Path) -> None:
    path = spec(tmp_path, "backend", "atsw", "qfx5240")
    out = tmp_path / "out"
    assert command("render", path, "--out", out, cwd=tmp_path).returncode == 0
    assert not list(out.glob("atsw-*")), "nothing is written for them"
    (leaf,) = out.glob("rsw-p00r00/**/nvue.yaml")
    text = leaf.read_text()
    edited = re.sub(r"(autonomous-system: )(\d+)", lambda match: f"{match[1]}{int(match[2]) + 500}", text)
    assert edited != text
    leaf.write_text(edited)
    (out / "manifest.json").unlink()

    reply = answers(out, "--spec", str(path))

    assert reply["bgp-sessions"]["counterexamples"]
    assert command("verify", out, "--spec", path, cwd=tmp_path).returncode == 1


@pytest.mark.parametrize("form", ["json", "csv", "dns", "crew", "netbox", "ansible"])
def test_every_list_has_them(tmp_path: Path, form: str) -> None:
    path = spec(tmp_path, "backend", "atsw", "qfx5240")
    out = tmp_path / "list"
    assert command("inventory", path, "--format", form, "--out", out, cwd=tmp_path).returncode == 0
    files = [out] if out.is_file() else [file for file in out.rglob("*") if file.is_file()]
    assert any("atsw-00" in file.read_text() for file in files)
