"""Who sends how much to whom: a collective as phases of connections between NICs that are busy at the same time.

The rails of a node work side by side, as NCCL's channels do: NIC r of a node speaks to NIC r of another, data for other
rails crosses the node over NVLink (PXN). The inside of a node costs nothing here.

- ``ring``: every node sends to the next, all the time. All-gather and all-reduce differ in bytes, not in pattern.
- ``recursive-doubling``: in phase k node i and node i xor 2^k exchange 2^k parts; all-reduce passes twice (halving,
  doubling) over the same pairs. For powers of two.
- ``pairwise`` (all-to-all): in step k node i sends to node i + k. NCCL keeps several peers busy at once: WINDOW steps
  make a phase. Of the many phases of a large job SAMPLED, evenly spread, stand for all.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clusterwright.finding import ClusterwrightError
from clusterwright.simulate.network import Ints
from clusterwright.simulate.placement import NicPlacement

WINDOW = 8
SAMPLED = 8


@dataclass(frozen=True, slots=True)
class Traffic:
    """What to send: ``channels`` connections to each peer on each rail; without ``pxn`` an all-to-all's data goes from
    the NIC of the sending GPU straight to that of the receiving one, across rails."""

    collective: str
    algorithm: str
    channels: int = 1
    pxn: bool = True


@dataclass(frozen=True, slots=True)
class Phase:
    """Connections from NIC to NIC that run at once, each with ``amount`` gigabits. Only the first
    ``measured`` are the job's; the others belong to its neighbour."""

    source: Ints
    target: Ints
    amount: float
    measured: int


def algorithm_for(collective: str, asked: str | None) -> str:
    """The algorithm: the one asked for, or pairwise for all-to-all and a ring for the rest.

    Raises ClusterwrightError for a combination that does not exist.
    """
    fits = ("pairwise",) if collective == "all-to-all" else ("ring", "recursive-doubling")
    if asked is not None and asked not in fits:
        raise ClusterwrightError(f"{collective} has no {asked} algorithm; there is {' and '.join(fits)}.")
    return asked or fits[0]


def phases(traffic: Traffic, placement: NicPlacement) -> tuple[Phase, ...]:
    """The collective's phases, one after the other. Raises ClusterwrightError when the nodes are no power of two."""
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
    picked = [(2 * at + 1) * len(windows) // (2 * sampled) for at in range(sampled)]
    return tuple(
        _phase(
            traffic,
            [(job, step) for step in windows[at]],
            [(neighbour, step % len(neighbour)) for step in windows[at] if len(neighbour) and step % len(neighbour)],
            1.0,
        )
        for at in picked
    )


def _phase(traffic: Traffic, job: list[tuple[Ints, int]], neighbour: list[tuple[Ints, int]], amount: float) -> Phase:
    """Connections of node i to node i + step (i xor -step for a negative step), of the job, then of its neighbour."""
    across = traffic.algorithm == "pairwise" and not traffic.pxn
    own = [_connections(nics, step, across=across) for nics, step in job]
    other = [_connections(nics, step, across=across) for nics, step in neighbour if len(nics) > 1]
    source = np.concatenate([pair[0] for pair in own + other]).repeat(traffic.channels)
    target = np.concatenate([pair[1] for pair in own + other]).repeat(traffic.channels)
    rails = job[0][0].shape[1] if across else 1
    measured = sum(len(pair[0]) for pair in own) * traffic.channels
    return Phase(source, target, amount / traffic.channels / rails, measured)


def _connections(nics: Ints, step: int, *, across: bool) -> tuple[Ints, Ints]:
    count, rails = nics.shape
    nodes = np.arange(count)
    peers = nics[nodes ^ -step if step < 0 else (nodes + step) % count]
    if not across:
        return nics.ravel(), peers.ravel()
    return np.repeat(nics, rails, axis=1).ravel(), np.tile(peers, (1, rails)).ravel()
