"""EOS text against two judges: pyavd writes the same intent, hier-config reads both, the trees must be equal."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyavd
import pytest
from hier_config import Platform, get_hconfig
from tests.plans import plan_of, plan_with
from tests.switches.bonded import bonded
from tests.switches.eos_intent import structured_config

from clusterwright.output.rendering import Rendering
from clusterwright.plan.model import Plan

# Lines that pyavd never writes: LLDP's default, on which the cabling check rests; the API kept off the data network;
# the seed of the hash over equal paths, which no key of its schema stands for.
LLDP = "lldp run"
API = "management api http-commands"
SEED = "ip load-sharing arad "

RADIUS_AND_TWO_KEYS = """
site:
  aaa: {protocol: radius, secret: radius-key}
  operators:
    - name: netops
      keys:
        - "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f first@lab"
        - "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4g second@lab"
"""
MARKING = """
fabrics:
  - name: backend
    classes:
      - name: rdma
        ecn: mark
        marking: {min_kbytes: 1000, max_kbytes: 3000, percent: 10, assumed: "figures of a test"}
"""
AUTHENTICATED = """
site:
  operators:
    - {name: netops, password: netops-hash}
fabrics:
  - name: backend
    tiers:
      - {role: ctsw, up: {authentication: {secret: bgp-other}}}
"""
DRAINED = 'exceptions:\n  - {device: ctsw-p00-00, state: drained, reason: "a test"}\n'


def tree(text: str) -> dict[str, Any]:
    def walk(node: Any) -> dict[str, Any]:
        return {child.text: walk(child) for child in node.children}

    return walk(get_hconfig(Platform.ARISTA_EOS, text))


@pytest.mark.parametrize("name", ["ctsw-p00-00", "ctsw-p01-01", "atsw-00", "ssw-01", "mgmt-00"])
def test_pyavd_writes_the_same_configuration(name: str) -> None:
    judge(plan_of("lab-roce"), name)


@pytest.mark.parametrize(
    ("spec", "name"),
    [("lab-border", "ssw-00"), ("lab-border", "mgmt-00"), ("lab-border", "ssw-01"), ("lab-sonic", "ctsw-p00-00")],
)
def test_pyavd_writes_the_same_borders_and_neighbours(spec: str, name: str) -> None:
    judge(plan_of(spec), name)


@pytest.mark.parametrize("name", ["rsw-p00r00", "rsw-s00", "rsw-v00"])
def test_pyavd_writes_the_same_bonds(name: str) -> None:
    judge(bonded("eos"), name)


@pytest.mark.parametrize("overlay", [RADIUS_AND_TWO_KEYS, MARKING, DRAINED, AUTHENTICATED])
def test_pyavd_writes_the_same_for_other_choices(overlay: str, tmp_path: Path) -> None:
    plan = plan_with(tmp_path, "lab-roce", overlay)
    judge(plan, "ctsw-p00-00")
    assert Rendering(plan).of_device("ctsw-p00-00") != Rendering(plan_of("lab-roce")).of_device("ctsw-p00-00")


def judge(plan: Plan, name: str) -> None:
    intent = structured_config(plan, plan.by_name[name])
    verdict = pyavd.validate_structured_config(intent).validation_result
    assert not verdict.violations, [f"{v.path}: {v.message}" for v in verdict.violations]
    (ours,) = Rendering(plan).of_device(name)
    mine = tree(ours.content.decode())
    theirs = tree(pyavd.get_device_config(intent))
    assert mine.pop(LLDP) == {}
    for line in [line for line in mine if line.startswith(SEED)]:
        assert mine.pop(line) == {}
    assert mine[API].pop("vrf default", {"shutdown": {}}) == {"shutdown": {}}
    assert mine == theirs
