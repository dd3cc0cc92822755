"""Where a pod's tier has no switch around a rack, its uplinks lead past it: rules take what such links are."""

from __future__ import annotations

import pytest

from clusterwright import data_files
from clusterwright.intent.hashing import hashing_of
from clusterwright.intent.headroom import headroom_cells
from clusterwright.plan.skeleton import FabricSkeleton, build_skeleton
from clusterwright.rules.transport.transport import promised as promised_headroom
from clusterwright.spec.load import load_spec

OVERLAY = """version: 1
extends: %s
name: lab-past
nodes:
  - {name: spare, model: grand-teton-h100, role: node, count: 2, prefix: spare, levels: [{name: rack, of: 2, code: x}]}
fabrics:
  - name: backend
    attach:
      - {nodes: compute, nics: backend}
      - {nodes: spare, nics: backend}
    tiers:
      - {role: rtsw, up: {length_m: 500}}
"""


@pytest.fixture(scope="module")
def skeleton(tmp_path_factory: pytest.TempPathFactory) -> FabricSkeleton:
    file = tmp_path_factory.mktemp("past") / "past.yaml"
    file.write_text(OVERLAY % (data_files.folder("inventory") / "lab-roce.yaml"))
    found = next(fabric for fabric in build_skeleton(load_spec(file)).fabrics if fabric.fabric.name == "backend")
    assert [(low.role, high.role) for low, high in found.joined_tiers()] == [
        ("rtsw", "ctsw"),
        ("rtsw", "atsw"),
        ("ctsw", "atsw"),
    ]
    return found


def test_a_tier_above_chooses_among_several_cables_to_a_rack(skeleton: FabricSkeleton) -> None:
    top = hashing_of(skeleton.fabric, skeleton.joined_tiers())[-1]
    assert top.chooses  # sixteen cables of a rack switch go to two switches
    others = [pair for pair in skeleton.joined_tiers() if pair[0].role != "rtsw"]
    assert not hashing_of(skeleton.fabric, others)[-1].chooses


def test_headroom_at_the_top_is_for_the_longest_cable_that_ends_there(skeleton: FabricSkeleton) -> None:
    top = len(skeleton.fabric.tiers) - 1
    longest = {(skeleton.fabric.name, top, "down"): 500.0}
    ports, promised = promised_headroom(skeleton.fabric, skeleton, top, longest)
    lengths = {tier.role: tier.up.side.length_m for tier in skeleton.fabric.tiers if tier.up is not None}
    assert lengths["rtsw"] > lengths["ctsw"]
    least = headroom_cells(400, lengths["rtsw"], skeleton.fabric.mtu)
    assert promised >= ports * least
