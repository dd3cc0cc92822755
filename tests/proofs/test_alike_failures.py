"""Failures looked at in parts that stand for others are those of the whole fabric, however uneven it is."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest
from tests.plans import plan_with

from clusterwright.output.rendering import Rendering
from clusterwright.proofs.declaration import Declaration
from clusterwright.proofs.ethernet.failures import least_share
from clusterwright.proofs.ethernet.jobs import job_sizes, worst_job
from clusterwright.proofs.ethernet.network import KINDS, RoutedFabric, RoutedLink, network_of_tree
from clusterwright.proofs.ethernet.stand_ins import StandIns, below, stand_ins
from clusterwright.proofs.ethernet.uplinks import Failure, sampled_doubles, single_cables, single_switches, uplinks_of
from clusterwright.proofs.tree import tree_of

PODS = """
nodes:
  - {name: compute, count: 16}
  - {name: storage, count: 1}
"""


@pytest.fixture(scope="module")
def fabrics(tmp_path_factory: pytest.TempPathFactory) -> tuple[RoutedFabric, ...]:
    """The fabrics of four pods."""
    plan = plan_with(tmp_path_factory.mktemp("pods"), "lab-roce", PODS)
    network = network_of_tree(tree_of(plan.name, list(Rendering(plan).of_kinds(KINDS)), Declaration(plan)))
    return tuple(fabric for fabric in network.fabrics if fabric.links)


def backend(fabrics: tuple[RoutedFabric, ...]) -> RoutedFabric:
    return next(fabric for fabric in fabrics if fabric.name == "rtsw-ctsw-atsw")


def judged(few: StandIns, failures: list[Failure]) -> object:
    """All that is told of some failures, and all that could be."""
    alike = few.alike(failures)
    least, where, cut_off, others = least_share(few, failures, alike)
    told = []
    for size in job_sizes(few.uplinks):
        left, _, unit = worst_job(size, list(alike))
        told.append((size.low, size.high, round(left, 9), unit.level if unit is not None else None))
    return round(least, 9), cut_off, others, told, where


def require_equal(fabric: RoutedFabric) -> StandIns:
    uplinks = uplinks_of(fabric)
    few, every = stand_ins(uplinks), below(uplinks, 0)
    assert len(every.uplinks.fabric.routers) == len(fabric.routers)
    for failures in (single_cables(uplinks), single_switches(uplinks), sampled_doubles(uplinks)[:150]):
        for level in range(len(uplinks.units)):
            assert judged(below(uplinks, level), failures) == judged(every, failures), level
    return few


def test_three_pods_stand_for_four(fabrics: tuple[RoutedFabric, ...]) -> None:
    fabric = backend(fabrics)
    above, pod = 2, 4
    assert len(fabric.routers) == above + 4 * pod
    few = below(uplinks_of(fabric), 2)
    assert [len(alike) for alike in few.kinds] == [4]
    assert len(few.uplinks.fabric.routers) == above + 3 * pod
    assert len(few.alike(single_switches(few.whole))) == above + pod
    for each in fabrics:
        require_equal(each)


def uneven(fabric: RoutedFabric, chance: random.Random) -> RoutedFabric:
    """Some cables are gone, or slower, some switches say nothing, and some hosts are elsewhere."""
    links, routers, nics = list(fabric.links), list(fabric.routers), list(fabric.nics)
    for _ in range(chance.randrange(1, 6)):
        what = chance.randrange(5)
        at = chance.randrange(len(links))
        if what == 0:
            del links[at]
        elif what == 1:
            port = links[at].a_port
            slower = port._replace(speed_gbps=port.speed_gbps / 2)
            links[at] = RoutedLink(links[at].a, slower, links[at].b, links[at].b_port)
        elif what == 2:
            number = chance.randrange(len(routers))
            routers[number] = replace(
                routers[number],
                policies={
                    name: tuple(term._replace(permit=False) for term in policy)
                    for name, policy in routers[number].policies.items()
                },
            )
        elif what == 3:
            gone = chance.randrange(len(routers))
            links = [link for link in links if gone not in (link.a, link.b) or chance.random() < 1 / 4] or links
        else:
            emptied = chance.randrange(len(routers))
            nics = [(nic, switch) for nic, switch in nics if switch != emptied] or nics
    return RoutedFabric(tuple(routers), tuple(links), tuple(nics), fabric.rank)


@pytest.mark.parametrize("seed", range(8))
def test_uneven_fabrics_are_judged_as_if_all_were_looked_at(fabrics: tuple[RoutedFabric, ...], seed: int) -> None:
    chance = random.Random(seed)
    require_equal(uneven(chance.choice(fabrics), chance))


def test_a_pod_unlike_the_others_stands_for_itself(fabrics: tuple[RoutedFabric, ...]) -> None:
    fabric = backend(fabrics)
    uplinks = uplinks_of(fabric)
    odd = int(np.flatnonzero(fabric.rank[uplinks.low] == 1)[0])
    cut = RoutedFabric(fabric.routers, (*fabric.links[:odd], *fabric.links[odd + 1 :]), fabric.nics, fabric.rank)
    assert sorted(len(alike) for alike in require_below(cut).kinds) == [1, 3]


def require_below(fabric: RoutedFabric) -> StandIns:
    require_equal(fabric)
    return below(uplinks_of(fabric), 2)


def test_failures_of_three_things_are_refused(fabrics: tuple[RoutedFabric, ...]) -> None:
    few = stand_ins(uplinks_of(backend(fabrics)))
    with pytest.raises(ValueError, match="3 things fail"):
        few.alike([Failure((0, 1), (2,))])
