"""A collective on a planned fabric, for several seeds: how near it comes to what the fabric could carry.

All connections of a phase run at once and carry equal data, dealt message by message over their queue pairs, so that
each flow carries its share. The slowest flow decides when a phase ends. With max-min fair sharing its rate is the share
on its most crowded link, so a phase lasts as long as the fullest link that the job uses needs for what it was given.
The ideal is the same with every switch spreading evenly, packet by packet, over all of its equal-cost links.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from clusterwright.simulate.hashing import (
    FieldHashes,
    field_hashes,
    pinned_chooser,
    pinned_keys,
    switch_chooser,
)
from clusterwright.simulate.loads import flows_on_links, spread_evenly
from clusterwright.simulate.network import HOST, Floats, Ints, Network
from clusterwright.simulate.placement import Placement, place
from clusterwright.simulate.queue_pairs import (
    FIXED,
    occurrence,
    queue_pair_numbers,
    queue_pair_starts,
    source_ports,
)
from clusterwright.simulate.routing import Routes, build_routes
from clusterwright.simulate.traffic import Phase, Traffic, phases

HASHES = ("ecmp", "e-ecmp", "path-pinning")
SOURCE_PORTS = ("queue-pair", "fixed")
_FLOWS_AT_ONCE = 1 << 21  # bounds memory


@dataclass(frozen=True, slots=True)
class Question:
    """What to simulate. ``qps`` is the number of queue pairs per connection, ``node_group`` None for any."""

    traffic: Traffic
    ranks: int
    hash: str
    qps: int
    placement: str = "linear"
    source_port: str = "queue-pair"
    node_group: str | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """One seed's result.

    ``seconds`` is the time of the whole collective when each NIC has one gigabit for each peer of a phase (2^k in the
    k-th phase of recursive doubling), ``ideal_seconds`` that under even spreading, ``line_seconds`` what the NICs alone
    would take. ``load`` is each link's data in gigabits over all phases, ``even_load`` the same under even spreading,
    ``job_load`` the part that is the job's own.
    """

    seed: int
    seconds: float
    ideal_seconds: float
    line_seconds: float
    load: Floats
    even_load: Floats
    job_load: Floats

    @property
    def share(self) -> float:
        """The collective's bandwidth as a share of the ideal."""
        return self.ideal_seconds / self.seconds

    @property
    def line_rate_share(self) -> float:
        """The collective's bandwidth as a share of what the NICs could send."""
        return self.line_seconds / self.seconds


def simulate(network: Network, question: Question, seeds: Sequence[int]) -> tuple[Outcome, ...]:
    """One outcome a seed; a seed draws switch seeds, queue pair numbers and placement.

    Raises ClusterwrightError for a job that the cluster cannot hold and for nodes that no path joins.
    """
    fields = field_hashes(network, with_queue_pair=question.hash == "e-ecmp")
    done = []
    prepared: tuple[Routes, tuple[Phase, ...], list[Floats]] | None = None
    for seed in seeds:
        if prepared is None or question.placement != "linear":
            placement = place(network, question.node_group, question.ranks, question.placement, seed)
            prepared = _prepared(network, question.traffic, placement)
        done.append(_run(network, question, fields, seed, *prepared))
    return tuple(done)


def _prepared(
    network: Network, traffic: Traffic, placement: Placement
) -> tuple[Routes, tuple[Phase, ...], list[Floats]]:
    """What does not depend on hashes: routes, phases, and what they load when spread evenly."""
    involved = np.concatenate([placement.job.ravel(), placement.neighbour.ravel()])
    routes = build_routes(network, np.unique(network.nics.switch[involved]))
    found = phases(traffic, placement)
    return routes, found, [spread_evenly(network, routes, each.source, each.target, each.amount) for each in found]


def _run(
    network: Network,
    question: Question,
    fields: FieldHashes,
    seed: int,
    routes: Routes,
    every: tuple[Phase, ...],
    evenly: list[Floats],
) -> Outcome:
    links = len(network.head)
    load, job_load, even_load = np.zeros(links), np.zeros(links), np.zeros(links)
    at_nics = (network.tail == HOST) | (network.head == HOST)
    seconds = ideal = line = 0.0
    for phase, even in zip(every, evenly, strict=True):
        job, everything = _phase_loads(network, question, fields, seed, routes, phase)
        seconds += float((everything / network.gbps)[job > 0].max())
        ideal += float((even / network.gbps)[job > 0].max())
        line += float((even / network.gbps)[(job > 0) & at_nics].max())
        load += everything
        job_load += job
        even_load += even
    return Outcome(seed, seconds, ideal, line, load, even_load, job_load)


def _phase_loads(
    network: Network, question: Question, fields: FieldHashes, seed: int, routes: Routes, phase: Phase
) -> tuple[Floats, Floats]:
    """The job's load of each link in a phase, and everybody's."""
    starts = queue_pair_starts(seed, len(network.nics.switch))
    sends, receives = occurrence(phase.source), occurrence(phase.target)
    loads: list[Floats] = [np.zeros(len(network.head)) for _ in range(2)]
    at_once = max(1, _FLOWS_AT_ONCE // question.qps)
    if question.hash == "path-pinning":
        chooser = pinned_chooser(network)
    else:
        width = 2 * network.nics.address.shape[1] + 4 + (3 if question.hash == "e-ecmp" else 0)
        chooser = switch_chooser(network, seed, message_bytes=width)
    bounds = [*range(0, phase.measured, at_once), *range(phase.measured, len(phase.source), at_once), len(phase.source)]
    for first, last in pairwise(bounds):
        part = slice(first, last)
        source, target = phase.source[part], phase.target[part]
        flow_source, flow_target = source.repeat(question.qps), target.repeat(question.qps)
        if question.hash == "path-pinning":
            keys = pinned_keys(network, flow_target)
        else:
            local = queue_pair_numbers(starts, source, sends[part], question.qps, receives=False).ravel()
            remote = queue_pair_numbers(starts, target, receives[part], question.qps, receives=True).ravel()
            ports: Ints = (
                source_ports(local, remote) if question.source_port == "queue-pair" else np.full(len(local), FIXED)
            )
            keys = fields.keys(flow_source, flow_target, ports, remote)
        loads[first >= phase.measured] += flows_on_links(network, routes, chooser, keys, flow_source, flow_target)
    each = phase.amount / question.qps
    job: Floats = loads[0] * each
    everything: Floats = (loads[0] + loads[1]) * each
    return job, everything
