"""``clusterwright simulate``: the bandwidth of a collective on the planned fabric, flow by flow."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import click

from clusterwright.extras.simulate.choices import (
    ALGORITHMS,
    COLLECTIVES,
    HASHES,
    PATH_PINNING,
    PLACEMENTS,
    RENDERED,
    SOURCE_PORTS,
)
from clusterwright.finding import ClusterwrightError

if TYPE_CHECKING:
    from clusterwright.extras.simulate.collective import Simulation
    from clusterwright.extras.simulate.network import FabricGraph
    from clusterwright.extras.simulate.summary import Summary
    from clusterwright.plan.model import Plan
    from clusterwright.spec.job import NcclProfile

_MOST_QPS = 128  # the maximum of NCCL_IB_QPS_PER_CONNECTION
_MOST_CHANNELS = 64
_MOST_SEEDS = 1000
_LARGEST_SEED = 2**32 - 1


@click.command("simulate")
@click.argument("spec", type=click.Path(path_type=Path))
@click.option("--collective", type=click.Choice(COLLECTIVES), default="all-gather", show_default=True)
@click.option("--ranks", type=click.IntRange(min=1), required=True, help="GPUs of the job, in whole nodes.")
@click.option(
    "--hash",
    "hashing",
    type=click.Choice(HASHES),
    default=RENDERED,
    show_default=True,
    help="How switches pick a link: as configured, or another way as far as they can.",
)
@click.option(
    "--qps",
    type=click.IntRange(1, _MOST_QPS),
    help="Queue pairs a connection.  [default: the NCCL profile's, else 1]",
)
@click.option("--placement", type=click.Choice(PLACEMENTS), default="linear", show_default=True)
@click.option("--algorithm", type=click.Choice(ALGORITHMS), help="[default: ring; pairwise for all-to-all]")
@click.option(
    "--channels",
    type=click.IntRange(1, _MOST_CHANNELS),
    default=1,
    show_default=True,
    help="Connections between two nodes on each rail.",
)
@click.option("--pxn/--no-pxn", default=True, show_default=True, help="All-to-all: cross rails inside nodes.")
@click.option(
    "--source-port",
    type=click.Choice(SOURCE_PORTS),
    default="queue-pair",
    show_default=True,
    help="Whether NICs derive UDP source ports from queue pairs.",
)
@click.option("--fabric", help="[default: the NCCL profile's, else the first RoCE fabric]")
@click.option("--nodes", help="The node group.  [default: those of the NCCL profile on the fabric]")
@click.option("--seed", type=click.IntRange(0, _LARGEST_SEED), default=0, show_default=True, help="The first seed.")
@click.option("--seeds", type=click.IntRange(1, _MOST_SEEDS), default=3, show_default=True, help="How many seeds.")
@click.option("--format", "form", type=click.Choice(("text", "json")), default="text", show_default=True)
def simulate_command(
    spec: Path,
    *,
    collective: str,
    ranks: int,
    hashing: str,
    qps: int | None,
    placement: str,
    algorithm: str | None,
    channels: int,
    pxn: bool,
    source_port: str,
    fabric: str | None,
    nodes: str | None,
    seed: int,
    seeds: int,
    form: str,
) -> int:
    """Simulates one collective of a job on SPEC's RoCE fabric, and shows the spread of its flows over the links.

    Every switch hashes with the function, the seed and the fields of its configuration; drained switches and cables out
    of service carry nothing. The documentation's page on placing jobs describes the model and its limits.

    Exit status: 0 simulated, 2 could not run.
    """
    from clusterwright.cli.planning import plan_with_findings
    from clusterwright.extras.simulate.collective import Simulation, simulate
    from clusterwright.extras.simulate.flows import FlowTransport
    from clusterwright.extras.simulate.network import build_network, fabric_to_simulate
    from clusterwright.extras.simulate.summary import summarise
    from clusterwright.extras.simulate.traffic import Traffic, algorithm_for

    plan, _ = plan_with_findings(spec)
    network = build_network(plan, fabric_to_simulate(plan, fabric))
    profile = _profile(plan, network.fabric, nodes)
    node_groups = profile.nodes if profile is not None else ()
    qps_per_connection = profile.qps_per_connection if profile is not None else 1
    question = Simulation(
        traffic=Traffic(
            collective=collective, algorithm=algorithm_for(collective, algorithm), channels=channels, pxn=pxn
        ),
        transport=FlowTransport(hashing, qps or qps_per_connection, source_port),
        ranks=ranks,
        placement=placement,
        node_groups=(nodes,) if nodes is not None else node_groups,
    )
    drawn = tuple(range(seed, seed + seeds))
    summary = summarise(network, simulate(network, question, drawn))
    if form == "json":
        document = {
            "cluster": plan.name,
            "fabric": network.fabric,
            "question": asdict(question),
            "hashing": list(_hashing(network, hashing)),
            "assumptions": list(_assumptions(network, hashing)),
            "seeds": drawn,
            **asdict(summary),
        }
        click.echo(json.dumps(document, indent=2))
    else:
        click.echo("\n".join(_text(plan.name, network, question, drawn, summary)))
    return 0


def _profile(plan: Plan, fabric: str, nodes: str | None) -> NcclProfile | None:
    """The NCCL profile of the job: that of its node group, else the only one on the fabric."""
    node_groups = [group.name for group in plan.spec.node_groups]
    if nodes is not None and nodes not in node_groups:
        raise ClusterwrightError(f'{plan.name} has no node group "{nodes}"; it has {", ".join(node_groups)}.')
    if nodes is not None:
        profile = plan.spec.nccl(nodes)
        return profile if profile is not None and profile.fabric == fabric else None
    profiles = [profile for profile in plan.spec.nccl_profiles if profile.fabric == fabric]
    if len(profiles) > 1:
        groups = ", ".join(chain.from_iterable(profile.nodes for profile in profiles))
        raise ClusterwrightError(f"Several NCCL profiles use {fabric}. Name a node group with --nodes: {groups}.")
    return next(iter(profiles), None)


def _hashing(network: FabricGraph, requested: str) -> Iterator[dict[str, str]]:
    """For each tier the hashed fields of its switches, and the function."""
    from clusterwright.extras.simulate.hashing import layers_of
    from clusterwright.intent.hashing import hashed_fields

    if network.is_adaptive and requested == RENDERED:
        for layer in network.hashing:
            yield {"tier": layer.tier.role, "fields": "nothing: adaptive routing"}
        return
    if requested == PATH_PINNING:
        for layer in network.hashing:
            yield {"tier": layer.tier.role, "fields": "destination's slice"}
        return
    for tier, simulated in zip(network.hashing, layers_of(network, requested), strict=True):
        if tier.function is not None:
            function = f"{tier.function.name}, seed {tier.function.seed}"
            yield {
                "tier": tier.tier.role,
                "fields": hashed_fields(queue_pairs=simulated.queue_pairs),
                "function": function,
            }


def _assumptions(network: FabricGraph, requested: str) -> tuple[str, ...]:
    """The assumptions of the model of adaptive routing; none for switches with a hash."""
    from clusterwright.extras.simulate.adaptive import ASSUMPTIONS

    return ASSUMPTIONS if network.is_adaptive and requested == RENDERED else ()


def _text(
    cluster: str, network: FabricGraph, question: Simulation, seeds: tuple[int, ...], summary: Summary
) -> Iterator[str]:
    traffic = question.traffic
    yield (
        f"{traffic.collective} ({traffic.algorithm}) of {question.ranks:,} ranks, {question.placement}, "
        f"on {network.fabric} of {cluster}"
    )
    transport = question.transport
    yield (
        f"{transport.hash}, {transport.qps} queue pairs a connection, source port: {transport.source_port}, "
        f"seeds {seeds[0]} to {seeds[-1]}"
    )
    for tier in _hashing(network, transport.hash):
        function = f" ({tier['function']})" if "function" in tier else ""
        yield f"  {tier['tier']} hashes {tier['fields']}{function}"
    for assumption in _assumptions(network, transport.hash):
        yield f"  assumed: {assumption}"
    yield ""
    yield "bandwidth                             lowest  median  highest"
    for name, share in (
        ("of the ideal", summary.share_of_ideal),
        ("of the NICs' line rate", summary.share_of_line_rate),
        ("average connection, of the ideal", summary.average_connection),
    ):
        yield f"  {name:<33}{share.lowest:>9.1%}{share.median:>8.1%}{share.highest:>9.1%}"
    yield ""
    yield "link load, max/mean          links  lowest  median  highest  spread evenly"
    for layer in summary.layers:
        yield (
            f"  {layer.name:<22}{layer.links:>10,}{layer.spread.lowest:>8.2f}{layer.spread.median:>8.2f}"
            f"{layer.spread.highest:>9.2f}{layer.even_spread:>15.2f}"
        )
    yield ""
    yield "worst links                  busy over ideal time   load over even load   seed"
    for link in summary.worst:
        yield f"  {link.name}"
        yield f"{link.times_ideal:>48.2f}×{link.times_even:>21.2f}×{link.seed:>7}"
