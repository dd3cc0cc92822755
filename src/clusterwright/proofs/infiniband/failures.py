"""Every single failure of a switch chip or of a whole director: leaves cut off, and the remaining bandwidth.

The bandwidth of a leaf is the rate at which its adapters can send up to the roots, with every switch spreading over its
remaining uplinks: a switch's share is ``min(1, sum of its parents' shares over its uplinks / adapters and downlinks)``.
All failures are computed at once, one column each, as fractions of the undisturbed bandwidth.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from clusterwright.hosts.opensm.reader.fabric import Integers
from clusterwright.proofs.accepted import unaccepted
from clusterwright.proofs.check import Counterexample, Fact, ProofCheck, Verdict
from clusterwright.proofs.infiniband.outcome import SubnetOutcome
from clusterwright.proofs.infiniband.subnet import KINDS, SUBNET_INTENT, ManagedSubnet, has_subnet
from clusterwright.proofs.infiniband.units import Units, units_of
from clusterwright.proofs.tree import RenderedTree

Shares = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class _Failure:
    """Chips failing together: one, or those of a chassis. ``kind`` groups comparable failures."""

    name: str
    kind: str
    chips: tuple[int, ...]
    line: int


def _run(tree: RenderedTree) -> Verdict:
    outcome = SubnetOutcome(tree)
    for subnet in outcome.routed():
        units = units_of(subnet)
        failures = list(_failures(subnet))
        outcome.tried += len(failures) if len(subnet.leaves) > 1 else 0
        gone = np.zeros((len(subnet.fabric.switches), len(failures)), bool)
        for column, failure in enumerate(failures):
            gone[list(failure.chips), column] = True
        healthy = _shares(subnet, np.zeros((len(gone), 1), bool))
        left = _shares(subnet, gone)[subnet.leaves] / np.maximum(healthy[subnet.leaves], 1e-9)
        outcome.facts += _worst_cases(subnet, units, failures, left)
        short, accepted = unaccepted(tree, _fabric(tree, subnet), list(_cut_off(subnet, failures, gone, left)))
        outcome.notes += accepted
        outcome.excuse(subnet, short)
    return outcome.verdict("failures that reach others")


def _fabric(tree: RenderedTree, subnet: ManagedSubnet) -> str | None:
    declaration = tree.declaration
    if declaration is None:
        return None
    return declaration.fabric_with(adapter.guid for adapter in subnet.fabric.adapters)


def _failures(subnet: ManagedSubnet) -> Iterator[_Failure]:
    """Every chip, then every chassis of several chips."""
    systems: dict[int, list[int]] = {}
    for index, switch in enumerate(subnet.fabric.switches):
        systems.setdefault(switch.system, []).append(index)
        yield _Failure(
            name=switch.name, kind=f"a switch chip of rank {int(subnet.rank[index])}", chips=(index,), line=switch.line
        )
    for chips in systems.values():
        if len(chips) > 1:
            first = subnet.fabric.switches[chips[0]]
            yield _Failure(
                name=f"the chassis of {first.name}",
                kind=f"a chassis of {len(chips)} chips",
                chips=tuple(chips),
                line=first.line,
            )


def _shares(subnet: ManagedSubnet, gone: NDArray[np.bool_]) -> Shares:
    """For each switch (row) and failure (column), the share of the traffic from below able to reach the roots."""
    uplinks = subnet.up
    below = np.asarray(uplinks.sum(axis=0)).reshape(-1) + subnet.endpoints
    shares = np.zeros(gone.shape)
    shares[subnet.rank == 0] = 1
    shares[gone] = 0
    for rank in range(1, int(subnet.rank.max(initial=0)) + 1):
        here = np.flatnonzero(subnet.rank == rank)
        reach = uplinks[here] @ shares
        shares[here] = np.minimum(1, reach / np.maximum(below[here], 1)[:, None])
        shares[here] *= ~gone[here]
    return shares


def _worst_cases(subnet: ManagedSubnet, units: Units, failures: list[_Failure], left: Shares) -> Iterator[Fact]:
    """For each kind of failure, adapters cut off and the least bandwidth left for a rail, a unit and the whole."""
    weights = subnet.endpoints[subnet.leaves].astype(np.float64)
    rail_of = np.zeros((len(units.rails), len(subnet.fabric.switches)))
    np.add.at(rail_of, (units.rail, subnet.fabric.taps[units.taps, 1]), 1)
    unit_of = np.zeros((int(units.leaf_unit.max(initial=-1)) + 1, len(subnet.leaves)))
    unit_of[units.leaf_unit[subnet.leaves], np.arange(len(subnet.leaves))] = weights
    groups = {"a rail": rail_of[:, subnet.leaves], "a unit": unit_of, "the fabric": weights[None, :]}
    kinds: dict[str, list[int]] = {}
    for column, failure in enumerate(failures):
        kinds.setdefault(failure.kind, []).append(column)
    for kind, columns in sorted(kinds.items()):
        cases = left[:, columns]
        lost = weights @ (cases <= 0)
        worst = columns[int((weights @ cases).argmin())]
        yield Fact(f"{kind} fails ({len(columns):,} cases): adapters cut off at most", int(lost.max()))
        for name, member in groups.items():
            remaining = (member / member.sum(axis=1, keepdims=True)) @ cases
            yield Fact(f"{kind} fails: bandwidth left for {name} at least", round(float(remaining.min()), 4))
        yield Fact(f"{kind} fails: the worst case", failures[worst].name)


def _cut_off(
    subnet: ManagedSubnet, failures: list[_Failure], gone: NDArray[np.bool_], left: Shares
) -> Iterator[Counterexample]:
    """Failures cutting off adapters of other switches, or separating two working leaves."""
    weights = subnet.endpoints[subnet.leaves]
    is_cut_off = (left <= 0) & ~gone[subnet.leaves]
    stranded = weights @ is_cut_off
    parted = _parted(subnet, failures)
    for column, failure in enumerate(failures):
        if stranded[column]:
            first_row = int(np.flatnonzero(is_cut_off[:, column])[0])
            leaf = subnet.fabric.switches[int(subnet.leaves[first_row])].name
            lost = int(stranded[column])
            message = f"{failure.name} fails: {lost:,} adapters of other switches are cut off, as on {leaf}"
            yield subnet.at_fabric(failure.line, message)
        elif column in parted:
            leaf, other_leaf = (subnet.fabric.switches[switch].name for switch in parted[column])
            message = f"{failure.name} fails: {leaf} and {other_leaf} have no up–down path left"
            yield subnet.at_fabric(failure.line, message)


def _parted(subnet: ManagedSubnet, failures: list[_Failure]) -> dict[int, tuple[int, int]]:
    """Failures separating two leaves that both still reach a root, with an example pair.

    A pair is separated only if it loses all its common roots. A failure takes from a leaf at most the roots above the
    failed chips, so only failures taking as many roots as some pair has in common are examined closely.
    """
    leaves, roots = subnet.leaves, np.flatnonzero(subnet.rank == 0)
    climbs = _climbs(subnet.up, leaves)  # paths from each compute leaf up to each switch
    to_roots = _climbs(subnet.up.T.tocsr(), roots).T  # paths from each switch up to each root
    before = climbs[:, roots]
    reached = np.count_nonzero(before, axis=1)
    shared = (before > 0).astype(np.float32) @ (before > 0).astype(np.float32).T
    fewest = float(shared.min(initial=np.inf))
    example_by_failure: dict[int, tuple[int, int]] = {}
    for column, failure in enumerate(failures):
        if len(failure.chips) == 1:
            chip = failure.chips[0]
            hit, above = np.flatnonzero(climbs[:, chip]), np.flatnonzero(to_roots[chip])
            after = before[np.ix_(hit, above)] - np.outer(climbs[hit, chip], to_roots[chip, above])
        else:
            after = _climbs(_without(subnet.up, failure.chips), leaves)[:, roots]
            hit, above = np.flatnonzero((after != before).any(axis=1)), np.arange(len(roots))
            after = after[hit]
        changed = np.ix_(hit, above)
        is_alive = after.any(axis=1) | (reached[hit] > np.count_nonzero(before[changed], axis=1))
        taken = ((before[changed] > 0) & (after <= 0)).sum(axis=1)
        if not len(hit) or 2 * taken[is_alive].max(initial=0) < fewest:
            continue
        remaining = before.copy()
        remaining[changed] = after
        alive = np.flatnonzero(remaining.any(axis=1))
        joined = (remaining[alive] > 0).astype(np.float32)
        apart = np.argwhere(joined @ joined.T == 0)
        if len(apart):
            one, other = apart[0]
            example_by_failure[column] = (int(leaves[alive[one]]), int(leaves[alive[other]]))
    return example_by_failure


def _climbs(up: csr_array, starts: Integers) -> NDArray[np.float64]:
    """The number of paths from each start along ``up`` to each switch, the start itself included."""
    count = up.shape[0]
    step = csr_array((np.ones(len(starts)), (np.arange(len(starts)), starts)), shape=(len(starts), count))
    total = np.zeros(step.shape)
    while step.nnz:
        total += step.toarray()
        step = step @ up
    return total


def _without(up: csr_array, chips: tuple[int, ...]) -> csr_array:
    """The uplinks without those of some chips."""
    edges = up.tocoo()
    keep = ~np.isin(edges.row, chips) & ~np.isin(edges.col, chips)
    return csr_array((edges.data[keep], (edges.row[keep], edges.col[keep])), shape=up.shape)


FAILURES = ProofCheck(
    name="ib-failures",
    claim="No single switch or director takes down more than the adapters that are cabled to it, unless"
    " the spec accepts it.",
    kinds=KINDS,
    intent=SUBNET_INTENT | {"accepted", "idle", "subnet_fabrics"},
    applies=has_subnet,
    check=_run,
    spec_only="accepted single failures; every one fails the check",
)
