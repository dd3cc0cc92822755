"""Bytes of a step, against figures worked out by hand and against collectives played message by message."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from clusterwright.extras.place.grid import coordinates, edges, rank_at
from clusterwright.extras.place.volumes import streams
from clusterwright.spec.workload import AXES, Job, ModelFigures

LLAMA = ModelFigures(405e9, 126, 16384, 1024, 8192, 1, 16, 2, 2, 4)


def _job(**changes: object) -> Job:
    sizes = {"tensor": 8, "context": 1, "pipeline": 16, "data": 128, "replicas": 1}
    base = Job("llama", "compute", sizes, AXES, "fsdp", False, 1, LLAMA, {}, ())
    return replace(base, **changes)  # type: ignore[arg-type]


def _sent(job: Job) -> dict[str, float]:
    return {stream.axis: stream.sent_bytes for stream in streams(job)}


def test_llama_3_405b_by_hand() -> None:
    sent = _sent(_job())
    activation = 8192 * 16384 * 2
    assert sent["tensor"] == pytest.approx(126 / 16 * 16 * 4 * 2 * 7 / 8 * activation)
    assert sent["pipeline"] == pytest.approx(16 * activation / 8)
    assert sent["data"] == pytest.approx(127 / 128 * 405e9 / 128 * (2 + 4))
    assert set(sent) == {"tensor", "pipeline", "data"}


def test_kinds_of_data_parallelism() -> None:
    weights = 405e9 / 128
    resharded = _sent(_job(reshard_after_forward=True))["data"]
    assert resharded == pytest.approx(127 / 128 * weights * (2 + 2 + 4))
    assert _sent(_job(data_parallel="ddp"))["data"] == pytest.approx(2 * 127 / 128 * weights * 4)
    sizes = {"tensor": 8, "context": 1, "pipeline": 16, "data": 32, "replicas": 4}
    hybrid = _sent(_job(sizes=sizes))
    assert hybrid["data"] == pytest.approx(31 / 32 * weights * 6)
    assert hybrid["replicas"] == pytest.approx(2 * 3 / 4 * weights / 32 * 4)


def test_context_ranks_gather_keys_and_share_the_weights() -> None:
    sizes = {"tensor": 8, "context": 16, "pipeline": 16, "data": 8, "replicas": 1}
    job = _job(sizes=sizes, model=replace(LLAMA, sequence=131072))
    sent = _sent(job)
    assert sent["context"] == pytest.approx(126 / 16 * 16 * 2 * 15 * 2 * 8192 * 1024 / 8 * 2)
    assert sent["data"] == pytest.approx(127 / 128 * 405e9 / 128 * 6)
    data = next(edge for edge in edges(job, streams(job)) if edge.axis == "data")
    assert _length_of_ring(data.source, data.target) == 128


def _length_of_ring(source: np.ndarray, target: np.ndarray) -> int:
    following = dict(zip(source.tolist(), target.tolist(), strict=True))
    here, steps = following[0], 1
    while here:
        here, steps = following[here], steps + 1
    return steps


@pytest.mark.parametrize("members", [2, 3, 8])
def test_a_ring_all_gather_and_reduce_scatter_send_what_the_formulae_say(members: int) -> None:
    """Plays both, shard by shard, and counts what each member sends."""
    shard = 10
    held = [{member} for member in range(members)]
    sent = [0] * members
    for step in range(members - 1):
        moved = [(member - step) % members for member in range(members)]
        for member, piece in enumerate(moved):
            assert piece in held[member]
            sent[member] += shard
        for member, piece in enumerate(moved):
            held[(member + 1) % members].add(piece)
    assert all(len(each) == members for each in held)
    assert sent == [(members - 1) * shard] * members
    sizes = {"tensor": 1, "context": 1, "pipeline": 1, "data": members, "replicas": 1}
    job = _job(sizes=sizes, model=replace(LLAMA, parameters=members * shard))
    assert _sent(job)["data"] == pytest.approx((members - 1) * shard * (2 + 4))  # a gather and a scatter, byte-weighted


def test_ranks_are_numbered_in_the_framework_s_order() -> None:
    job = _job(order=("tensor", "data", "pipeline", "context", "replicas"))
    places = coordinates(job)
    assert places[8].tolist() == [0, 0, 0, 1, 0]
    assert places[8 * 128].tolist() == [0, 0, 1, 0, 0]
    assert rank_at(job, places).tolist() == list(range(job.ranks))


@pytest.mark.parametrize(("virtual_stages", "messages"), [(1, 2 * 15), (2, 2 * 16)])
def test_only_interleaved_pipelines_close_the_ring(virtual_stages: int, messages: int) -> None:
    job = _job(virtual_stages=virtual_stages)
    pipeline = next(edge for edge in edges(job, streams(job)) if edge.axis == "pipeline")
    assert len(pipeline.source) == messages * job.ranks // 16
