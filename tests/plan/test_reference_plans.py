"""The reference clusters at full size: published counts, ports that are known to be full, every invariant."""

from __future__ import annotations

from collections import Counter
from functools import cache

import pytest
from tests.golden_files import assert_golden
from tests.plan.invariants import check_plan
from tests.plan.summary import summary

from clusterwright import data_files
from clusterwright.plan.build import build_plan
from clusterwright.plan.figures import figures
from clusterwright.plan.model import Plan
from clusterwright.plan.skeleton import Skeleton, build_skeleton
from clusterwright.spec.load import load_spec
from clusterwright.spec.model import ClusterSpec

# Published counts; the sources stand in each spec's `expect:`.
COUNTS = {
    "rsc-phase1": {
        "nodes": 760,
        "gpus": 6_080,
        "groups.pod.compute": 38,
        "switches.leaf": 304,
        "switches.director": 20,
        "links.backend.leaf": 6_080,
        "links.backend.director": 6_080,
    },
    "rsc": {
        "nodes": 2_000,
        "gpus": 16_000,
        "groups.pod.compute": 100,
        "switches.leaf": 800,
        "switches.director": 20,
        "links.backend.leaf": 16_000,
        "links.backend.director": 16_000,
        "ports_used.director": 16_000,
    },
    "roce-24k": {
        "nodes": 3_072,
        "gpus": 24_576,
        "groups.rack.compute": 1_536,
        "groups.pod.compute": 8,
        "switches.rtsw": 1_536,
        "switches.ctsw": 8 * 18,
        "links.backend.rtsw": 24_576,
    },
    "ib-24k": {
        "nodes": 3_072,
        "gpus": 24_576,
        "groups.su.compute": 96,
        "switches.leaf": 768,
        "switches.spine": 768,
        "switches.core": 384,
        "links.backend.leaf": 24_576,
        "links.backend.spine": 24_576,
        "links.backend.core": 24_576,
    },
    "lab-roce": {"nodes": 8, "gpus": 64, "groups.rack.compute": 4, "groups.pod.compute": 2, "switches.rtsw": 4},
    "lab-ib": {"nodes": 16, "gpus": 128, "groups.su.compute": 2, "switches.leaf": 16, "switches.spine": 4},
}


@cache
def planned(name: str) -> tuple[ClusterSpec, Skeleton, Plan]:
    spec = load_spec(data_files.folder("inventory") / f"{name}.yaml")
    skeleton = build_skeleton(spec)
    return spec, skeleton, build_plan(spec, skeleton)


def links_by_role(name: str, role: str) -> Counter[tuple[int, int]]:
    """How many devices of a role have so many links (down, up) on the backend."""
    plan = planned(name)[2]
    shapes: Counter[tuple[int, int]] = Counter()
    for device in plan.devices_of(role):
        sides = Counter(
            end.side
            for cable in plan.cables_of[device.name]
            for end in (cable.a, cable.b)
            if end.device == device.name and cable.fabric == "backend"
        )
        shapes[sides["down"], sides["up"]] += 1
    return shapes


@pytest.mark.parametrize("name", COUNTS)
def test_the_published_counts_are_planned(name: str) -> None:
    spec, skeleton, _ = planned(name)
    told = figures(spec, skeleton)
    assert {figure: told[figure] for figure in COUNTS[name]} == COUNTS[name]


@pytest.mark.parametrize("name", COUNTS)
def test_every_reference_plan_keeps_every_promise(name: str) -> None:
    check_plan(*planned(name))


def test_every_rsc_leaf_has_20_links_down_and_20_up() -> None:
    assert links_by_role("rsc", "leaf") == {(20, 20): 800}
    assert links_by_role("rsc-phase1", "leaf") == {(20, 20): 304}


def test_every_rsc_leaf_has_one_link_to_each_director_and_fills_them() -> None:
    plan = planned("rsc")[2]
    pairs = Counter((c.a.device, c.b.device) for c in plan.cables if c.a.side == "up" and c.fabric == "backend")
    assert len(pairs) == 800 * 20
    assert set(pairs.values()) == {1}
    assert links_by_role("rsc", "director") == {(800, 0): 20}


def test_roce_switches_fill_their_ports() -> None:
    assert links_by_role("roce-24k", "rtsw") == {(16, 18): 1_536}
    ctsw = links_by_role("roce-24k", "ctsw")
    assert {down for down, _ in ctsw} == {192}
    assert ctsw.total() == 144
    atsw = links_by_role("roce-24k", "atsw")
    model = planned("roce-24k")[2].devices_of("atsw")[0].model
    ports = sum(len(block.cages) for block in planned("roce-24k")[0].catalogue[model].blocks)
    assert ports == 144
    assert set(atsw) == {(ports, 0)}


def test_infiniband_cores_use_64_of_64_ports() -> None:
    assert links_by_role("ib-24k", "core") == {(64, 0): 384}
    assert links_by_role("ib-24k", "spine") == {(32, 32): 768}
    assert links_by_role("ib-24k", "leaf") == {(32, 32): 768}


@pytest.mark.parametrize("name", ["lab-roce", "lab-ib"])
def test_the_plan_of_a_lab_reads_as_reviewed(name: str) -> None:
    assert_golden(f"plan/{name}.txt", summary(planned(name)[2]).encode())
