"""Placements: the optimum where every one can be tried, less across pods than schedulers without a map elsewhere."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.place.small import best_cost, cases, job, room, uneven
from tests.plans import plan_of, plan_with

from clusterwright.extras.place import placement as placing
from clusterwright.extras.place.grid import edges
from clusterwright.extras.place.placement import Placement, cost, crossing, linear, place, shuffled
from clusterwright.extras.place.room import Room, room_for
from clusterwright.extras.place.volumes import streams
from clusterwright.finding import ClusterwrightError
from clusterwright.plan.model import Plan
from clusterwright.spec.workload import Job

REFERENCE_JOBS = [
    ("roce-24k", "llama3-405b"),
    ("roce-24k", "llama3-405b-long"),
    ("ib-24k", "llama3-70b"),
    ("rsc", "opt-175b"),
]


def _job(plan: Plan, name: str) -> Job:
    found = plan.spec.job(name)
    assert found is not None
    return found


def _is_whole(space: Room, work: Job, placement: Placement) -> None:
    """Every rank has a GPU of its own, and nodes are used wholly."""
    seats = placement.node_of * space.gpus_per_node + placement.gpu_of
    assert len(seats) == work.ranks
    assert len(np.unique(seats)) == work.ranks
    assert len(np.unique(placement.node_of)) * space.gpus_per_node == work.ranks


@given(cases())
@settings(max_examples=25, deadline=None)
def test_a_job_that_fills_its_room_is_placed_as_well_as_can_be(case: tuple[Room, Job]) -> None:
    space, work = case
    placement = place(space, work)
    _is_whole(space, work, placement)
    assume(placement.bytes_by_axis)
    assert cost(placement.bytes_by_axis) == pytest.approx(best_cost(space, work))


@given(
    sizes=st.sampled_from([(3, 2), (4, 2), (3, 1), (2, 2, 1), (2, 1, 1, 1), (4, 1, 1)]),
    axes=st.sampled_from([{"data": 4}, {"data": 2, "pipeline": 2}, {"tensor": 3}, {"pipeline": 4}, {"data": 3}]),
    sent=st.tuples(st.integers(1, 100), st.integers(1, 100)),
)
@settings(max_examples=40, deadline=None)
def test_uneven_rooms_with_nodes_to_spare_are_used_as_well_as_can_be(
    sizes: tuple[int, ...], axes: dict[str, int], sent: tuple[int, int]
) -> None:
    space = uneven(sizes, 1)
    work = job(axes, {"tensor": 7.0, "data": float(sent[0]), "pipeline": float(sent[1])})
    assume(work.ranks <= len(space.nodes))
    talk = edges(work, streams(work))
    tried = (np.array(nodes) for nodes in permutations(range(len(space.nodes)), work.ranks))
    best = min(cost(crossing(space, talk, node_of)) for node_of in tried)
    assert cost(place(space, work).bytes_by_axis) == pytest.approx(best)


@given(cases())
@settings(max_examples=25, deadline=None)
def test_boxes_alone_are_within_twice_the_best(case: tuple[Room, Job]) -> None:
    """Large jobs are not refined: what boxes give before any exchange, in the outermost layer."""
    space, work = case
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(placing, "MOST_RANKS", 0)
        placement = place(space, work)
    assume(placement.bytes_by_axis)
    assert cost(placement.bytes_by_axis)[0] <= 2 * best_cost(space, work)[0] + 1e-9


@pytest.mark.parametrize(("spec", "name"), REFERENCE_JOBS)
def test_the_reference_jobs_cross_less_than_without_a_map(spec: str, name: str) -> None:
    plan = plan_of(spec)
    work = _job(plan, name)
    space = room_for(plan, work)
    planned, straight, drawn = place(space, work), linear(space, work), shuffled(space, work, 1)
    for placement in (planned, straight, drawn):
        _is_whole(space, work, placement)
        assert sum(placement.bytes_by_layer()) == pytest.approx(sum(planned.bytes_by_layer()))
    assert cost(planned.bytes_by_axis) <= cost(straight.bytes_by_axis)
    assert planned.bytes_by_layer()[-1] < drawn.bytes_by_layer()[-1] / 4
    assert planned.bytes_by_axis["tensor"][1:] == (0.0,) * (len(space.layers) - 1)


def test_a_whole_cluster_of_24_576_ranks_is_placed() -> None:
    plan = plan_of("roce-24k")
    work = replace(
        _job(plan, "llama3-405b"), sizes={"tensor": 8, "context": 1, "pipeline": 16, "data": 192, "replicas": 1}
    )
    space = room_for(plan, work)
    placement = place(space, work)
    _is_whole(space, work, placement)
    assert cost(placement.bytes_by_axis) < cost(linear(space, work).bytes_by_axis)


def test_a_job_that_fits_into_a_pod_stays_in_one() -> None:
    plan = plan_of("roce-24k")
    work = replace(
        _job(plan, "llama3-405b"), sizes={"tensor": 8, "context": 1, "pipeline": 4, "data": 96, "replicas": 1}
    )
    space = room_for(plan, work)
    placement = place(space, work)
    pods = {plan.by_name[space.nodes[node]].pod for node in np.unique(placement.node_of)}
    assert len(pods) == 1
    assert placement.bytes_by_layer()[-1] == 0


def test_a_job_takes_the_tightest_pod_that_holds_it() -> None:
    """Four nodes in a pod with five, though another has eight: the large hole stays."""
    space = uneven((8, 5, 8), 2)
    placement = place(space, job({"data": 8}, {"data": 5.0}))
    assert set(space.domains[0][np.unique(placement.node_of)]) == {1}


def test_nodes_out_of_service_are_left_out(tmp_path: Path) -> None:
    overlay = """
