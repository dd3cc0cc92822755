"""Two tiers of leaves below one spine, on real routers: every pair of nodes meets, also without a spine."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.lab.twins import lab, twin_of
from tests.plan.mixed_leaves import LEAF, OTHER_LEAF, SPINE, spec_text

from clusterwright.extras.lab.check import kernel_routes
from clusterwright.extras.lab.cut import Cut
from clusterwright.extras.lab.namespaces import namespaces_named
from clusterwright.extras.lab.running import folder_of
from clusterwright.extras.lab.twin import namespace_prefix

NAME = "mixed-twin"
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f ops@example"
# Nodes of both generations with an image, so that the twin has their namespaces and filters.
HOSTS = f"""
nodes:
  - {{name: hopper, zone: compute, image: training}}
  - {{name: blackwell, zone: compute, image: training}}
site: {{operators: [{{name: ops, role: admin, keys: ["{KEY}"]}}]}}
zones:
  - {{name: compute, kind: compute, nodes: [blackwell, hopper]}}
  - {{name: desk, prefixes: ["10.240.0.0/16"], fabrics: [backend]}}
flows:
  - {{name: rdma, from: compute, to: compute, protocol: udp, ports: [4791], owner: us, reason: "training"}}
  - {{name: ssh, from: desk, to: compute, protocol: tcp, ports: [22], owner: us, reason: "deployment"}}
images:
  - name: training
    distribution: "Ubuntu 24.04"
    delivery: existing
    limits: {{memlock: unlimited}}
    users: [{{name: ops, uid: 2000, groups: [sudo], operators: [ops]}}]
credentials: {{by_site: "They are put there by hand."}}
"""
UPLINKS = 16  # of each leaf of both kinds, four to each spine


@pytest.fixture(scope="module")
def spec(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("mixed")
    (folder / "base.yaml").write_text(spec_text("eos"))
    path = folder / f"{NAME}.yaml"
    path.write_text(f"extends: base.yaml\nname: {NAME}\n{HOSTS}")
    lab("up", path)
    yield path
    lab("down", path)
    assert not namespaces_named(namespace_prefix(f"{NAME}.backend"))
    assert not folder_of(f"{NAME}.backend").exists()


def test_every_pair_of_adapters_meets_over_either_kind_of_leaf(spec: Path) -> None:
    report = json.loads(lab("check", spec, "--format", "json"))
    assert report["problems"] == []
    # 8 rails of 8 nodes, each adapter with those of its rail on 7 other nodes.
    assert (report["switches"], report["sessions"], report["pairs"]) == (8, 4 * UPLINKS, 8 * 8 * 7)
    across = next(trace for trace in report["traces"] if trace[0].startswith("h-") and trace[-1].startswith("b-"))
    assert [name.partition("-")[0] for name in across[1:-1]] == [LEAF, SPINE, OTHER_LEAF]
    twin = twin_of(spec, Cut())
    for switch, remote in (("leaf-r00", "bleaf-u00"), ("bleaf-u00", "leaf-r00")):
        assert len(kernel_routes(twin, switch)[twin.racks[remote]]) == UPLINKS


def test_without_a_spine_nothing_is_lost(spec: Path) -> None:
    drained, restored = json.loads(lab("fail", spec, "--format", "json", "--switch", "spine-00"))["changes"]
    # Each of four leaves has a quarter fewer paths to three others.
    assert (drained["narrower"], drained["lost"], restored["lost"]) == (4 * 3, 0, 0)
    assert drained["sent"] > 0
    assert json.loads(lab("check", spec, "--format", "json"))["problems"] == []


def test_a_lost_uplink_narrows_its_leaf_and_its_spine(spec: Path) -> None:
    twin = twin_of(spec, Cut())
    port = next(cable.a.port for cable in twin.cables if cable.a.device == "bleaf-u00")
    failed = json.loads(lab("fail", spec, "--format", "json", "--link", f"bleaf-u00:{port}"))["changes"][0]
    assert (failed["narrower"], failed["lost"]) == (3 + 1, 0)
