"""Variants of the InfiniBand specs that tests route, each as the YAML that extends one of the inventory's."""

from __future__ import annotations

from pathlib import Path

from clusterwright import data_files
from clusterwright.plan.build import build_plan
from clusterwright.plan.model import Plan
from clusterwright.rules.engine import lint_path
from clusterwright.spec.load import load_spec

# Storage beside the compute nodes, three classes of service, a shared partition, and a protected subnet.
SHARED = """
nodes:
  - name: files
    model: infiniband-server
    role: storage
    count: 2
    zone: storage
    levels: [{name: rack, of: 2, code: i}]
fabrics:
  - name: backend
    attach:
      - {nodes: compute, nics: backend}
      - {nodes: files, nics: fabric, to: leaf}
    classes:
      - {name: rest, service_level: 0, queue: 0, weight: 16}
      - {name: training, service_level: 1, queue: 1, weight: 64}
      - {name: control, service_level: 2, queue: 2, weight: 8, arbitration: high}
    partitions:
      - {name: files, pkey: 16, zones: [compute, storage], membership: full, limited: [compute]}
    subnet_manager: {m_key: {secret: fabric-key}}
nccl: {data_class: training, service_level: 1}
expect:
  - {figure: oversubscription.backend.leaf, value: 1.03, tolerance: 0.01, assumed: "Storage uses the spines too."}
"""

# NVIDIA's reference pattern: one node less than four scalable units, and four UFM appliances on the ports it frees.
FREED_PORTS = """
version: 1
name: four-units
site: {domain: example.net}
nodes:
  - name: compute
    model: dgx-h100
    role: node
    count: 127
    zone: compute
    levels: [{name: rack, of: 4, within: su}, {name: su, of: 8}]
  - {name: ufm, model: ufm-appliance, role: service, count: 4, zone: managers, levels: [{name: rack, of: 4, code: u}]}
fabrics:
  - name: backend
    technology: infiniband
    mtu: 4096
    attach:
      - {nodes: compute, nics: backend}
      - {nodes: ufm, nics: fabric, to: leaf}
    tiers:
      - {role: leaf, model: qm9790, per: su, join: rail, up: {links: 32, speed_gbps: 400}}
      - {role: spine, model: qm9790, per: cluster, count: 16}
    subnet_manager:
      kind: ufm
      nodes: ufm
      count: 2
      routing_engine: ar_updn
      adaptive_routing: true
      sharp: true
    partitions:
      - {name: training, pkey: 1, zones: [compute], membership: full}
zones:
  - {name: compute, nodes: [compute], fabrics: [backend]}
  - {name: managers, nodes: [ufm], fabrics: [backend]}
expect:
  - {figure: gpus, value: 1016, source: "NVIDIA DGX SuperPOD H100: 127 nodes in four scalable units"}
  - {figure: switches.leaf, value: 32, source: "NVIDIA DGX SuperPOD H100: 127 nodes in four scalable units"}
  - {figure: switches.spine, value: 16, source: "NVIDIA DGX SuperPOD H100: 127 nodes in four scalable units"}
  - {figure: oversubscription.backend.leaf, value: 1, source: "NVIDIA's design does not block"}
"""

# Forty nodes on one 800-port director, whose 60 chips the subnet manager sees.
ONE_DIRECTOR = """
version: 1
name: one-director
site: {domain: example.net}
nodes:
  - {name: compute, model: dgx-a100, role: node, count: 40, levels: [{name: rack, of: 4}]}
fabrics:
  - name: backend
    technology: infiniband
    mtu: 4096
    attach: [{nodes: compute, nics: backend}]
    tiers:
      - {role: director, model: cs8500, per: cluster}
    subnet_manager: {nodes: compute, count: 1, routing_engine: ftree}
"""

# The lab with NVIDIA's subnet manager and what it can do.
WITH_UFM = """
fabrics:
  - name: backend
    subnet_manager: {kind: ufm, routing_engine: ar_updn, adaptive_routing: true, sharp: true}
"""

# One scalable unit of the 24,576-GPU build, with the spines that it needs.
ONE_UNIT = """
name: one-unit
nodes:
  - {name: compute, count: 32}
expect:
  - {figure: nodes, value: 32, assumed: "One scalable unit."}
"""

UNTRIED = "CW176"  # what no program here reads is noted of every spec that chooses it


def whole(text: str, folder: Path) -> Plan:
    """The plan of a spec that stands alone; it has to pass lint without a finding."""
    file = folder / "whole.yaml"
    file.write_text(text)
    findings = [finding for finding in lint_path(file).findings if finding.code != UNTRIED]
    assert not findings, findings
    return build_plan(load_spec(file))


def variant(base: str, text: str, folder: Path) -> Plan:
    """The plan of ``inventory/<base>.yaml`` as changed by ``text``."""
    file = folder / "variant.yaml"
    file.write_text(f"extends: {data_files.folder('inventory') / base}.yaml\n{text}")
    return build_plan(load_spec(file))
