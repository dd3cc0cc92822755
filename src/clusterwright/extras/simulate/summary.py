"""Summary of several seeds: bandwidth, spread of load in each layer of links, and the most loaded links."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np

from clusterwright.extras.simulate.collective import SeedResult
from clusterwright.extras.simulate.network import FabricGraph


@dataclass(frozen=True, slots=True)
class Range:
    """The lowest, middle and highest of a figure over the seeds."""

    lowest: float
    median: float
    highest: float


@dataclass(frozen=True, slots=True)
class Layer:
    """The links of one direction between two tiers.

    ``links`` is the number of links on the job's paths, ``spread`` their largest load over their mean load,
    ``even_spread`` the same with even spreading.
    """

    name: str
    links: int
    spread: Range
    even_spread: float


@dataclass(frozen=True, slots=True)
class CrowdedLink:
    """A link of the job with its ``seed``.

    ``times_ideal`` is its busy time over the ideal time of the whole collective, ``times_even`` its data over that with
    even spreading.
    """

    name: str
    seed: int
    times_ideal: float
    times_even: float


@dataclass(frozen=True, slots=True)
class Summary:
    """Shares of bandwidths (0 to 1), load by layer, and the busiest links, worst first.

    ``average_connection`` is the ideal time over that of a connection without waiting for others.
    """

    share_of_ideal: Range
    share_of_line_rate: Range
    average_connection: Range
    layers: tuple[Layer, ...]
    worst: tuple[CrowdedLink, ...]


def range_of(values: Sequence[float]) -> Range:
    """The range of one figure's values, at least one."""
    return Range(min(values), median(values), max(values))


def summarise(network: FabricGraph, outcomes: Sequence[SeedResult], links: int = 10) -> Summary:
    """The summary of outcomes on ``network``, with the worst ``links`` over all seeds."""
    return Summary(
        share_of_ideal=range_of([outcome.share for outcome in outcomes]),
        share_of_line_rate=range_of([outcome.line_rate_share for outcome in outcomes]),
        average_connection=range_of([outcome.average_share for outcome in outcomes]),
        layers=_layers(network, outcomes),
        worst=_worst(network, outcomes, links),
    )


def _layers(network: FabricGraph, outcomes: Sequence[SeedResult]) -> tuple[Layer, ...]:
    used = np.flatnonzero(np.any([outcome.even_load > 0 for outcome in outcomes], axis=0))
    members: dict[tuple[int, int, str], list[int]] = {}
    for link in used:
        members.setdefault(network.layer(int(link)), []).append(int(link))
    layers = []
    for (_, _, name), links in sorted(members.items()):
        loads = [(outcome.load[links], outcome.even_load[links]) for outcome in outcomes]
        usable = [(load[even > 0], even[even > 0]) for load, even in loads]
        spreads = [float(load.max() / load.mean()) for load, even in usable if len(even)]
        evens = [float(even.max() / even.mean()) for _, even in usable if len(even)]
        layers.append(Layer(name=name, links=len(links), spread=range_of(spreads), even_spread=median(evens)))
    return tuple(layers)


def _worst(network: FabricGraph, outcomes: Sequence[SeedResult], count: int) -> tuple[CrowdedLink, ...]:
    crowded_by_link: dict[int, CrowdedLink] = {}
    for outcome in outcomes:
        busy = np.where(outcome.job_load > 0, outcome.load / network.gbps, 0)
        for link in np.argsort(-busy, kind="stable")[:count].tolist():
            even = float(outcome.even_load[link])
            crowded = CrowdedLink(
                name=network.link_name(link),
                seed=outcome.seed,
                times_ideal=float(busy[link]) / outcome.ideal_seconds,
                times_even=float(outcome.load[link]) / even,
            )
            if link not in crowded_by_link or crowded.times_ideal > crowded_by_link[link].times_ideal:
                crowded_by_link[link] = crowded
    worst_first = sorted(crowded_by_link.values(), key=lambda crowded: (-crowded.times_ideal, crowded.name))
    return tuple(worst_first[:count])
