"""Collectives on small fabrics: by hand, conserved, drained, and true for whatever is drawn."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.simulate.networks import DRAINED, TWO_UPLINKS, network

from clusterwright.extras.simulate.choices import HASHES, PLACEMENTS
from clusterwright.extras.simulate.collective import SeedResult, Simulation, simulate
from clusterwright.extras.simulate.flows import FlowTransport
from clusterwright.extras.simulate.network import HOST, FabricGraph
from clusterwright.extras.simulate.summary import summarise
from clusterwright.extras.simulate.traffic import Traffic, algorithm_for, phases, place
from clusterwright.finding import ClusterwrightError

RING = Traffic("all-gather", "ring")
RACKS = ("rtsw-p00r00", "rtsw-p00r01")
UPPERS = ("ctsw-p00-00", "ctsw-p00-01")


def ask(net: FabricGraph, hashing: str, qps: int, ranks: int = 32, seed: int = 0, **more: object) -> SeedResult:
    traffic = more.get("traffic", RING)
    placement = more.get("placement", "linear")
    assert isinstance(traffic, Traffic)
    assert isinstance(placement, str)
    return simulate(net, Simulation(traffic, FlowTransport(hashing, qps), ranks, placement), (seed,))[0]


def loads_of(net: FabricGraph, outcome: SeedResult, near: str, far: str) -> list[float]:
    """The loads of the links from one device to another."""
    return [
        float(outcome.load[link])
        for link in range(len(net.head))
        if (name := net.link_name(link)).startswith(f"{near} ") and f"> {far} " in name
    ]


def test_two_racks_with_two_uplinks_by_hand() -> None:
    """A ring of 4 nodes: node 1 of rack 0 sends 8 gigabits to rack 1, node 1 of rack 1 sends 8 back; the other two
    hops stay in their racks. Slices 0 to 7 of the destination alternate between the two uplinks: 4 on each."""
    net = network(TWO_UPLINKS)
    outcome = ask(net, "path-pinning", 1)
    for rack, other in (("rtsw-p00r00", "rtsw-p00r01"), ("rtsw-p00r01", "rtsw-p00r00")):
        for upper in ("ctsw-p00-00", "ctsw-p00-01"):
            assert loads_of(net, outcome, rack, upper) == [4.0]
            assert loads_of(net, outcome, upper, other) == [4.0]
        assert sum(loads_of(net, outcome, rack, "ctsw-p00-00")) == 4.0
    assert loads_of(net, outcome, "gpu-p00r00n0", "rtsw-p00r00") == [1.0] * 8
    assert outcome.seconds == pytest.approx(4 / 400)
    assert outcome.share == pytest.approx(1.0)
    assert outcome.line_rate_share == pytest.approx(1 / 4)
    # 16 of the 32 connections stay in their racks and take a quarter of the time of the others.
    assert outcome.average_seconds == pytest.approx((1 / 400 + 4 / 400) / 2)


def test_a_hash_that_collides_costs_what_the_collision_costs() -> None:
    net = network(TWO_UPLINKS)
    for seed in range(10):
        outcome = ask(net, "ecmp", 1, seed=seed)
        up = [loads_of(net, outcome, rack, upper)[0] for rack in RACKS for upper in UPPERS]
        assert up[0] + up[1] == up[2] + up[3] == 8
        assert outcome.share == pytest.approx(4 / max(up))


def test_two_nodes_in_a_rack_meet_nobody() -> None:
    outcome = ask(network(), "ecmp", 1, ranks=16)
    assert outcome.share == outcome.line_rate_share == outcome.average_share == 1.0


def test_a_drained_switch_carries_nothing_and_halves_the_fabric() -> None:
    net = network(f"{TWO_UPLINKS}\n{DRAINED}")
    assert not any("ctsw-p00-01" in net.link_name(link) for link in range(len(net.head)))
    outcome = ask(net, "e-ecmp", 4)
    assert loads_of(net, outcome, "rtsw-p00r00", "ctsw-p00-00") == [8.0]
    assert outcome.line_rate_share == pytest.approx(1 / 8)
    assert outcome.share == 1.0  # there is nothing left to choose from


def test_a_link_out_of_service_is_gone_from_its_group_alone() -> None:
    whole = network()
    port = next(cable.a.port for cable in whole.cables if cable.a.device == "rtsw-p00r00" and cable.a.side == "up")
    net = network(f"exceptions: [{{device: rtsw-p00r00, port: {port}, state: drained, reason: a test}}]")
    assert len(net.cables) == len(whole.cables) - 1
    outcome = ask(net, "e-ecmp", 16, seed=3)
    used = [link for link in np.flatnonzero(outcome.load).tolist() if net.link_name(link).startswith("rtsw-p00r00 ")]
    assert not any(net.link_name(link).startswith(f"rtsw-p00r00 {port} ") for link in used)
    assert sum(loads_of(net, outcome, "rtsw-p00r00", "ctsw-p00-00")) > 0


def test_the_far_side_avoids_a_switch_that_lost_its_link() -> None:
    whole = network(TWO_UPLINKS)
    port = next(c.a.port for c in whole.cables if (c.a.device, c.b.device) == ("rtsw-p00r01", "ctsw-p00-01"))
    drained = f"exceptions: [{{device: rtsw-p00r01, port: {port}, state: drained, reason: a test}}]"
    net = network(f"{TWO_UPLINKS}\n{drained}")
    outcome = ask(net, "e-ecmp", 16)
    for near, far in (("rtsw-p00r00", "ctsw-p00-00"), ("ctsw-p00-00", "rtsw-p00r00")):
        assert loads_of(net, outcome, near, far) == [8.0]
    assert loads_of(net, outcome, "rtsw-p00r00", "ctsw-p00-01") == [0.0]
    # Another pod still has both switches to come down by.
    placed = ask(net, "e-ecmp", 16, ranks=64)
    assert loads_of(net, placed, "ctsw-p00-01", "rtsw-p00r00")[0] > 0


def test_nodes_out_of_service_take_no_part() -> None:
    net = network("exceptions: [{device: gpu-p00r00n1, state: drained, reason: a test}]")
    assert "gpu-p00r00n1" not in {node.device.name for node in net.nodes}
    with pytest.raises(ClusterwrightError, match="has 7 in service"):
        ask(net, "ecmp", 1, ranks=64)


def test_racks_without_a_path_are_told() -> None:
    both = ", ".join(f"{{device: {name}, state: drained, reason: a test}}" for name in UPPERS)
    with pytest.raises(ClusterwrightError, match="no cable in service leads on to rtsw-p00r01"):
        ask(network(f"exceptions: [{both}]"), "ecmp", 1)


@pytest.mark.parametrize(("ranks", "message"), [(12, "not whole nodes of 8"), (8, "a collective"), (640, "has 8")])
def test_jobs_that_do_not_fit_are_refused(ranks: int, message: str) -> None:
    with pytest.raises(ClusterwrightError, match=message):
        ask(network(), "ecmp", 1, ranks=ranks)


def test_what_does_not_exist_is_refused() -> None:
    with pytest.raises(ClusterwrightError, match="all-to-all has no ring"):
        algorithm_for("all-to-all", "ring")
    with pytest.raises(ClusterwrightError, match="power of two"):
        ask(network(), "ecmp", 1, ranks=24, traffic=Traffic("all-reduce", "recursive-doubling"))
    with pytest.raises(ClusterwrightError, match="every node cannot be fragmented"):
        ask(network(), "ecmp", 1, ranks=64, placement="fragmented")


def test_every_pair_of_an_all_to_all_meets_once() -> None:
    net = network()
    placement = place(net, (), 64, "linear", 0)
    found = phases(Traffic("all-to-all", "pairwise"), placement)
    pairs = [pair for phase in found for pair in zip(phase.source.tolist(), phase.target.tolist(), strict=True)]
    assert len(pairs) == len(set(pairs)) == 8 * 7 * 8
    across = phases(Traffic("all-to-all", "pairwise", pxn=False), placement)
    assert sum(len(phase.source) for phase in across) == 8 * 7 * 64
    assert sum(len(phase.source) * phase.amount for phase in across) == pytest.approx(8 * 7 * 8)


def test_recursive_doubling_pairs_nodes_both_ways() -> None:
    net = network()
    placement = place(net, (), 64, "linear", 0)
    found = phases(Traffic("all-reduce", "recursive-doubling"), placement)
    assert [phase.amount for phase in found] == [1.0, 2.0, 4.0]
    for phase in found:
        there = set(zip(phase.source.tolist(), phase.target.tolist(), strict=True))
        assert there == {(target, source) for source, target in there}


@settings(max_examples=100, derandomize=True, database=None, deadline=None)
@given(
    hashing=st.sampled_from(HASHES),
    qps=st.integers(1, 20),
    nodes=st.integers(2, 8),
    placement=st.sampled_from(PLACEMENTS),
    changes=st.sampled_from(["", TWO_UPLINKS, DRAINED]),
    collective=st.sampled_from(["all-gather", "all-to-all"]),
    channels=st.integers(1, 3),
    seed=st.integers(0, 2**32 - 1),
)
def test_whatever_is_simulated(
    hashing: str, qps: int, nodes: int, placement: str, changes: str, collective: str, channels: int, seed: int
) -> None:
    net = network(changes)
    if placement == "fragmented" and nodes == 8:
        nodes = 7
    traffic = Traffic(collective, algorithm_for(collective, None), channels)
    outcome = ask(net, hashing, qps, ranks=8 * nodes, seed=seed, traffic=traffic, placement=placement)
    # What goes into a switch comes out of it, whether hashed or spread evenly.
    for load in (outcome.load, outcome.even_load, outcome.job_load):
        inside = net.tail != HOST, net.head != HOST
        out_of = np.bincount(net.tail[inside[0]], weights=load[inside[0]], minlength=len(net.switches))
        into = np.bincount(net.head[inside[1]], weights=load[inside[1]], minlength=len(net.switches))
        assert np.allclose(into, out_of)
    # Nodes send and receive the same, however the fabric spreads it.
    at_nics = (net.tail == HOST) | (net.head == HOST)
    assert np.allclose(outcome.load[at_nics], outcome.even_load[at_nics])
    assert outcome.load[net.tail == HOST].sum() == pytest.approx(outcome.load[net.head == HOST].sum())
    # A neighbour only adds; no collective beats its NICs; the average connection is no slower than the slowest.
    assert (outcome.load >= outcome.job_load - 1e-9).all()
    assert outcome.line_rate_share <= 1 + 1e-9
    assert outcome.average_seconds <= outcome.seconds + 1e-9
    # These fabrics are symmetrical: nothing is better than spreading evenly.
    assert outcome.share <= 1 + 1e-9
    again = ask(net, hashing, qps, ranks=8 * nodes, seed=seed, traffic=traffic, placement=placement)
    assert (again.load == outcome.load).all()


def test_a_summary_names_the_fullest_links() -> None:
    net = network()
    outcomes = simulate(net, Simulation(RING, FlowTransport("ecmp", 1), 32), (0, 1, 2))
    summary = summarise(net, outcomes, links=4)
    assert [layer.name for layer in summary.layers] == ["node > rtsw", "rtsw > node", "rtsw > ctsw", "ctsw > rtsw"]
    assert summary.layers[0].spread.highest == 1.0
    assert all(layer.even_spread == 1.0 for layer in summary.layers)
    assert len(summary.worst) == 4
    worst = summary.worst[0]
    assert worst.times_ideal == pytest.approx(1 / summary.share_of_ideal.lowest)
    slowest = min(outcomes, key=lambda outcome: outcome.share)
    names = [net.link_name(link) for link in range(len(net.head))]
    assert float(slowest.load[names.index(worst.name)]) == slowest.load[net.tail != HOST].max()
