"""Adaptive routing: levels by hand, a switch of packets as oracle, and never worse than a hash on the same fabric."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.simulate.networks import DRAINED, TWO_UPLINKS, network

from clusterwright.extras.simulate.adaptive import fill_to_a_level, least_loaded
from clusterwright.extras.simulate.collective import SeedResult, Simulation, simulate
from clusterwright.extras.simulate.flows import FlowTransport
from clusterwright.extras.simulate.network import FabricGraph, Floats, Ints
from clusterwright.extras.simulate.routing import EqualCostGroups, build_routes
from clusterwright.extras.simulate.traffic import Traffic

LOST_CABLES = """
exceptions:
  - {device: ctsw-p00-00, state: drained, reason: a test}
"""
PACKETS = 400  # of a message, in the oracle


def adaptive(changes: str = "") -> FabricGraph:
    """A lab fabric whose switches choose by load."""
    return replace(network(changes), is_adaptive=True)


def ask(net: FabricGraph, hashing: str = "rendered", seed: int = 0, placement: str = "linear") -> SeedResult:
    question = Simulation(Traffic("all-gather", "ring"), FlowTransport(hashing, 1), 32, placement)
    return simulate(net, question, (seed,))[0]


def without_links(net: FabricGraph, removed: set[int]) -> FabricGraph:
    """The fabric after cables between switches lost their capacity to lead anywhere, by the numbers of their links."""
    kept = [cable for cable in range(len(net.cables)) if cable not in removed]
    links = np.array([link for cable in kept for link in (2 * cable, 2 * cable + 1)])
    position = np.full(len(net.head), -1, np.int64)
    position[links] = np.arange(len(links))
    nics = replace(net.nics, up=position[net.nics.up], down=position[net.nics.down])
    cables = tuple(net.cables[cable] for cable in kept)
    return replace(net, cables=cables, tail=net.tail[links], head=net.head[links], gbps=net.gbps[links], nics=nics)


def uplinks_of(net: FabricGraph, switch: str) -> list[int]:
    """The cables from a switch to those above it."""
    return [number for number, cable in enumerate(net.cables) if cable.a.device == switch]


def packet_by_packet(net: FabricGraph, routes: EqualCostGroups, source: Ints, target: Ints) -> Floats:
    """Loads when each packet, in turn for all messages, goes where the fewest went before it in that speed's time."""
    nics = net.nics
    load = np.zeros(len(net.head))
    for _ in range(PACKETS):
        for sender, receiver in zip(source, target, strict=True):
            load[nics.up[sender]] += 1
            load[nics.down[receiver]] += 1
            switch, goal = int(nics.switch[sender]), int(nics.switch[receiver])
            while switch != goal:
                group = routes.group[switch, routes.column[goal]]
                links = routes.members[routes.start[group] : routes.start[group] + routes.size[group]]
                link = int(links[np.argmin((load[links] + 1) / net.gbps[links])])
                load[link] += 1
                switch = int(net.head[link])
    return load / PACKETS


@pytest.mark.parametrize(
    ("queues", "speeds", "amount", "parts"),
    [
        ([0, 0], [400, 400], 8, [4, 4]),
        ([0, 0], [400, 200], 9, [6, 3]),
        ([2, 0], [1, 1], 4, [1, 3]),
        ([9, 0], [1, 1], 4, [0, 4]),
        ([0, 6, 2], [1, 1, 1], 4, [3, 0, 1]),
    ],
)
def test_links_fill_to_one_level(queues: list[float], speeds: list[float], amount: float, parts: list[float]) -> None:
    filled = fill_to_a_level(np.array(queues, float), np.array(speeds, float), amount)
    assert filled.tolist() == pytest.approx(parts)


def test_two_racks_with_two_uplinks_are_ideal_where_a_hash_collides() -> None:
    net = adaptive(TWO_UPLINKS)
    outcome = ask(net)
    assert outcome.share == pytest.approx(1)
    assert outcome.load.tolist() == pytest.approx(outcome.even_load.tolist())
    assert ask(net, "ecmp").share < 1
    assert outcome.average_share == pytest.approx(ask(network(TWO_UPLINKS), "path-pinning").average_share)


@pytest.mark.parametrize("changes", [TWO_UPLINKS, "", DRAINED, LOST_CABLES])
@pytest.mark.parametrize("placement", ["linear", "random", "fragmented"])
def test_it_is_never_slower_than_a_hash(changes: str, placement: str) -> None:
    net = adaptive(changes)
    for seed in range(3):
        by_load = ask(net, placement=placement, seed=seed)
        by_hash = ask(net, "ecmp", placement=placement, seed=seed)
        assert by_load.seconds <= by_hash.seconds + 1e-12
        assert by_load.load.sum() == pytest.approx(by_hash.load.sum())


@settings(deadline=None, max_examples=25)
@given(st.data())
def test_it_agrees_with_packets_sent_one_by_one(data: st.DataObject) -> None:
    net = network(TWO_UPLINKS)
    ups = [cable for rack in ("rtsw-p00r00", "rtsw-p00r01") for cable in uplinks_of(net, rack)]
    lost = data.draw(st.sets(st.sampled_from(ups), max_size=1))
    slow = data.draw(st.sets(st.sampled_from(ups), max_size=2))
    gbps = net.gbps.copy()
    for cable in slow:
        gbps[2 * cable : 2 * cable + 2] /= 2
    net = without_links(replace(net, gbps=gbps), lost)
    nics = len(net.nics.switch)
    racks = [index for index, switch in enumerate(net.switches) if switch.name.startswith("rtsw-p00")]
    inside = [nic for nic in range(nics) if net.nics.switch[nic] in racks]
    source = np.array(data.draw(st.lists(st.sampled_from(inside), min_size=1, max_size=12)))
    target = np.array([inside[(inside.index(nic) + len(inside) // 2) % len(inside)] for nic in source])
    routes = build_routes(net, np.unique(net.nics.switch[np.concatenate([source, target])]))
    spreading = least_loaded(net, routes, source, target)
    assert np.abs(spreading.loads(source, target) - packet_by_packet(net, routes, source, target)).max() < 0.1