exceptions:
  - {group: p00r003, state: drained, reason: "DAC cables are exchanged"}
  - {device: gpu-p00r005n1, state: out-of-service, reason: "GPU fell off the bus"}
"""
    plan = plan_with(tmp_path, "roce-24k", overlay)
    work = _job(plan, "llama3-405b")
    space = room_for(plan, work, failed=["gpu-p01r000n0"])
    gone = {"gpu-p00r003n0", "gpu-p00r003n1", "gpu-p00r005n1", "gpu-p01r000n0"}
    assert set(space.left_out) == gone
    placement = place(space, work)
    _is_whole(space, work, placement)
    assert not gone & {space.nodes[node] for node in placement.node_of}


def test_a_drained_rack_switch_takes_its_nodes_along(tmp_path: Path) -> None:
    overlay = 'exceptions:\n  - {device: rtsw-p00r007, state: drained, reason: "to be exchanged"}\n'
    plan = plan_with(tmp_path, "roce-24k", overlay)
    assert room_for(plan, _job(plan, "llama3-405b")).left_out == ("gpu-p00r007n0", "gpu-p00r007n1")


def test_jobs_without_room_are_refused() -> None:
    space = room((2, 2), 2)
    with pytest.raises(ClusterwrightError, match="need 6 nodes, and 4"):
        place(space, job({"data": 12}, {"data": 1.0}))
    with pytest.raises(ClusterwrightError, match="not whole nodes of 2"):
        place(space, job({"data": 3}, {"data": 1.0}))


def test_a_silent_job_is_placed_too() -> None:
    space = room((2, 2), 2)
    work = job({"data": 8}, {"data": 0.0})
    _is_whole(space, work, place(space, work))


def test_tensor_groups_stay_inside_nvlink_domains(tmp_path: Path) -> None:
    overlay = """\
nodes:
  - {name: compute, nvlink_domain: rack}
jobs:
  - {name: moe, nodes: compute, axes: {tensor: 64, data: 8}, bytes_per_step: {tensor: 4.0e+10, data: 8.0e+9}}
"""
    plan = plan_with(tmp_path, "published/gb200-1su", overlay)
    work = _job(plan, "moe")
    space = room_for(plan, work)

    placement = place(space, work)

    _is_whole(space, work, placement)
    assert space.layers == ("node", "rack", "su", "cluster")
    assert placement.bytes_by_axis["tensor"][2:] == (0.0, 0.0)
    assert linear(space, work).bytes_by_axis["tensor"][2] > 0
