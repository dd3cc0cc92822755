"""Every single failure of a cable or switch, and a sample of double ones: hosts cut off, and bandwidth left.

The bandwidth of a bottom switch is the rate at which its hosts can send up to the top, with every switch spreading over
its remaining uplinks: a switch's share is ``min(1, sum of its parents' shares weighted by Gb/s / Gb/s from below)``.
All failures of a kind are computed at once, one column each, as fractions of the undisturbed bandwidth. The module
``jobs`` computes the bandwidth left to jobs, and whether racks still meet.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from clusterwright.proofs.accepted import unaccepted
from clusterwright.proofs.check import Cases, Counterexample, Fact, ProofCheck, Verdict, example
from clusterwright.proofs.ethernet.declared import declared
from clusterwright.proofs.ethernet.dual_homing import gpu_faults, homes_of, homing_faults
from clusterwright.proofs.ethernet.jobs import JobSize, job_sizes, worst_job
from clusterwright.proofs.ethernet.network import (
    KINDS,
    NETWORK_INTENT,
    RoutedFabric,
    has_network,
    network_of_tree,
    without_cables,
)
from clusterwright.proofs.ethernet.stand_ins import StandIns, stand_ins
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
    counterexamples: list[Counterexample] = []
    notes: list[str] = []
    tried = 0
    fabrics = network_of_tree(tree).fabrics
    if tree.declaration is not None and tree.declaration.gpu_ports:
        counterexamples += gpu_faults(tree, fabrics)
        gpus_by_fabric = Counter(name for name, _, _ in tree.declaration.gpu_ports)
        for name, count in gpus_by_fabric.items():
            fact = f"{name}: GPUs with ports at several switches, which leave one without any of them"
            facts.append(Fact(fact, count))
    for fabric in fabrics:
        homes = homes_of(tree, fabric)
        if homes:
            counterexamples += homing_faults(tree, fabric, homes)
            facts.append(Fact(f"{fabric.name}: nodes at several switches, reached without any one of them", len(homes)))
        if not fabric.links:
            continue
        tried += len(fabric.links)
        failures_of_fabric = list(_failures(tree, fabric, facts))
        planned = declared(tree, fabric)
        refuting, noted = unaccepted(tree, planned.name if planned is not None else None, failures_of_fabric)
        counterexamples += refuting
        notes += noted
    return Verdict(
        facts=tuple(facts),
        counterexamples=tuple(counterexamples),
        cases=Cases("cables between switches", tried),
        notes=tuple(notes),
    )


def _failures(tree: RenderedTree, fabric: RoutedFabric, facts: list[Fact]) -> Iterator[Counterexample]:
    """Add the bandwidth left after each kind of failure to ``facts``; counterexamples for racks and jobs cut off."""
    uplinks = uplinks_of(fabric)
    representatives = stand_ins(uplinks)
    sizes = job_sizes(representatives.uplinks)
    failures_by_title = {
        "any cable fails": single_cables(uplinks),
        "any switch fails": single_switches(uplinks),
        f"two fail at once, {DOUBLES} samples": sampled_doubles(uplinks),
    }
    for title, failures in failures_by_title.items():
        alike = representatives.alike(failures)
        worst, (leaf, case), cut_off, racks_cut_off = least_share(representatives, failures, alike)
        name = f"{fabric.name}: {title}"
        facts.append(Fact(f"{name}, {len(failures):,} cases: bandwidth left for a rack", worst))
        rack = fabric.routers[leaf].device
        facts.append(Fact(f"{name}: the worst case", f"{rack} without {name_of(fabric, failures[case])}"))
        facts.append(Fact(f"{name}: racks cut off at most", cut_off))
        is_single = not title.startswith("two")
        if is_single:
            for rack_cut_off, index in racks_cut_off:
                router = fabric.routers[rack_cut_off]
                message = f"is cut off when {name_of(fabric, failures[index])} fails"
                yield example(tree, router.device, router.ports_file, (), message)
        first_failures = [failures[indexes[0]] for indexes in alike.values()]
        both = list(alike), first_failures
        yield from _jobs(tree, fabric, sizes, name=name, failures=both, facts=facts, may_end=not is_single)


def _jobs(
    tree: RenderedTree,
    fabric: RoutedFabric,
    sizes: tuple[JobSize, ...],
    *,
    name: str,
    failures: tuple[list[Failure], list[Failure]],
    facts: list[Fact],
    may_end: bool,
) -> Iterator[Counterexample]:
    """Add the bandwidth left to jobs to ``facts``; a counterexample for each job with racks cut off from each other.

    ``failures`` are those of representatives, and the first failure represented by each. ``may_end`` allows that
    racks stop meeting.
    """
    alike, firsts = failures
    for size in sizes:
        remaining, case, unit = worst_job(size, alike)
        facts.append(Fact(f"{name}: left for a job of {size.low:,} to {size.high:,} nodes", round(remaining, 4)))
        if remaining == 0 and unit is not None and not may_end:
            router = unit.uplinks.fabric.routers[int(unit.leaves[0])]
            message = (
                f"racks of a job of {unit.nodes:,} nodes from here on no longer meet when "
                f"{name_of(fabric, firsts[case])} fails"
            )
            yield example(tree, router.device, router.ports_file, (), message)


def least_share(
    representatives: StandIns, failures: list[Failure], alike: Mapping[Failure, list[int]]
) -> tuple[float, tuple[int, int], int, list[tuple[int, int]]]:
    """The least remaining share, its leaf and failure, most racks cut off at once, and each rack cut off.

    ``alike`` has the failures of representatives, with the indexes of the represented ones. Racks have
    the index of their failure.
    """
    uplinks = representatives.uplinks
    healthy = _shares(uplinks, [Failure()])[:, 0]
    leaf_cables = [failure for failure in alike if _is_leaf_cable(uplinks, failure)]
    worst, where, most_cut_off = np.inf, (0, 0), 0
    cut_off_by_leaf_cable: list[tuple[int, int]] = []
    if leaf_cables:
        remaining = _after_leaf_cables(uplinks, [failure.links[0] for failure in leaf_cables], healthy)
        first = alike[leaf_cables[int(remaining.argmin())]][0]
        worst, where = float(remaining.min()), (_lower(representatives, failures[first]), first)
        cutting: list[int] = []
        for column in np.flatnonzero(remaining <= 0).tolist():
            cutting += alike[leaf_cables[column]]
        cut_off_by_leaf_cable = [(_lower(representatives, failures[index]), index) for index in sorted(cutting)]
        most_cut_off = int(bool(cutting))
    other_failures = [failure for failure in alike if not _is_leaf_cable(uplinks, failure)]
    before = healthy[uplinks.leaves]
    row_of_leaf = {leaf: row for row, leaf in enumerate(uplinks.leaves.tolist())}
    cut_off: list[tuple[int, int]] = []
    for start in range(0, len(other_failures), _AT_ONCE):
        chunk = other_failures[start : start + _AT_ONCE]
        remaining = _shares(uplinks, chunk)[uplinks.leaves] / np.maximum(before, 1e-9)[:, None]
        remaining[before <= 0] = np.inf
        for column, failure in enumerate(chunk):
            failed_rows = [row_of_leaf[switch] for switch in failure.switches if switch in row_of_leaf]
            remaining[failed_rows, column] = np.inf
        for column in np.flatnonzero((remaining <= 0).any(axis=0)).tolist():
            for index in alike[chunk[column]]:
                leaves = representatives.like(uplinks.leaves[remaining[:, column] <= 0], failures[index])
                most_cut_off = max(most_cut_off, len(leaves))
                cut_off += [(leaf, index) for leaf in leaves]
        if remaining.size and remaining.min() < worst:
            worst = float(remaining.min())
            worst_cases = []
            for column in np.flatnonzero((remaining == worst).any(axis=0)).tolist():
                index = alike[chunk[column]][0]
                leaves = representatives.like(uplinks.leaves[remaining[:, column] == worst], failures[index])
                worst_cases.append((leaves[0], index))
            where = min(worst_cases)
    return round(worst, 4), where, most_cut_off, [*cut_off_by_leaf_cable, *sorted(cut_off)]


def _lower(representatives: StandIns, failure: Failure) -> int:
    """The lower switch of the only failed cable."""
    return int(representatives.whole.low[failure.links[0]])


def _is_leaf_cable(uplinks: FabricUplinks, failure: Failure) -> bool:
    if failure.switches or len(failure.links) != 1:
        return False
    low = uplinks.low[failure.links[0]]
    return bool(uplinks.fabric.rank[low] == 0)


def _after_leaf_cables(uplinks: FabricUplinks, links: list[int], healthy: Shares) -> Shares:
    """The remaining share of a bottom switch without one of its cables, by cable; no other switch loses any."""
    low, high = uplinks.low[links], uplinks.high[links]
    up = csr_array((uplinks.gbps, (uplinks.low, uplinks.high)), shape=(len(healthy), len(healthy)))
    reach = (up @ healthy)[low] - uplinks.gbps[links] * healthy[high]
    remaining = np.clip(reach / uplinks.down[low], 0, 1) / np.maximum(healthy[low], 1e-9)
    remaining[remaining < 1e-9] = 0
    remaining[healthy[low] <= 0] = np.inf
    return np.asarray(remaining)


def _shares(uplinks: FabricUplinks, failures: list[Failure]) -> Shares:
    """For each switch (row) and failure (column), the share of the traffic from below able to reach the top."""
    count = len(uplinks.fabric.routers)
    shares = np.zeros((count, len(failures)))
    shares[uplinks.tops] = 1
    gone: list[tuple[int, int]] = []
    cut: list[tuple[int, int]] = []
    for column, failure in enumerate(failures):
        gone += [(switch, column) for switch in failure.switches]
        cut += [(link, column) for link in set(failure.links)]
    up = csr_array((uplinks.gbps, (uplinks.low, uplinks.high)), shape=(count, count))
    rank = uplinks.fabric.rank
    for level in range(int(rank.max()), -1, -1):
        here = np.flatnonzero((rank == level) & ~uplinks.tops)
        reach = up[here] @ shares
        row_of_switch = {switch: row for row, switch in enumerate(here.tolist())}
        for link, column in cut:
            row = row_of_switch.get(int(uplinks.low[link]))
            if row is not None:
                reach[row, column] -= uplinks.gbps[link] * shares[uplinks.high[link], column]
        shares[here] = np.clip(reach / uplinks.down[here][:, None], 0, 1)
        shares[shares < 1e-9] = 0
        for switch, column in gone:
            shares[switch, column] = 0
    return shares


ETHERNET_FAILURES = ProofCheck(
    name="ethernet-failures",
    claim=(
        "No single cable or switch cuts off hosts of other switches, or a node at several, unless the spec accepts it."
    ),
    kinds=KINDS,
    intent=NETWORK_INTENT | {"accepted", "gpu_ports", "joined", "unplugged"},
    applies=has_network,
    check=_run,
    spec_only="accepted single failures; every one fails the check",
    uncheckable=without_cables,
)
