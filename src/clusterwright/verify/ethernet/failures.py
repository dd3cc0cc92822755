"""Every single failure of a cable or switch, and a sample of double ones: who is cut off, and what bandwidth remains.

The bandwidth of a bottom switch is what its hosts can send up to the top when every switch spreads over the uplinks it
has left: a switch's share is ``min(1, sum of its parents' shares weighted by Gb/s / Gb/s from below)``. All failures of
a kind are computed at once, one column each, and given as a fraction of the undisturbed bandwidth. Parts that no longer
meet at the top are not looked for: a bottom switch is cut off when nothing it sends can reach a top.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from clusterwright.verify.check import Check, Counterexample, Fact, Verdict
from clusterwright.verify.ethernet.bandwidth import sides
from clusterwright.verify.ethernet.network import KINDS, Fabric, Integers, Link, has_network, network_of_tree
from clusterwright.verify.ethernet.router import example
from clusterwright.verify.tree import RenderedTree

Shares = NDArray[np.float64]
_SEED = 24576
_DOUBLES = 500
_AT_ONCE = 2000  # columns, to bound the memory


@dataclass(frozen=True, slots=True)
class _Failure:
    """What fails together: switches, and cables by their index in the fabric."""

    switches: tuple[int, ...] = ()
    links: tuple[int, ...] = ()


@dataclass(frozen=True, eq=False)
class _Tree:
    """The uplinks of a fabric: lower and upper switch and Gb/s of each cable; ``down`` is what comes from below."""

    fabric: Fabric
    low: Integers
    high: Integers
    gbps: NDArray[np.float64]
    down: NDArray[np.float64]
    leaves: Integers
    tops: NDArray[np.bool_]


def _run(tree: RenderedTree) -> Verdict:
    facts: list[Fact] = []
    found: list[Counterexample] = []
    for fabric in network_of_tree(tree).fabrics:
        if not fabric.links:
            continue
        uplinks = _uplinks(fabric)
        healthy = _shares(uplinks, [_Failure()])[uplinks.leaves, 0]
        cables = _cables(uplinks)
        switches = [_Failure(switches=(at,)) for at in range(len(fabric.routers))]
        for title, failures in (
            ("any cable", cables),
            ("any switch", switches),
            (f"two at once, {_DOUBLES} samples", _doubles(len(fabric.routers), len(fabric.links))),
        ):
            worst, where, cut_off, others = _judge(uplinks, failures, healthy)
            name = fabric.routers[int(uplinks.leaves[where[0]])].device
            what = _name(fabric, failures[where[1]])
            facts.append(
                Fact(f"{fabric.name}: {title} fails, {len(failures):,} cases: bandwidth left for a rack", worst)
            )
            facts.append(Fact(f"{fabric.name}: {title} fails: the worst case", f"{name} without {what}"))
            facts.append(Fact(f"{fabric.name}: {title} fails: racks cut off at most", cut_off))
            if not title.startswith("two"):
                for leaf, column in others:
                    router = fabric.routers[leaf]
                    message = f"is cut off when {_name(fabric, failures[column])} fails"
                    found.append(example(tree, router.device, router.ports_file, (), message))
    return Verdict(tuple(facts), tuple(found))


def _uplinks(fabric: Fabric) -> _Tree:
    ends = fabric.ends
    is_low = fabric.rank[ends[:, 0]] < fabric.rank[ends[:, 1]]
    low, high = np.where(is_low, ends[:, 0], ends[:, 1]), np.where(is_low, ends[:, 1], ends[:, 0])
    gbps = np.array([min(link.a_port.speed_gbps, link.b_port.speed_gbps) for link in fabric.links])
    tops = np.ones(len(fabric.routers), bool)
    tops[low] = False
    leaves = np.flatnonzero((fabric.rank == 0) & ~tops)
    return _Tree(fabric, low, high, gbps, np.maximum(sides(fabric)[0], 1e-9), leaves, tops)


def _cables(uplinks: _Tree) -> list[_Failure]:
    """One failure for each pair of switches that cables join: parallel ones are alike."""
    pairs = uplinks.low * len(uplinks.fabric.routers) + uplinks.high
    return [_Failure(links=(int(at),)) for at in np.unique(pairs, return_index=True)[1]]


def _doubles(switches: int, links: int) -> list[_Failure]:
    chosen = random.Random(_SEED)  # noqa: S311 - a sample of failures that is the same every time, not a secret
    return [
        _Failure((chosen.randrange(switches),), (chosen.randrange(links),))
        if at % 2
        else _Failure(tuple(chosen.sample(range(switches), 2)))
        for at in range(_DOUBLES if switches > 1 else 0)
    ]


def _judge(
    uplinks: _Tree, failures: list[_Failure], healthy: Shares
) -> tuple[float, tuple[int, int], int, list[tuple[int, int]]]:
    """The least share that remains, where (leaf, failure), most racks cut off at once, and who is cut off by others."""
    worst, where, cut_off = np.inf, (0, 0), 0
    others: list[tuple[int, int]] = []
    for start in range(0, len(failures), _AT_ONCE):
        chunk = failures[start : start + _AT_ONCE]
        left = _shares(uplinks, chunk)[uplinks.leaves] / np.maximum(healthy, 1e-9)[:, None]
        own = np.zeros(left.shape, bool)
        for column, failure in enumerate(chunk):
            own[np.isin(uplinks.leaves, failure.switches), column] = True
        left = np.where(own, np.inf, left)
        lost = left <= 0
        cut_off = max(cut_off, int(lost.sum(axis=0).max(initial=0)))
        others += [(int(uplinks.leaves[leaf]), start + int(column)) for leaf, column in np.argwhere(lost)]
        if left.size and left.min() < worst:
            row, place = divmod(int(left.argmin()), left.shape[1])
            worst, where = float(left.min()), (row, start + place)
    return round(worst, 4), where, cut_off, others


def _shares(uplinks: _Tree, failures: list[_Failure]) -> Shares:
    """For each switch (row) and failure (column): the share of what comes from below that can reach the top."""
    count = len(uplinks.fabric.routers)
    shares = np.zeros((count, len(failures)))
    shares[uplinks.tops] = 1
    gone = [(at, column) for column, failure in enumerate(failures) for at in failure.switches]
    cut = [(at, column) for column, failure in enumerate(failures) for at in failure.links]
    up = csr_array((uplinks.gbps, (uplinks.low, uplinks.high)), shape=(count, count))
    rank = uplinks.fabric.rank
    for level in range(int(rank.max()), -1, -1):
        here = np.flatnonzero((rank == level) & ~uplinks.tops)
        reach = up[here] @ shares
        place = {int(at): row for row, at in enumerate(here)}
        for at, column in cut:
            row = place.get(int(uplinks.low[at]))
            if row is not None:
                reach[row, column] -= uplinks.gbps[at] * shares[uplinks.high[at], column]
        shares[here] = np.clip(reach / uplinks.down[here][:, None], 0, 1)
        shares[shares < 1e-9] = 0
        for at, column in gone:
            shares[at, column] = 0
    return shares


def _name(fabric: Fabric, failure: _Failure) -> str:
    links: list[Link] = [fabric.links[at] for at in failure.links]
    names = [fabric.routers[at].device for at in failure.switches]
    names += [
        f"the cable from {fabric.routers[each.a].device} {each.a_port.name} to {fabric.routers[each.b].device}"
        for each in links
    ]
    return " and ".join(names)


ETHERNET_FAILURES = Check(
    "ethernet-failures",
    "No single cable or switch cuts off hosts of other switches.",
    KINDS,
    has_network,
    _run,
)
