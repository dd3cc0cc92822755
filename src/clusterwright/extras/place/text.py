"""A job's placement as text, JSON, Open MPI's rank file and Slurm's host file."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np

from clusterwright.extras.place.placement import Placement
from clusterwright.extras.place.room import NODE, Room
from clusterwright.extras.place.volumes import streams
from clusterwright.hosts.slurm.hostlist import hostlist
from clusterwright.spec.workload import AXES, Job
from clusterwright.text.columns import aligned_lines

_UNITS = ("B", "kB", "MB", "GB", "TB", "PB", "EB")


@dataclass(frozen=True, slots=True)
class PlacementComparison:
    """A job's placement beside two placements without regard to the topology."""

    cluster: str
    job: Job
    room: Room
    planned: Placement
    linear: Placement
    random: Placement
    seed: int

    @property
    def placements(self) -> tuple[tuple[str, Placement], ...]:
        """All three placements with their names."""
        return ("planned", self.planned), ("linear", self.linear), ("random", self.random)


def nodes_of(room: Room, placement: Placement) -> list[str]:
    """The nodes of a placement, in the order of the room."""
    return [room.nodes[index] for index in np.unique(placement.node_of)]


def rankfile(room: Room, placement: Placement) -> str:
    """``rank 5=node slot=5`` a line, by rank; a slot is a GPU."""
    places = zip(placement.node_of.tolist(), placement.gpu_of.tolist(), strict=True)
    return "".join(f"rank {rank}={room.nodes[node]} slot={gpu}\n" for rank, (node, gpu) in enumerate(places))


def hostfile(room: Room, placement: Placement) -> str:
    """The node of each rank, a line a rank, in the format of SLURM_HOSTFILE."""
    return "".join(f"{room.nodes[node]}\n" for node in placement.node_of.tolist())


def text(comparison: PlacementComparison) -> str:
    """The whole comparison as text."""
    job, room = comparison.job, comparison.room
    used = nodes_of(room, comparison.planned)
    nodes_in_use = f"{len(used):,} of {len(room.nodes):,} nodes in service"
    lines = [
        f"{job.name} on {comparison.cluster}: {job.ranks:,} ranks on {nodes_in_use}",
        f"domains used: {_domains(room, comparison.planned)}",
    ]
    if room.left_out:
        lines.append(f"left out: {hostlist(room.left_out)}")
    lines += [
        "",
        *_axes(comparison),
        "",
        "Bytes of a step by the highest layer that they cross",
        *_table(_layer_rows(comparison)),
        "",
        f"nodes: {hostlist(used)}",
    ]
    return "\n".join(lines)


def as_document(comparison: PlacementComparison) -> dict[str, Any]:
    """The comparison as JSON; ``ranks`` has node and GPU of each rank, an entry for consecutive ranks on a node."""
    job, room = comparison.job, comparison.room
    return {
        "cluster": comparison.cluster,
        "job": job.name,
        "axes": {axis: job.sizes[axis] for axis in AXES},
        "layers": list(room.layers),
        "sent_bytes_per_rank": _sent_by_axis(job),
        "seed": comparison.seed,
        "bytes": {
            name: {
                "by_layer": list(placement.bytes_by_layer()),
                "by_axis": {k: list(v) for k, v in placement.bytes_by_axis.items()},
            }
            for name, placement in comparison.placements
        },
        "left_out": list(room.left_out),
        "nodes": nodes_of(room, comparison.planned),
        "ranks": _runs(room, comparison.planned),
    }


def _sent_by_axis(job: Job) -> dict[str, float]:
    """Bytes from one rank in a step, by axis."""
    sent: dict[str, float] = {}
    for stream in streams(job):
        sent[stream.axis] = stream.sent_bytes * 2 if stream.both_ways else stream.sent_bytes
    return sent


def _runs(room: Room, placement: Placement) -> list[dict[str, Any]]:
    places = list(zip(placement.node_of.tolist(), placement.gpu_of.tolist(), strict=True))
    runs = []
    for node, ranks in groupby(range(len(places)), key=lambda rank: places[rank][0]):
        run = list(ranks)
        runs.append({"node": room.nodes[node], "first_rank": run[0], "gpus": [places[rank][1] for rank in run]})
    return runs


def _domains(room: Room, placement: Placement) -> str:
    used = np.unique(placement.node_of)
    parts = [
        f"{len(np.unique(labels[used])):,} of {len(np.unique(labels)):,} × {name}"
        for name, labels in zip(room.layers[1:], room.domains, strict=False)
    ]
    return ", ".join(reversed(parts)) or "one switch for all"


def _axes(comparison: PlacementComparison) -> list[str]:
    """Each axis: ranks, bytes of one rank, and the share of its traffic by highest layer."""
    sent = _sent_by_axis(comparison.job)
    rows = [["axis", "ranks", "sent by a rank", *(_layer(name) for name in comparison.room.layers)]]
    for axis, by_layer in comparison.planned.bytes_by_axis.items():
        total = sum(by_layer)
        shares = [f"{part / total:.1%}" if part else "–" for part in by_layer]
        rows.append([axis, f"{comparison.job.sizes[axis]:,}", _bytes(sent[axis]), *shares])
    return ["What travels along each axis in a step, and the layer that it climbs to", *_table(rows)]


def _layer_rows(comparison: PlacementComparison) -> list[list[str]]:
    rows = [["layer", "planned", "linear", f"random ({comparison.seed})"]]
    columns = [placement.bytes_by_layer() for _, placement in comparison.placements]
    for number, name in enumerate(comparison.room.layers):
        rows.append([_layer(name), *(_bytes(column[number]) if column else "–" for column in columns)])
    return rows


def _layer(name: str) -> str:
    if name == NODE:
        return "NVLink (in a node)"
    if name == "cluster":
        return "across the cluster"
    return f"inside a {name}"


def _table(rows: list[list[str]]) -> list[str]:
    return [f"  {line}" for line in aligned_lines(rows, numbers_right=True)]


def _bytes(amount: float) -> str:
    unit = 0
    while amount >= 1000 and unit < len(_UNITS) - 1:
        amount /= 1000
        unit += 1
    return f"{amount:,.3g} {_UNITS[unit]}" if amount else "–"
