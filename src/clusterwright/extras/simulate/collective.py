"""A collective on a planned fabric, for several seeds: its time compared with even spreading over the fabric.

All connections of a phase run at once and carry equal data, dealt message by message over their queue pairs, so that
each flow carries its share. A phase ends with its slowest flow. With max-min fair sharing its rate is the share on its
most loaded link, so a phase lasts as long as the transfer over the job's most loaded link. The ideal is the same with
every switch spreading evenly, packet by packet, over all of its equal-cost links.

On a fabric with adaptive routing, switches divide packets by the loads of their links (``adaptive``), except with a
requested hash.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from clusterwright.extras.simulate.adaptive import Spreading, least_loaded
from clusterwright.extras.simulate.choices import RENDERED
from clusterwright.extras.simulate.flows import FlowMaker, FlowTransport, flow_maker
from clusterwright.extras.simulate.loads import flows_on_links, slowest_on_path, spread_evenly
from clusterwright.extras.simulate.network import HOST, FabricGraph, Floats
from clusterwright.extras.simulate.routing import EqualCostGroups, build_routes
from clusterwright.extras.simulate.traffic import NicPlacement, Phase, Traffic, phases, place


@dataclass(frozen=True, slots=True)
class Simulation:
    """A collective of ``ranks`` GPUs on nodes of ``node_groups`` (none: of any), and its placement."""

    traffic: Traffic
    transport: FlowTransport
    ranks: int
    placement: str = "linear"
    node_groups: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SeedResult:
    """One seed's result.

    ``seconds`` is the time of the whole collective when each NIC has one gigabit for each peer of a phase (2^k in the
    k-th phase of recursive doubling), ``ideal_seconds`` that under even spreading, ``line_seconds`` that of the
    NICs alone, ``average_seconds`` that of the average connection without waiting for others. ``load`` is each
    link's data in gigabits over all phases, ``even_load`` the same under even spreading, ``job_load`` the part that is
    the job's own.
    """

    seed: int
    seconds: float
    ideal_seconds: float
    line_seconds: float
    average_seconds: float
    load: Floats
    even_load: Floats
    job_load: Floats

    @property
    def share(self) -> float:
        """The collective's bandwidth as a share of the ideal."""
        return self.ideal_seconds / self.seconds

    @property
    def line_rate_share(self) -> float:
        """The collective's bandwidth as a share of the NICs' rate."""
        return self.line_seconds / self.seconds

    @property
    def average_share(self) -> float:
        """The ideal time over the average connection's."""
        return self.ideal_seconds / self.average_seconds


@dataclass(frozen=True, slots=True)
class _Prepared:
    """Inputs independent of hashes: routes, phases, and the loads of each phase with even spreading."""

    routes: EqualCostGroups
    phases: tuple[Phase, ...]
    evenly: tuple[Floats, ...]


def simulate(network: FabricGraph, question: Simulation, seeds: Sequence[int]) -> tuple[SeedResult, ...]:
    """One outcome a seed; a seed draws queue pair numbers and placement. Switches hash as configured.

    Raises ClusterwrightError for a job larger than the cluster, for nodes without a path between them and for fields
    unsupported by the switches' hash.
    """
    return compare(network, question, (question.transport,), seeds)[0]


def compare(
    network: FabricGraph, question: Simulation, transports: Sequence[FlowTransport], seeds: Sequence[int]
) -> tuple[tuple[SeedResult, ...], ...]:
    """The outcomes of a question under each of ``transports`` instead of its own; shared work is done once.

    Raises ClusterwrightError as ``simulate`` does.
    """
    makers = [None if is_adaptive(network, transport) else flow_maker(network, transport) for transport in transports]
    results: list[list[SeedResult]] = [[] for _ in makers]
    prepared: _Prepared | None = None
    for seed in seeds:
        if prepared is None or question.placement != "linear":
            placement = place(network, question.node_groups, question.ranks, question.placement, seed)
            prepared = _prepare(network, question.traffic, placement)
        for maker, outcomes in zip(makers, results, strict=True):
            outcomes.append(_run(network, maker, prepared, seed))
    return tuple(tuple(outcomes) for outcomes in results)


