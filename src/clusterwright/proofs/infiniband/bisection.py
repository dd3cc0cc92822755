"""Bisection: the fraction of the adapters' bandwidth between units and between halves, by maximum flow.

By the theorem of Ford and Fulkerson the maximum flow equals the minimum cut. Each link counts as one, since no text
states its speed: lint refuses uplinks slower than an adapter (CW229), and with faster ones there is more bandwidth than
proven. A flow may take any path; only an engine that spreads paths evenly over a regular tree uses links this way.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import breadth_first_order, maximum_flow

from clusterwright.proofs.check import Counterexample, Fact, ProofCheck, Verdict
from clusterwright.proofs.infiniband.engines import why_uneven
from clusterwright.proofs.infiniband.outcome import SubnetOutcome
from clusterwright.proofs.infiniband.subnet import KINDS, SUBNET_INTENT, ManagedSubnet, has_subnet
from clusterwright.proofs.infiniband.units import Units, units_of
from clusterwright.proofs.tree import RenderedTree

_SHOWN = 3
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class _Cut:
    """The minimum cut between two sets of leaves: its links, adapters of the smaller side, adjacent switches."""

    name: str
    links: int
    wanted: int
    beside: tuple[tuple[int, int], ...]

    @property
    def ratio(self) -> float:
        return self.links / self.wanted


def _run(tree: RenderedTree) -> Verdict:
    outcome = SubnetOutcome(tree)
    for subnet in outcome.routed():
        units = units_of(subnet)
        outcome.unjudged = outcome.unjudged or why_uneven(subnet)
        short: list[Counterexample] = []
        promised = _promised(tree, subnet)
        cuts_by_title = {
            "a unit and all others": list(_unit_cuts(subnet, units)),
            "a unit and the next": list(_neighbours(subnet, units)),
            "two halves of the units": list(_halves(subnet, units)),
        }
        for title, cuts in cuts_by_title.items():
            if not cuts:
                continue
            outcome.tried += len(cuts)
            best, worst = max(cut.ratio for cut in cuts), min(cut.ratio for cut in cuts)
            outcome.facts.append(Fact(f"bandwidth between {title}, worst of {len(cuts)}, 1 is full", round(worst, 4)))
            wanted = best if promised is None else promised
            short += [_narrow(subnet, cut, wanted) for cut in cuts if cut.ratio < wanted - _ROUNDING]
        outcome.excuse(subnet, short)
    return outcome.verdict("two units to cut between")


def _promised(tree: RenderedTree, subnet: ManagedSubnet) -> float | None:
    """The fraction of the adapters' bandwidth promised by the spec; None without a promise or a spec."""
    if tree.declaration is None:
        return None
    name = tree.declaration.fabric_with(adapter.guid for adapter in subnet.fabric.adapters)
    return tree.declaration.shares.get(name) if name is not None else None


def _unit_cuts(subnet: ManagedSubnet, units: Units) -> Iterator[_Cut]:
    count = int(units.leaf_unit.max(initial=-1)) + 1
    if count < 2:
        return
    for unit in range(count):
        yield _cut(subnet, f"unit {_unit_name(units, unit)}", units.leaf_unit == unit, units.leaf_unit != unit)


def _neighbours(subnet: ManagedSubnet, units: Units) -> Iterator[_Cut]:
    count = int(units.leaf_unit.max(initial=-1)) + 1
    for unit in range(count - 1):
        name = f"units {_unit_name(units, unit)} and {_unit_name(units, unit + 1)}"
        yield _cut(subnet, name, units.leaf_unit == unit, units.leaf_unit == unit + 1)


def _halves(subnet: ManagedSubnet, units: Units) -> Iterator[_Cut]:
    count = int(units.leaf_unit.max(initial=-1)) + 1
    if count > 1:
        yield _cut(subnet, "first and second half", units.leaf_unit < count // 2, units.leaf_unit >= count // 2)
        yield _cut(subnet, "every other unit and the rest", units.leaf_unit % 2 == 0, units.leaf_unit % 2 == 1)


def _unit_name(units: Units, unit: int) -> str:
    hosts = np.flatnonzero(units.unit == unit).tolist()
    if not hosts:
        return str(unit)
    return f"of {units.hosts[hosts[0]]}"


def _cut(subnet: ManagedSubnet, name: str, near: NDArray[np.bool_], far: NDArray[np.bool_]) -> _Cut:
    """The minimum cut between two sets of compute leaves."""
    count = len(subnet.fabric.switches)
    source, sink = count, count + 1
    senders, receivers = np.flatnonzero(near & (subnet.endpoints > 0)), np.flatnonzero(far & (subnet.endpoints > 0))
    links: coo_array = subnet.carrying_links.tocoo()
    rows = np.concatenate([links.row, np.full(len(senders), source), receivers])
    columns = np.concatenate([links.col, senders, np.full(len(receivers), sink)])
    sizes = np.concatenate([links.data, subnet.endpoints[senders], subnet.endpoints[receivers]]).astype(np.int32)
    graph = csr_array((sizes, (rows, columns)), shape=(count + 2, count + 2))
    result = maximum_flow(graph, source, sink, method="dinic")
    wanted = int(min(subnet.endpoints[senders].sum(), subnet.endpoints[receivers].sum()))
    flow = int(result.flow_value)
    beside = () if flow >= wanted else _beside(graph - result.flow, graph, source, count)
    return _Cut(name=name, links=flow, wanted=max(wanted, 1), beside=beside)


def _beside(residual: csr_array, graph: csr_array, source: int, count: int) -> tuple[tuple[int, int], ...]:
    """Switches on the source's side of the minimum cut with their links through it, most constrained first."""
    residual = csr_array(residual)
    residual.eliminate_zeros()
    order = breadth_first_order(residual, source, directed=True, return_predecessors=False)
    reached = np.zeros(count + 2, bool)
    reached[order] = True
    edges = graph.tocoo()
    through = reached[edges.row] & ~reached[edges.col] & (edges.row < count) & (edges.col < count)
    links = np.bincount(edges.row[through], weights=edges.data[through], minlength=count).astype(int)
    touched = np.flatnonzero(links)
    weakest = touched[np.argsort(links[touched], kind="stable")][:_SHOWN]
    return tuple((index, int(links[index])) for index in weakest.tolist())


def _narrow(subnet: ManagedSubnet, cut: _Cut, wanted: float) -> Counterexample:
    switches = subnet.fabric.switches
    message = (
        f"{cut.name}: {cut.links:,} links carry {cut.wanted:,} adapters, {cut.ratio:.4f} of full bandwidth where "
        f"{wanted:.4f} is wanted"
    )
    if not cut.beside:
        return subnet.at_fabric(0, message)
    adjacent = ", ".join(f"{links} links up from {switches[switch].name}" for switch, links in cut.beside)
    first_switch, _ = cut.beside[0]
    return subnet.at_fabric(switches[first_switch].line, f"{message}; the cut has {adjacent}")


BISECTION = ProofCheck(
    name="ib-bisection",
    claim="Units and halves reach each other with the bandwidth that the spec promises, or without a"
    " promise all with the"
    " same share of it.",
    kinds=KINDS,
    intent=SUBNET_INTENT | {"idle", "shares", "subnet_fabrics"},
    applies=has_subnet,
    check=_run,
    spec_only="the required share of bandwidth; all cuts of a kind must be equal",
)
