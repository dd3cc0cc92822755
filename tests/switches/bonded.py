"""lab-roce with bonds of two ports at every host of its frontend, whose rack switches run one system or another."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import mkdtemp

from tests.plans import plan_with

from clusterwright.plan.model import Plan

RACK_SWITCHES = {
    "eos": "model: dcs-7804r3, up: {blocks: null}",
    "fboss": "model: wedge400-grand-teton",
    "nvue": "model: sn4700, up: {blocks: null}",
    "sonic": "model: sn4700-sonic, up: {blocks: null}",
}
RACK = "rsw-p00r00"


def overlay(system: str) -> str:
    """What is laid over lab-roce."""
    return f"""
boot: null
nodes:
  - {{name: storage, model: flasharray-c}}
fabrics:
  - name: frontend
    attach:
      - {{nodes: compute, nics: frontend, bond: {{interface: bond0}}}}
      - {{nodes: storage, nics: frontend, bond: {{interface: bond0}}}}
      - {{nodes: services, nics: frontend, bond: {{interface: bond0, rate: slow}}}}
    tiers:
      - {{role: rsw, {RACK_SWITCHES[system]}}}
"""


@cache
def bonded(system: str) -> Plan:
    """The plan with rack switches of a system."""
    return plan_with(Path(mkdtemp()), "lab-roce", overlay(system))
