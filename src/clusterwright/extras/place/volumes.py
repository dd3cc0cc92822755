"""Traffic between the ranks of a job in one training step.

Bytes that each rank sends, for t tensor, c context, p pipeline, d data ranks and r replicas, T = tokens of a microbatch
on one rank (microbatch × sequence / c) times the bytes of an activation; a rank has layers / p of the layers:

- tensor: four all-reduces of T × hidden a layer and microbatch, two forward and two backward (Megatron-LM, arXiv
  1909.08053, 3); as a ring each sends 2 (t - 1) / t of it. Sequence parallelism moves as much (arXiv 2205.05198, 4.2).
- context: keys and values of the other ranks are gathered forward, their gradients scattered backward (Llama 3, arXiv
  2407.21783, 3.3.2): 2 × (c - 1) × 2 T × kv_hidden / t a layer and microbatch.
- pipeline: T × hidden / t a microbatch to the next stage, and as much back; v times that where stages are interleaved
  (arXiv 2104.04473, 2.2 and 4.1: each tensor rank sends its share).
- data: weights of W = parameters / (t p) are sharded over n = d × c ranks. fsdp gathers them (once, or twice when they
  are resharded) and scatters gradients: (n - 1) / n × W × (gathers × parameter bytes + gradient bytes); ddp all-reduces
  gradients: 2 (n - 1) / n × W × gradient bytes (ZeRO, arXiv 1910.02054, 7).
- replicas: an all-reduce of the gradients of one shard: 2 (r - 1) / r × W / n × gradient bytes (of W for ddp).

Collectives are rings in the order of ranks, as NCCL builds them between nodes; a smaller job may get a tree instead.
"""

from __future__ import annotations

from dataclasses import dataclass

from clusterwright.spec.workload import Job, ModelFigures


@dataclass(frozen=True, slots=True)
class Stream:
    """Traffic along an axis: ``axes`` span the communicating groups, the first varying fastest within one.

    A ``ring`` sends ``sent_bytes`` from each rank to the next; a chain sends them from each rank to both neighbours.
    """

    axis: str
    axes: tuple[str, ...]
    ring: bool
    sent_bytes: float
    both_ways: bool = False


def streams(job: Job) -> tuple[Stream, ...]:
    """Streams of the job, for every axis with more than one rank."""
    if job.model is None:
        given = job.bytes_per_step
        all_streams = [
            Stream("tensor", ("tensor",), ring=True, sent_bytes=given.get("tensor", 0)),
            Stream("context", ("context",), ring=True, sent_bytes=given.get("context", 0)),
            _pipeline(job, given.get("pipeline", 0) / 2),
            Stream("data", ("data",), ring=True, sent_bytes=given.get("data", 0)),
            Stream("replicas", ("replicas",), ring=True, sent_bytes=given.get("replicas", 0)),
        ]
    else:
        all_streams = _from_model(job, job.model)
    return tuple(stream for stream in all_streams if _is_sent(job, stream))


def _is_sent(job: Job, stream: Stream) -> bool:
    """True for a stream with bytes, along an axis with more than one rank."""
    return stream.sent_bytes > 0 and any(job.sizes[axis] > 1 for axis in stream.axes)


def _pipeline(job: Job, one_way_bytes: float) -> Stream:
    """Traffic between neighbouring stages, both ways; with interleaved stages also between the last and the first."""
    return Stream("pipeline", ("pipeline",), ring=job.virtual_stages > 1, sent_bytes=one_way_bytes, both_ways=True)


def _from_model(job: Job, model: ModelFigures) -> list[Stream]:
    t, c, p, d, r = (job.sizes[axis] for axis in ("tensor", "context", "pipeline", "data", "replicas"))
    tokens = model.microbatch * model.sequence / c
    layers = model.layers / p
    width_bytes = model.hidden * model.activation_bytes
    tensor = layers * model.microbatches * 4 * 2 * (t - 1) / t * tokens * width_bytes
    keys_bytes = 2 * tokens * model.kv_hidden / t * model.activation_bytes
    context = layers * model.microbatches * 2 * (c - 1) * keys_bytes
    pipeline = job.virtual_stages * model.microbatches * tokens * width_bytes / t
    weights = model.parameters / (t * p)
    shards = d * c
    if job.data_parallel == "fsdp":
        gathered = (2 if job.reshard_after_forward else 1) * model.parameter_bytes
        data = (shards - 1) / shards * weights * (gathered + model.gradient_bytes)
        replicated = weights / shards
    else:
        data = 2 * (shards - 1) / shards * weights * model.gradient_bytes
        replicated = weights
    replicas = 2 * (r - 1) / r * replicated * model.gradient_bytes
    return [
        Stream("tensor", ("tensor",), ring=True, sent_bytes=tensor),
        Stream("context", ("context",), ring=True, sent_bytes=context),
        _pipeline(job, pipeline),
        Stream("data", ("context", "data"), ring=True, sent_bytes=data),
        Stream("replicas", ("replicas",), ring=True, sent_bytes=replicas),
    ]
