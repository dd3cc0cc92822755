"""Names as kernels give them, and defaults that every switch system takes."""

from __future__ import annotations

from pathlib import Path

from tests.cli.in_process import command

SPARK = """
version: 1
kind: hardware
models:
  - name: dgx-spark
    kind: node
    manufacturer: NVIDIA
    part: DGX Spark
    technology: [ethernet, roce]
    units: {value: 1, assumed: "it stands on a desk"}
    power_w: {value: 240, assumed: "of its power supply"}
    weight_kg: {value: 1.2, assumed: "of its data sheet"}
    gpus: {count: 1, model: GB10, memory_gb: 128, assumed: "of its data sheet"}
    nics:
      - group: cx7
        speed_gbps: 100
        assumed: "each twin is x4 lanes"
        devices:
          - {interface: enp1s0f1np1, rdma_device: rocep1s0f1}
          - {interface: enP2p1s0f1np1, rdma_device: roceP2p1s0f1}
"""
SPEC = """
version: 1
name: pair
hardware: [spark.yaml]
site: {domain: lab.example.edu}
nodes:
  - {name: compute, model: dgx-spark, role: node, count: 2, prefix: gpu, levels: [{name: rack, of: 2}]}
fabrics:
  - name: backend
    technology: roce
    mtu: 9000
    attach: [{nodes: compute, nics: cx7}]
    tiers: [{role: leaf, model: sn5600, per: cluster, asn: {base: 65000, per: tier}, down: {medium: dac, length_m: 3}}]
    addressing:
      {loopbacks: 10.255.0.0/24, links: 10.254.0.0/24, hosts: 10.10.0.0/16, hosts_per_switch: 26, host_links: shared}
    classes:
      - {name: default, dscp: [], queue: 0, weight: 5}
      - {name: rdma, dscp: [26], queue: 3, priority: 3, weight: 8}
"""


def test_names_with_a_pci_domain_and_the_default_watchdog_are_taken(tmp_path: Path) -> None:
    (tmp_path / "spark.yaml").write_text(SPARK)
    (tmp_path / "spec.yaml").write_text(SPEC)
    answer = command("lint", "spec.yaml", cwd=tmp_path)
    assert "CW114" not in answer.stdout
    assert "CW334" not in answer.stdout
    assert command("render", "spec.yaml", "--out", "out", cwd=tmp_path).returncode == 0, answer.stdout
    switch = next((tmp_path / "out").rglob("nvue.yaml")).read_text()
    assert "polling-interval: 200" in switch
    assert "robustness: 1" in switch
