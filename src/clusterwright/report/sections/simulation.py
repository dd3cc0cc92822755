"""The chapter on load balancing: the effect of the NCCL profile's number of queue pairs.

A reduced simulation keeps the report quick: one ring over one pod (or another outermost group), a few seeds.
``clusterwright simulate`` runs other cases.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from clusterwright.finding import ClusterwrightError
from clusterwright.intent.hashing import TierHashing, hashed_fields
from clusterwright.report.page import Block, Cell, PageTable, Section, number, plural

if TYPE_CHECKING:
    from clusterwright.extras.simulate.network import FabricGraph
    from clusterwright.plan.model import Plan
    from clusterwright.spec.job import NcclProfile

_SEEDS = (0, 1, 2)
_QUEUE_PAIRS = (4, 16, 32)
_MOST_NODES = 384
_HOW_TO_READ = (
    "The ideal is what the fabric carries when every switch spreads evenly. A collective waits for its slowest flow; "
    "the average connection does not wait. More queue pairs cut a connection into more, smaller flows, which "
    "collide more often and more gently; each costs the NIC memory and completions. The command clusterwright "
    "simulate asks about other jobs, placements and failures."
)


def simulation_section(plan: Plan) -> Section | None:
    """Bandwidth by queue pairs per connection; None if no profile's fabric is hashed Ethernet."""
    hashed = {fabric.name for fabric in plan.spec.fabrics if fabric.technology == "roce"}
    blocks = tuple(_simulated(plan, nccl) for nccl in plan.spec.nccl_profiles if nccl.fabric in hashed)
    return Section("load-balancing", "Load balancing and queue pairs", blocks) if blocks else None


def _simulated(plan: Plan, nccl: NcclProfile) -> Block:
    try:
        return _block(plan, nccl)
    except ClusterwrightError as error:
        return Block(nccl.name or "", f"Not simulated: {error}")


def _block(plan: Plan, nccl: NcclProfile) -> Block:
    # Only reports with a simulation import numpy.
    from clusterwright.extras.simulate.adaptive import ASSUMPTIONS
    from clusterwright.extras.simulate.choices import ECMP, RENDERED
    from clusterwright.extras.simulate.collective import Simulation, compare
    from clusterwright.extras.simulate.flows import FlowTransport
    from clusterwright.extras.simulate.hashing import layers_of
    from clusterwright.extras.simulate.network import build_network
    from clusterwright.extras.simulate.summary import range_of
    from clusterwright.extras.simulate.traffic import Traffic

    network = build_network(plan, nccl.fabric)
    nodes = [node for node in network.nodes if node.device.node_group in nccl.nodes]
    first = nodes[0].device if nodes else None
    together = [node for node in nodes if first is not None and node.device.pod == first.pod][:_MOST_NODES]
    ranks = sum(node.gpus for node in together)
    rendered = "as rendered"
    transports: tuple[FlowTransport, ...]
    if network.is_adaptive:
        rendered = "none: adaptive routing"
        transports = (FlowTransport(RENDERED, nccl.qps_per_connection),)
    else:
        if all(layer.queue_pairs for layer in layers_of(network, RENDERED)):
            rendered = "E-ECMP"
        queue_pairs = sorted({*_QUEUE_PAIRS, nccl.qps_per_connection})
        transports = (FlowTransport(ECMP, 1), *(FlowTransport(RENDERED, qps) for qps in queue_pairs))
    question = Simulation(Traffic("all-gather", "ring"), transports[0], ranks, node_groups=nccl.nodes)
    suffix = f"-{nccl.name}" if nccl.name is not None else ""
    rows = []
    for transport, outcomes in zip(transports, compare(network, question, transports, _SEEDS), strict=True):
        share = range_of([outcome.share for outcome in outcomes])
        average = range_of([outcome.average_share for outcome in outcomes])
        chosen = transport.hash == RENDERED and transport.qps == nccl.qps_per_connection
        rows.append(
            (
                Cell("ECMP" if transport.hash == ECMP else rendered),
                number(transport.qps),
                Cell(_percent(share.median), "number"),
                Cell(f"{_percent(share.lowest)} to {_percent(share.highest)}", "number"),
                Cell(_percent(average.median), "number"),
                Cell("the profile's", "good") if chosen else Cell("–"),
            )
        )
    table = PageTable(
        name=f"queue-pairs{suffix}",
        caption=f"All-gather in a ring of {plural(len(together), 'node')} ({ranks:,} ranks), share of the ideal",
        columns=("Hash", "Queue pairs", "Median", "Lowest to highest", "Average connection", "Chosen"),
        rows=tuple(rows),
        note=f"Simulated flow by flow with {len(_SEEDS)} seeds. E-ECMP hashes the destination queue pair too.",
    )
    if network.is_adaptive:
        table = replace(table, note=f"Assumed: {'; '.join(ASSUMPTIONS)}.")
        return Block(heading=nccl.name or "", text=_HOW_TO_READ, drawings=(), tables=(table,))
    return Block(heading=nccl.name or "", text=_HOW_TO_READ, drawings=(), tables=(table, _tiers(network, suffix)))


def _tiers(network: FabricGraph, suffix: str) -> PageTable:
    """The fields hashed by switches of each tier, and the reason for hashing no queue pair."""
    rows = tuple(_hashing_row(tier) for tier in network.hashing)
    return PageTable(
        name=f"hashing{suffix}",
        caption="What each tier chooses among equal paths by, from the bottom",
        columns=("Tier", "Model", "Hashes", "Function", "Why not queue pairs"),
        rows=rows,
        note="Tiers take functions of their own, so that one does not find what the other has sorted.",
    )


def _hashing_row(tier: TierHashing) -> tuple[Cell, ...]:
    return (
        Cell(tier.tier.role),
        Cell(tier.tier.model.name),
        Cell(hashed_fields(queue_pairs=tier.queue_pairs)),
        Cell(f"{tier.function.name}, seed {tier.function.seed}" if tier.function is not None else tier.reason),
        Cell(tier.without or "–"),
    )


def _percent(share: float) -> str:
    return f"{share * 100:.0f} %"