def is_adaptive(network: FabricGraph, transport: FlowTransport) -> bool:
    """Whether switches divide packets by load: adaptive routing is configured and no hash is requested."""
    return network.is_adaptive and transport.hash == RENDERED


def _prepare(network: FabricGraph, traffic: Traffic, placement: NicPlacement) -> _Prepared:
    involved = np.concatenate([placement.job.ravel(), placement.neighbour.ravel()])
    routes = build_routes(network, np.unique(network.nics.switch[involved]))
    all_phases = phases(traffic, placement)
    evenly = tuple(spread_evenly(network, routes, phase.source, phase.target, phase.amount) for phase in all_phases)
    return _Prepared(routes, all_phases, evenly)


def _run(network: FabricGraph, maker: FlowMaker | None, prepared: _Prepared, seed: int) -> SeedResult:
    """The outcome of a seed; without ``maker`` on a fabric with adaptive routing."""
    links = len(network.head)
    load, job_load, even_load = np.zeros(links), np.zeros(links), np.zeros(links)
    at_nics = (network.tail == HOST) | (network.head == HOST)
    seconds = ideal = line = average = 0.0
    for phase, even in zip(prepared.phases, prepared.evenly, strict=True):
        if maker is None:
            carried = _adaptive_phase(network, prepared.routes, phase)
        else:
            carried = _hashed_phase(maker, prepared.routes, phase, seed)
        job, busy = carried.job, carried.everything / network.gbps
        even_busy = even / network.gbps
        seconds += float(busy[job > 0].max())
        ideal += float(even_busy[job > 0].max())
        line += float(even_busy[(job > 0) & at_nics].max())
        average += carried.average_seconds
        load += carried.everything
        job_load += job
        even_load += even
    return SeedResult(
        seed=seed,
        seconds=seconds,
        ideal_seconds=ideal,
        line_seconds=line,
        average_seconds=average,
        load=load,
        even_load=even_load,
        job_load=job_load,
    )


@dataclass(frozen=True, slots=True)
class _Carried:
    """Loads of a phase in gigabits: the job's and all jobs', and the duration of the job's average connection."""

    job: Floats
    everything: Floats
    average_seconds: float


def _adaptive_phase(network: FabricGraph, routes: EqualCostGroups, phase: Phase) -> _Carried:
    spreading: Spreading = least_loaded(network, routes, phase.source, phase.target)
    measured = slice(0, phase.measured)
    source, target = phase.source[measured], phase.target[measured]
    everything = spreading.loads(phase.source, phase.target) * phase.amount
    slowest = spreading.slowest_on_paths(source, target, everything / network.gbps)
    job = spreading.loads(source, target) * phase.amount
    return _Carried(job=job, everything=everything, average_seconds=float(slowest.mean()))


def _hashed_phase(maker: FlowMaker, routes: EqualCostGroups, phase: Phase, seed: int) -> _Carried:
    job, everything = _phase_loads(maker, routes, phase, seed)
    average = _average(maker, routes, phase, seed, everything / maker.network.gbps)
    return _Carried(job=job, everything=everything, average_seconds=average)


def _phase_loads(maker: FlowMaker, routes: EqualCostGroups, phase: Phase, seed: int) -> tuple[Floats, Floats]:
    """The load of each link in a phase: the job's, and all jobs'."""
    job, neighbour = np.zeros(len(maker.network.head)), np.zeros(len(maker.network.head))
    for is_job, flows in maker.flows(phase, seed):
        counts = flows_on_links(maker.network, routes, maker.chooser, flows)
        if is_job:
            job += counts
        else:
            neighbour += counts
    share = phase.amount / maker.transport.qps
    return job * share, (job + neighbour) * share


def _average(maker: FlowMaker, routes: EqualCostGroups, phase: Phase, seed: int, busy: Floats) -> float:
    """The mean duration of the slowest flow over the job's connections."""
    total = 0.0
    for is_job, flows in maker.flows(phase, seed):
        if is_job:
            slowest = slowest_on_path(maker.network, routes, maker.chooser, flows, busy)
            total += float(slowest.reshape(-1, maker.transport.qps).max(axis=1).sum())
    return total / phase.measured
