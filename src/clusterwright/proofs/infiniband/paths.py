"""Balance: pairs of leaves at the same distance have equally many shortest paths, spread evenly over the uplinks.

The cabling alone proves this only for an engine that spreads paths as evenly as possible, and if the uplinks of a
switch divide evenly among the switches above it. All other cases would require the tables computed by opensm.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from clusterwright.hosts.opensm.reader.fabric import Integers
from clusterwright.proofs.check import Counterexample, Fact, ProofCheck, Verdict
from clusterwright.proofs.infiniband.engines import why_uneven
from clusterwright.proofs.infiniband.outcome import SubnetOutcome
from clusterwright.proofs.infiniband.subnet import KINDS, SUBNET_INTENT, ManagedSubnet, has_subnet
from clusterwright.proofs.tree import RenderedTree

_NOT_EVEN = "not proven, because uplinks do not divide evenly among the switches above, and opensm shares them out"


def _run(tree: RenderedTree) -> Verdict:
    outcome = SubnetOutcome(tree)
    for subnet in outcome.routed():
        uneven = list(_uneven_switches(subnet))
        is_exact = not uneven and _divides(subnet)
        engine = why_uneven(subnet)
        if not uneven and not is_exact:
            engine = engine or _NOT_EVEN
        outcome.unjudged = outcome.unjudged or engine
        for distance, low, high, pairs, worst in _classes(subnet):
            outcome.tried += pairs
            shown = low if low == high else f"{low} to {high}"
            outcome.facts.append(Fact(f"shortest paths between leaves {distance} links apart ({pairs:,} pairs)", shown))
            if is_exact and low != high:
                uneven.append(_uneven_pair(subnet, worst, distance, low, high))
        if not engine:
            outcome.facts.append(Fact("load of an uplink, most against least of its rank", _load_ratio(subnet)))
        outcome.excuse(subnet, uneven)
    return outcome.verdict("pairs of leaves")


def _ranks(subnet: ManagedSubnet) -> Iterator[Integers]:
    """The switches of each rank on upward paths of compute leaves, from the leaves up, without the roots."""
    carrying = np.zeros(len(subnet.fabric.switches), bool)
    carrying[subnet.leaves] = True
    for rank in range(int(subnet.rank.max(initial=0)), 0, -1):
        here = np.flatnonzero(carrying & (subnet.rank == rank))
        if len(here):
            yield here
            carrying |= np.asarray(subnet.up[here].sum(axis=0) > 0).reshape(-1)


def _shape(subnet: ManagedSubnet, here: Integers) -> tuple[Integers, Integers]:
    """Uplinks and parents of some switches."""
    rows = subnet.up[here]
    return np.asarray(rows.sum(axis=1)).reshape(-1).astype(np.int64), np.diff(rows.indptr).astype(np.int64)


def _uneven_switches(subnet: ManagedSubnet) -> Iterator[Counterexample]:
    """Switches with another number or spread of uplinks than most of their rank."""
    for here in _ranks(subnet):
        uplinks, parents = _shape(subnet, here)
        links, over = int(np.bincount(uplinks).argmax()), int(np.bincount(parents).argmax())
        for index, uplink_count, spread in zip(here.tolist(), uplinks.tolist(), parents.tolist(), strict=True):
            switch = subnet.fabric.switches[index]
            to_each = subnet.up[[index]].data
            if uplink_count != links or spread != over:
                has = f"{switch.name} has {uplink_count} uplinks to {spread} switches"
                message = f"{has}; most of its rank have {links} to {over}"
            elif to_each.max(initial=0) > -(-links // over) or to_each.min(initial=links) < links // over:
                few, many = int(to_each.min()), int(to_each.max())
                spreads = f"{switch.name} spreads {uplink_count} uplinks over {spread} switches"
                message = f"{spreads} unevenly: {few} to {many} each"
            else:
                continue
            yield subnet.at_fabric(switch.line, message)


def _divides(subnet: ManagedSubnet) -> bool:
    """True if the uplinks of every rank divide evenly among the parents, so that counts must be equal."""
    for rank in _ranks(subnet):
        uplinks, parents = _shape(subnet, rank)
        if (uplinks % parents).any():
            return False
    return True


def _classes(subnet: ManagedSubnet) -> Iterator[tuple[int, int, int, int, tuple[int, int]]]:
    """By distance in links between leaves: fewest and most shortest paths, pairs, and the pair with the fewest."""
    leaves = subnet.leaves
    climbed = np.zeros((len(leaves), len(subnet.fabric.switches)))
    climbed[np.arange(len(leaves)), leaves] = 1
    step = csr_array(climbed)
    is_open = ~np.eye(len(leaves), dtype=bool)
    for distance in range(2, 2 * int(subnet.rank.max(initial=0)) + 1, 2):
        step = step @ subnet.up
        dense = step.toarray()
        paths = dense @ dense.T
        here = is_open & (paths > 0)
        if here.any():
            counts = np.where(here, paths, np.inf)
            worst = np.unravel_index(int(counts.argmin()), counts.shape)
            low, high, pairs = int(counts.min()), int(paths[here].max()), int(here.sum()) // 2
            yield distance, low, high, pairs, (int(worst[0]), int(worst[1]))
        is_open &= ~here


def _uneven_pair(subnet: ManagedSubnet, pair: tuple[int, int], distance: int, low: int, high: int) -> Counterexample:
    leaf, other_leaf = (subnet.fabric.switches[int(subnet.leaves[index])] for index in pair)
    leaves = f"{leaf.name} and {other_leaf.name}"
    message = f"{leaves} have {low} shortest paths of {distance} links, other such pairs {high}"
    return subnet.at_fabric(leaf.line, message)


def _load_ratio(subnet: ManagedSubnet) -> float:
    """The greatest ratio of two uplinks' loads when every adapter sends at full rate and each switch spreads evenly."""
    load: NDArray[np.float64] = subnet.endpoints.astype(np.float64)
    worst = 1.0
    for here in _ranks(subnet):
        uplinks = np.maximum(_shape(subnet, here)[0], 1)
        per_uplink = load[here] / uplinks
        sending = per_uplink[per_uplink > 0]
        worst = max(worst, float(sending.max(initial=0) / sending.min(initial=np.inf)) if len(sending) else 1.0)
        load = load + subnet.up[here].T @ per_uplink
    return round(worst, 3)


PATH_BALANCE = ProofCheck(
    name="ib-path-balance",
    claim="Leaves at the same distance have equally many shortest paths, spread evenly over their uplinks.",
    kinds=KINDS,
    intent=SUBNET_INTENT | {"idle"},
    applies=has_subnet,
    check=_run,
    spec_only="whether idle switches and ports are drained, or missing",
)
