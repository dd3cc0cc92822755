"""Every single failure of a cable or switch, and a sample of double ones: who is cut off, and what bandwidth remains.

The bandwidth of a bottom switch is what its hosts can send up to the top when every switch spreads over the uplinks it
has left: a switch's share is ``min(1, sum of its parents' shares weighted by Gb/s / Gb/s from below)``. All failures of
a kind are computed at once, one column each, and given as a fraction of the undisturbed bandwidth. What jobs keep, and
whether racks still meet, is computed in ``jobs``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from clusterwright.proofs.accepted import unaccepted
from clusterwright.proofs.check import Cases, Counterexample, Fact, ProofCheck, Verdict, example
from clusterwright.proofs.ethernet.declared import declared
from clusterwright.proofs.ethernet.dual_homing import gpu_faults, homes_of, homing_faults
from clusterwright.proofs.ethernet.jobs import JobSize, job_sizes, worst_job
from clusterwright.proofs.ethernet.network import KINDS, Integers, has_network, network_of_tree
from clusterwright.proofs.ethernet.uplinks import (
    DOUBLES,
    FabricUplinks,
    Failure,
    name_of,
    sampled_doubles,
    single_cables,
    single_switches,
    uplinks_of,
)
from clusterwright.proofs.tree import RenderedTree

Shares = NDArray[np.float64]
_AT_ONCE = 2000  # columns, to bound the memory


def _run(tree: RenderedTree) -> Verdict:
    facts: list[Fact] = []
    found: list[Counterexample] = []
    notes: list[str] = []
    tried = 0
    fabrics = network_of_tree(tree).fabrics
    if tree.declaration is not None and tree.declaration.gpu_ports:
        found += gpu_faults(tree, fabrics)
        for name, count in Counter(name for name, _, _ in tree.declaration.gpu_ports).items():
            facts.append(
                Fact(f"{name}: GPUs with ports at several switches, which leave one without any of them", count)
            )
    for fabric in fabrics:
        homes = homes_of(tree, fabric)
        if homes:
            found += homing_faults(tree, fabric, homes)
            facts.append(Fact(f"{fabric.name}: nodes at several switches, reached without any one of them", len(homes)))
        if not fabric.links:
            continue
        uplinks = uplinks_of(fabric)
        tried += len(fabric.links)
        healthy = _shares(uplinks, [Failure()])[:, 0]
        sizes = job_sizes(uplinks)
        own: list[Counterexample] = []
        for title, failures in (
            ("any cable fails", single_cables(uplinks)),
            ("any switch fails", single_switches(uplinks)),
            (f"two fail at once, {DOUBLES} samples", sampled_doubles(uplinks)),
        ):
            worst, where, cut_off, others = _judge(uplinks, failures, healthy)
            name = f"{fabric.name}: {title}"
            facts.append(Fact(f"{name}, {len(failures):,} cases: bandwidth left for a rack", worst))
            rack = fabric.routers[int(uplinks.leaves[where[0]])].device
            facts.append(Fact(f"{name}: the worst case", f"{rack} without {name_of(fabric, failures[where[1]])}"))
            facts.append(Fact(f"{name}: racks cut off at most", cut_off))
            is_single = not title.startswith("two")
            if is_single:
                for leaf, column in others:
                    router = fabric.routers[leaf]
                    message = f"is cut off when {name_of(fabric, failures[column])} fails"
                    own.append(example(tree, router.device, router.ports_file, (), message))
            own += _jobs(tree, sizes, name, failures, facts, may_end=not is_single)
        planned = declared(tree, fabric)
        refuting, noted = unaccepted(tree, planned.name if planned is not None else None, own)
        found += refuting
        notes += noted
    return Verdict(tuple(facts), tuple(found), Cases("cables between switches", tried), tuple(notes))


def _jobs(
    tree: RenderedTree,
    sizes: tuple[JobSize, ...],
    name: str,
    failures: list[Failure],
    facts: list[Fact],
    *,
    may_end: bool,
) -> Iterator[Counterexample]:
    """Adds what jobs keep to ``facts``; a counterexample where racks of one stop meeting though that must not be."""
    for each in sizes:
        left, case, unit = worst_job(each, failures)
        facts.append(Fact(f"{name}: left for a job of {each.low:,} to {each.high:,} nodes", round(left, 4)))
        if left == 0 and unit is not None and not may_end:
            fabric = unit.uplinks.fabric
            router = fabric.routers[int(unit.leaves[0])]
            message = (
                f"racks of a job of {unit.nodes:,} nodes from here on no longer meet when "
                f"{name_of(fabric, failures[case])} fails"
            )
            yield example(tree, router.device, router.ports_file, (), message)


def _judge(
    uplinks: FabricUplinks, failures: list[Failure], healthy: Shares
) -> tuple[float, tuple[int, int], int, list[tuple[int, int]]]:
    """The least share that remains, where (leaf, failure), most racks cut off at once, and who is cut off by others.

    ``healthy`` are the undisturbed shares of all switches.
    """
    at_leaf = [at for at, each in enumerate(failures) if _is_leaf_cable(uplinks, each)]
    worst, where, cut_off = np.inf, (0, 0), 0
    others: list[tuple[int, int]] = []
    if at_leaf:
        rows, left = _after_leaf_cables(uplinks, [failures[at].links[0] for at in at_leaf], healthy)
        worst, where = float(left.min()), (int(rows[left.argmin()]), at_leaf[int(left.argmin())])
        others += [(int(uplinks.leaves[rows[at]]), at_leaf[at]) for at in np.flatnonzero(left <= 0).tolist()]
        cut_off = int(bool(others))
    known = set(at_leaf)
    rest = [at for at in range(len(failures)) if at not in known]
    before = healthy[uplinks.leaves]
    for start in range(0, len(rest), _AT_ONCE):
        cases = rest[start : start + _AT_ONCE]
        chunk = [failures[at] for at in cases]
        left = _shares(uplinks, chunk)[uplinks.leaves] / np.maximum(before, 1e-9)[:, None]
        left[before <= 0] = np.inf
        place = {int(leaf): row for row, leaf in enumerate(uplinks.leaves)}
        for column, failure in enumerate(chunk):
            left[[place[at] for at in failure.switches if at in place], column] = np.inf
        lost = left <= 0
        cut_off = max(cut_off, int(lost.sum(axis=0).max(initial=0)))
        others += [(int(uplinks.leaves[leaf]), cases[column]) for leaf, column in np.argwhere(lost).tolist()]
        if left.size and left.min() < worst:
            row, column = divmod(int(left.argmin()), left.shape[1])
            worst, where = float(left.min()), (row, cases[column])
    return round(worst, 4), where, cut_off, others


def _is_leaf_cable(uplinks: FabricUplinks, failure: Failure) -> bool:
    if failure.switches or len(failure.links) != 1:
        return False
    low = uplinks.low[failure.links[0]]
    return bool(uplinks.fabric.rank[low] == 0)


def _after_leaf_cables(uplinks: FabricUplinks, links: list[int], healthy: Shares) -> tuple[Integers, Shares]:
    """For single cables of bottom switches: the row of the switch, which alone is hit, and what it keeps."""
    low, high = uplinks.low[links], uplinks.high[links]
    up = csr_array((uplinks.gbps, (uplinks.low, uplinks.high)), shape=(len(healthy), len(healthy)))
    reach = (up @ healthy)[low] - uplinks.gbps[links] * healthy[high]
    left = np.clip(reach / uplinks.down[low], 0, 1) / np.maximum(healthy[low], 1e-9)
    left[left < 1e-9] = 0
    left[healthy[low] <= 0] = np.inf
    return np.searchsorted(uplinks.leaves, low), left


def _shares(uplinks: FabricUplinks, failures: list[Failure]) -> Shares:
    """For each switch (row) and failure (column): the share of what comes from below that can reach the top."""
    count = len(uplinks.fabric.routers)
    shares = np.zeros((count, len(failures)))
    shares[uplinks.tops] = 1
    gone = [(at, column) for column, failure in enumerate(failures) for at in failure.switches]
    cut = [(at, column) for column, failure in enumerate(failures) for at in set(failure.links)]
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


ETHERNET_FAILURES = ProofCheck(
    "ethernet-failures",
    "No single cable or switch cuts off hosts of other switches, or a node at several, but where the spec accepts it.",
    KINDS,
    has_network,
    _run,
    spec_only="which single failures are accepted: none is",
)
