"""The traffic of a collective: phases of simultaneous connections between NICs.

The rails of a node work in parallel, as NCCL's channels do: NIC r of a node sends to NIC r of another, data for other
rails crosses the node over NVLink (PXN). Transfers inside a node take no time here.

- ``ring``: every node sends to the next, all the time. All-gather and all-reduce differ in bytes, not in pattern.
- ``recursive-doubling``: in phase k node i and node i xor 2^k exchange 2^k parts; all-reduce passes twice (halving,
  doubling) over the same pairs. For powers of two.
- ``pairwise`` (all-to-all): in step k node i sends to node i + k. NCCL keeps several peers busy at once: WINDOW steps
  make a phase. Of the many phases of a large job SAMPLED, evenly spread, stand for all.

A placement is the nodes of a job in the order of its ranks, and those of a second job in the same racks.

``linear``: the first nodes in the plan's order, racks filled one after the other. ``random``: any nodes of the cluster,
in any order. ``fragmented``: every second slot, on average, of twice as many racks, in the plan's order; a job of the
same kind has the other slots.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from clusterwright.extras.simulate.network import FabricGraph, Ints
from clusterwright.extras.simulate.scramble import scrambled
from clusterwright.finding import ClusterwrightError

_ORDER = 3


@dataclass(frozen=True, slots=True)
class NicPlacement:
    """NIC indexes by [node in rank order, rail]: the job's, and the neighbouring job's (no rows without one)."""

    job: Ints
    neighbour: Ints


def place(network: FabricGraph, node_groups: Collection[str], ranks: int, kind: str, seed: int) -> NicPlacement:
    """Place a job of ``ranks`` GPUs on nodes of ``node_groups`` (none: any).

    Raises ClusterwrightError for ranks of partial nodes, and for more ranks than the cluster has in service.
    """
    nodes = [node for node in network.nodes if not node_groups or node.device.node_group in node_groups]
    if not nodes:
        raise ClusterwrightError(
            f"Fabric {network.fabric} has no GPU node in service with all of its cables; there is nothing to simulate."
        )
    # Rails have one width only across nodes of one model.
    nodes = [node for node in nodes if node.device.model == nodes[0].device.model]
    per_node = nodes[0].gpus
    if ranks % per_node:
        raise ClusterwrightError(
            f"{ranks} ranks are not whole nodes of {per_node}: ask for a multiple, such as "
            f"{max(1, round(ranks / per_node)) * per_node}."
        )
    wanted = ranks // per_node
    if not 2 <= wanted <= len(nodes):
        raise ClusterwrightError(
            f"{ranks} ranks are {wanted} nodes; fabric {network.fabric} has {len(nodes)} in service, and a collective "
            f"needs 2 or more: ask for {2 * per_node} to {len(nodes) * per_node} ranks."
        )
    nics = np.array([node.nics for node in nodes], np.int64)
    no_neighbour = nics[:0]
    if kind == "linear":
        return NicPlacement(nics[:wanted], no_neighbour)
    if kind == "random":
        return NicPlacement(nics[np.argsort(scrambled(seed, _ORDER, len(nodes)))[:wanted]], no_neighbour)
    region = nics[: 2 * wanted]
    if len(region) == wanted:
        raise ClusterwrightError("A job on every node cannot be fragmented: ask for fewer ranks.")
    drawn = np.argsort(scrambled(seed, _ORDER, len(region)))
    rest = region[np.sort(drawn[wanted:])]
    neighbour = rest if len(rest) > 1 else no_neighbour
    return NicPlacement(region[np.sort(drawn[:wanted])], neighbour)


WINDOW = 8
SAMPLED = 8


@dataclass(frozen=True, slots=True)
class Traffic:
    """A collective with its algorithm, and ``channels`` connections to each peer on each rail.

    Without ``pxn`` an all-to-all's data goes from the NIC of the sending GPU straight to that of the receiving one,
    across rails.
    """

    collective: str
    algorithm: str
    channels: int = 1
    pxn: bool = True


@dataclass(frozen=True, slots=True)
class Phase:
    """Simultaneous connections from NIC to NIC, each with ``amount`` gigabits.

    Only the first ``measured`` are the job's; the others belong to its neighbour.
    """

    source: Ints
    target: Ints
    amount: float
    measured: int


def algorithm_for(collective: str, asked: str | None) -> str:
    """The requested algorithm; by default pairwise for all-to-all and a ring for the rest.

    Raises ClusterwrightError for an unsupported combination.
    """
    fits = ("pairwise",) if collective == "all-to-all" else ("ring", "recursive-doubling")
    if asked is not None and asked not in fits:
        raise ClusterwrightError(f"{collective} has no {asked} algorithm; there is {' and '.join(fits)}.")
    return asked or fits[0]


def phases(traffic: Traffic, placement: NicPlacement) -> tuple[Phase, ...]:
    """The collective's phases in order. Raises ClusterwrightError for recursive doubling without a power of two."""
    job, neighbour = placement.job, placement.neighbour
    if traffic.algorithm == "ring":
        return (_phase(traffic, [(job, 1)], [(neighbour, 1)], 1.0),)
    if traffic.algorithm == "recursive-doubling":
        if len(job) & (len(job) - 1):
            raise ClusterwrightError(f"Recursive doubling needs a power of two of nodes; the job has {len(job)}.")
        return tuple(
            _phase(traffic, [(job, -(1 << k))], [(neighbour, 1)], float(1 << k))
            for k in range(len(job).bit_length() - 1)
        )
    windows = [range(first, min(first + WINDOW, len(job))) for first in range(1, len(job), WINDOW)]
    sampled = min(SAMPLED, len(windows))
    picked = [(2 * sample + 1) * len(windows) // (2 * sampled) for sample in range(sampled)]
    sampled_phases: list[Phase] = []
    for window in picked:
        steps = windows[window]
        neighbour_steps = [step % len(neighbour) for step in steps] if len(neighbour) else []
        of_neighbour = [(neighbour, step) for step in neighbour_steps if step]
        sampled_phases.append(_phase(traffic, [(job, step) for step in steps], of_neighbour, 1.0))
    return tuple(sampled_phases)


def _phase(traffic: Traffic, job: list[tuple[Ints, int]], neighbour: list[tuple[Ints, int]], amount: float) -> Phase:
    """Connections of node i to node i + step (i xor -step for a negative step), of the job, then of its neighbour."""
    across = traffic.algorithm == "pairwise" and not traffic.pxn
    measured_pairs = [_connections(nics, step, across=across) for nics, step in job]
    other = [_connections(nics, step, across=across) for nics, step in neighbour if len(nics) > 1]
    source = np.concatenate([pair[0] for pair in measured_pairs + other]).repeat(traffic.channels)
    target = np.concatenate([pair[1] for pair in measured_pairs + other]).repeat(traffic.channels)
    rails = job[0][0].shape[1] if across else 1
    measured = sum(len(pair[0]) for pair in measured_pairs) * traffic.channels
    return Phase(source=source, target=target, amount=amount / traffic.channels / rails, measured=measured)


def _connections(nics: Ints, step: int, *, across: bool) -> tuple[Ints, Ints]:
    count, rails = nics.shape
    nodes = np.arange(count)
    peers = nics[nodes ^ -step if step < 0 else (nodes + step) % count]
    if not across:
        return nics.ravel(), peers.ravel()
    return np.repeat(nics, rails, axis=1).ravel(), np.tile(peers, (1, rails)).ravel()
