"""A lab with leaves of two models below one spine: two generations of nodes, with other ports and speeds."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import mkdtemp

from clusterwright.plan.build import build_plan
from clusterwright.plan.model import Plan
from clusterwright.spec.load import load_spec

LEAF, OTHER_LEAF, SPINE = "leaf", "bleaf", "spine"
# By system, the model of the leaves with ports of 400G, and that of those with ports of 800G and of the spine.
MODELS = {
    "eos": ("dcs-7060dx5-64s", "dcs-7060x6-64pe"),
    "nvue": ("sn4700", "sn5600"),
    "sonic": ("sn4700-sonic", "sn5600-sonic"),
}

_SPEC = """version: 1
name: two-leaves
site: {{domain: lab.example.net, rack_units: 52}}
nodes:
  - {{name: hopper, model: dgx-h200, role: node, count: 4, prefix: h, levels: [{{name: rack, of: 2}}]}}
  - {{name: blackwell, model: dgx-b300, role: node, count: 4, prefix: b, levels: [{{name: unit, of: 2}}]}}
fabrics:
  - name: backend
    technology: roce
    mtu: 9000
    attach: [{{nodes: hopper, nics: backend}}, {{nodes: blackwell, nics: backend}}]
    pfc_watchdog: {{detection_ms: 200, recovery_ms: 100}}
    tiers:
      - role: leaf
        model: {slow}
        per: rack
        up: {{links: 16, speed_gbps: 400, to: [spine]}}
        asn: {{base: 4200100000, per: switch}}
      - role: bleaf
        model: {fast}
        per: unit
        up: {{links: 16, speed_gbps: 800, to: [spine]}}
        asn: {{base: 4200110000, per: switch}}
      - {{role: spine, model: {fast}, per: cluster, count: 4, asn: {{base: 4200000100, per: tier}}}}
    addressing:
      loopbacks: "10.255.0.0/24"
      links: "10.254.0.0/16"
      hosts: "10.0.0.0/16"
      hosts_per_switch: 24
      host_links: point-to-point
    classes:
      - {{name: rdma, dscp: [26], queue: 3, priority: 3, weight: 80}}
      - {{name: control, dscp: [48], queue: 6, strict: true}}
      - {{name: other, dscp: ["0-25", "27-47", "49-63"], queue: 0, weight: 20}}
expect:
  - {{figure: oversubscription.backend.leaf, value: 1, assumed: "A port up for each port down."}}
  - {{figure: oversubscription.backend.bleaf, value: 1, assumed: "A port up for each port down."}}
"""

# Rail-optimised: nodes with eight rails below leaves with ports of 400G, trays with four below others of 800G.
RAILED = """version: 1
name: two-generations
site: {domain: lab.example.net, rack_units: 52}
nodes:
  - name: hopper
    model: hgx-h200
    role: node
    count: 32
    prefix: h
    levels: [{name: rack, of: 4, within: cluster}, {name: pod, of: 4}]
  - name: tray
    model: gb300-nvl72-tray
    role: node
    count: 36
    prefix: t
    levels: [{name: domain, of: 18}]
fabrics:
  - name: backend
    technology: roce
    mtu: 9000
    attach: [{nodes: hopper, nics: backend}, {nodes: tray, nics: backend}]
    pfc_watchdog: {detection_ms: 200, recovery_ms: 100}
    tiers:
      - role: leaf
        model: sn4700
        per: pod
        join: rail
        up: {links: 16, speed_gbps: 400, to: [spine]}
        asn: {base: 4200100000, per: switch}
      - role: bleaf
        model: sn5600
        per: domain
        join: rail
        up: {links: 20, speed_gbps: 800, to: [spine]}
        asn: {base: 4200110000, per: switch}
      - {role: spine, model: sn5600, per: cluster, count: 8, asn: {base: 4200000100, per: tier}}
    addressing:
      loopbacks: "10.255.0.0/24"
      links: "10.248.0.0/16"
      hosts: "10.0.0.0/16"
      hosts_per_switch: 26
      host_links: point-to-point
    classes:
      - {name: rdma, dscp: [26], queue: 3, priority: 3, weight: 80}
      - {name: control, dscp: [48], queue: 6, strict: true}
      - {name: other, dscp: ["0-25", "27-47", "49-63"], queue: 0, weight: 20}
"""


def spec_text(system: str) -> str:
    """The lab's spec with switches of one system."""
    slow, fast = MODELS[system]
    return _SPEC.format(slow=slow, fast=fast)


@cache
def mixed_plan(system: str) -> Plan:
    """The lab's plan with switches of one system."""
    file = Path(mkdtemp()) / "cluster.yaml"
    file.write_text(spec_text(system))
    return build_plan(load_spec(file))
