"""Reachability: every host prefix is known on every intended switch, over as many equal paths as the cables allow.

The expected routes come from the cables: routes climb and then descend. The real ones come from the policies. Both are
computed by the same function.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from clusterwright.facts.router import (
    PERMIT_ALL,
    Mark,
    Policy,
    Prefix,
    Router,
    Session,
    Term,
    apply_policy,
    shown_prefix,
)
from clusterwright.proofs.check import Cases, Counterexample, Fact, ProofCheck, Verdict, example
from clusterwright.proofs.ethernet.alike import sections
from clusterwright.proofs.ethernet.blame import odd_mark
from clusterwright.proofs.ethernet.edges import Edge, EdgeTable, EdgeWay, Shape, edge_table, edges_of, shape_of
from clusterwright.proofs.ethernet.leaks import leaks
from clusterwright.proofs.ethernet.limits import limit_faults
from clusterwright.proofs.ethernet.netboot import netboot_facts, netboot_faults
from clusterwright.proofs.ethernet.network import (
    KINDS,
    NETWORK_INTENT,
    RoutedFabric,
    has_network,
    network_of_tree,
    without_cables,
)
from clusterwright.proofs.ethernet.node_routes import node_faults
from clusterwright.proofs.ethernet.pieces import label, piece_facts, piece_faults, piece_notes
from clusterwright.proofs.ethernet.plane_routes import plane_faults
from clusterwright.proofs.ethernet.port_lists import list_faults
from clusterwright.proofs.ethernet.routes import (
    ColumnSection,
    Counts,
    Flags,
    Routes,
    announced,
    announced_counts,
    spread,
    whole,
)
from clusterwright.proofs.tree import RenderedTree

_BELOW = frozenset({"below"})
_FROM_BELOW: Policy = (
    Term(permit=True, list_name="", prefixes=None, communities=None, change="set", values=_BELOW, mark=()),
)
_FROM_ABOVE: Policy = (
    Term(
        permit=True, list_name="", prefixes=None, communities=None, change="set", values=frozenset({"above"}), mark=()
    ),
)
# A switch's own announcements have no community yet, so the term refuses routes by the community "above".
_TO_ABOVE: Policy = (
    Term(
        permit=False,
        list_name="",
        prefixes=None,
        communities=frozenset({"above"}),
        change="",
        values=frozenset(),
        mark=(),
    ),
    *PERMIT_ALL,
)
_MOST = 200  # switches whose first missing route is explained
_FAR = 127  # more hops than any route has


@lru_cache(maxsize=16)
def ideal_edges(fabric: RoutedFabric) -> EdgeTable:
    """The edges implied by cables and tiers: every route goes down, only own routes and those from below go up."""
    source, target = fabric.ends.reshape(-1), fabric.ends[:, ::-1].reshape(-1)
    tells = ~fabric.silent[source]
    source, target = source[tells], target[tells]
    keeps = np.array([router.keeps_communities for router in fabric.routers], bool)
    ways: list[EdgeWay] = []
    for out_of, into in ((PERMIT_ALL, _FROM_ABOVE), (_TO_ABOVE, _FROM_BELOW)):
        ways += [EdgeWay(shape_of(out_of), shape_of(into), kept) for kept in (False, True)]
    climbs = fabric.rank[source] < fabric.rank[target]
    return EdgeTable(source=source, target=target, way=2 * climbs + keeps[source], ways=tuple(ways))


def _run(tree: RenderedTree) -> Verdict:
    network = network_of_tree(tree)
    facts: list[Fact] = []
    counterexamples: list[Counterexample] = []
    tried = 0
    for fabric in network.fabrics:
        if len(fabric.routers) > 1:
            outcome = outcome_of(fabric, sections(fabric))
            facts += _facts(fabric, label(fabric, network.fabrics), outcome)
            if outcome.differs:
                counterexamples += _differences(tree, fabric)
            counterexamples += _narrow(tree, fabric, outcome)
            counterexamples += limit_faults(tree, fabric, outcome.announced)
        name = label(fabric, network.fabrics)
        facts.append(Fact(f"{name}: NICs whose switch announces them", len(fabric.nics)))
        tried += len(fabric.nics) + len(fabric.links)
        facts += netboot_facts(tree, fabric, name)
        counterexamples += node_faults(tree, fabric)
        counterexamples += netboot_faults(tree, fabric)
        counterexamples += list_faults(tree, fabric)
        counterexamples += leaks(tree, fabric, network.fabrics)
    facts += piece_facts(tree)
    counterexamples += piece_faults(tree)
    counterexamples += plane_faults(tree, network.fabrics)
    planned = tree.declaration.drained if tree.declaration is not None else None
    notes = [*piece_notes(tree)]
    for router in network.routers.values():
        if not router.is_silent:
            continue
        if planned is None:
            notes.append(f"{router.device} announces nothing, as a drained switch does")
        elif router.device not in planned:
            message = "announces nothing to any neighbour, but the spec does not drain it"
            policy = router.policy(router.sessions[0].out_of)
            mark = policy[0].mark if policy else ()
            counterexamples.append(example(tree, router.device, router.bgp_file, mark, message))
    return Verdict(
        facts=tuple(facts),
        counterexamples=tuple(counterexamples),
        cases=Cases("NICs or cables between switches", tried),
        notes=tuple(notes),
    )


@dataclass(slots=True)
class SpreadOutcome:
    """The result of all sections of a fabric."""

    sessions: Counts
    """By router, the most sessions with routes to one prefix."""
    differs: bool = False
    """Whether any route differs from those implied by the cables."""
    announced: dict[Shape, Counts] = field(default_factory=dict)
    """By shape of policy and router, the number of announced prefixes."""
    paths: dict[int, tuple[int, int]] = field(default_factory=dict)
    """By hops, the fewest and most equal paths."""


def outcome_of(fabric: RoutedFabric, parts: Iterable[ColumnSection]) -> SpreadOutcome:
    """The outcome of sections representing all columns of a fabric."""
    size = len(fabric.routers)
    outcome = SpreadOutcome(np.zeros(size, np.float32))
    for section in parts:
        edges = edge_table(fabric).among(section.rows, size)
        asked = ideal_edges(fabric).among(section.rows, size)
        ideal, real = spread(section, asked, counts_sessions=False), spread(section, edges)
        outcome.differs |= bool(_differ(ideal, real).any())
        outcome.sessions = np.maximum(outcome.sessions, section.most(real.sessions))
        for shape, counts in announced_counts(section, edges, real).items():
            outcome.announced[shape] = outcome.announced.get(shape, 0) + section.total(counts)
        leaves = np.flatnonzero((section.fabric.rank == 0) & [_has_hosts(router) for router in section.fabric.routers])
        columns = np.flatnonzero(section.is_host & section.origin[leaves].any(axis=0))
        hops, paths = real.hops[np.ix_(leaves, columns)], real.paths[np.ix_(leaves, columns)]
        for distance in np.unique(hops[hops > 0]).tolist():
            counts = paths[hops == distance]
            low, high = outcome.paths.get(distance, (counts.min(), counts.max()))
            outcome.paths[distance] = int(min(low, counts.min())), int(max(high, counts.max()))
    return outcome


def _has_hosts(router: Router) -> bool:
    return any(length < 8 * len(address) for (address, length), _ in router.networks)


def _differ(ideal: Routes, real: Routes) -> Flags:
    return np.asarray((ideal.paths != real.paths) | (ideal.hops != real.hops))


def _facts(fabric: RoutedFabric, name: str, outcome: SpreadOutcome) -> Iterator[Fact]:
    announcements = announced(fabric)
    hosts = sum(1 for address, length in announcements.column_of if length < 8 * len(address))
    yield Fact(f"{name}: prefixes of hosts", hosts)
    for distance, (low, high) in sorted(outcome.paths.items()):
        value = f"{low:,}" if low == high else f"{low:,} to {high:,}"
        yield Fact(f"{name}: equal paths between bottom switches {distance} hops apart", value)


def _differences(tree: RenderedTree, fabric: RoutedFabric) -> Iterator[Counterexample]:
    """The first switches with a missing or unexpected route, and the policy responsible."""
    far = np.int8(_FAR)
    seen: dict[int, int] = {}
    for section in whole(fabric):
        ideal, real = spread(section, ideal_edges(fabric), counts_sessions=False), spread(section, edge_table(fabric))
        differs = _differ(ideal, real)
        level = np.minimum(np.where(ideal.hops < 0, far, ideal.hops), np.where(real.hops < 0, far, real.hops))
        level = np.where(differs, level, far)
        for row, column in np.argwhere(differs & (level == level.min(axis=0))).tolist():
            seen.setdefault(row, int(section.columns[column]))
    shown = sorted(seen.items())[:_MOST]
    explained: set[Counterexample] = set()
    by_target: dict[int, list[Edge]] = {}
    for edge in edges_of(fabric):
        by_target.setdefault(edge.target, []).append(edge)
    columns = np.unique([column for _, column in shown])
    for section in whole(fabric, columns):
        ideal, real = spread(section, ideal_edges(fabric), counts_sessions=False), spread(section, edge_table(fabric))
        for row, column in shown:
            column_and_prefix = int(np.searchsorted(columns, column)), announced(fabric).prefixes[column]
            explanations = _explain(
                tree, fabric, ideal, real=real, by_target=by_target, row=row, column_and_prefix=column_and_prefix
            )
            for counterexample in explanations:
                if counterexample not in explained:
                    explained.add(counterexample)
                    yield counterexample


def _explain(
    tree: RenderedTree,
    fabric: RoutedFabric,
    ideal: Routes,
    *,
    real: Routes,
    by_target: dict[int, list[Edge]],
    row: int,
    column_and_prefix: tuple[int, Prefix],
) -> Iterator[Counterexample]:
    """The policies or sessions responsible for a router's routes to the prefix at one column of both outcomes."""
    router = fabric.routers[row]
    column, prefix = column_and_prefix
    there = {edge.source: edge for edge in by_target.get(row, ())}
    explained = False
    asked = ideal_edges(fabric)
    for source in dict.fromkeys(asked.source[asked.target == row].tolist()):
        neighbour = fabric.routers[source]
        wanted = 0 <= ideal.hops[source, column] == ideal.hops[row, column] - 1
        tags = next((tag for tag, flags in real.tags.items() if flags[source, column]), None)
        edge = there.get(source)
        if tags is None or (edge is None and not wanted):
            continue
        if edge is None:
            explained = True
            message = f"learns nothing from {neighbour.device}, which has {shown_prefix(prefix)}: there is no session"
            yield example(tree, router.device, router.bgp_file, (), message)
            continue
        sent = apply_policy(edge.out_of, prefix, tags)
        offered = sent if neighbour.keeps_communities else frozenset[str]()
        got = None if sent is None else apply_policy(edge.into, prefix, offered or frozenset())
        if wanted and got is None:
            explained = True
            yield _refused(tree, fabric, edge, sent is None, shown_prefix(prefix))
        elif not wanted and got is not None and real.hops[row, column] == real.hops[source, column] + 1:
            explained = True
            mark = odd_mark(tree, fabric, neighbour, _policy_mark(edge.out_of, edge.source_session))
            message = f"announces {shown_prefix(prefix)} to {router.device}, against the direction of the tiers"
            yield example(tree, neighbour.device, neighbour.bgp_file, mark, message)
    if not explained:
        message = (
            f"has {int(real.paths[row, column]):,} equal paths to {shown_prefix(prefix)}, the cables give "
            f"{int(ideal.paths[row, column]):,}"
        )
        yield example(tree, router.device, router.bgp_file, (), message)


def _refused(tree: RenderedTree, fabric: RoutedFabric, edge: Edge, at_source: bool, prefix: str) -> Counterexample:
    source, target = fabric.routers[edge.source], fabric.routers[edge.target]
    if at_source:
        mark = odd_mark(tree, fabric, source, _policy_mark(edge.out_of, edge.source_session))
        message = f"{prefix} is not sent to {target.device} by policy {edge.source_session.out_of or '(none)'}"
        return example(tree, source.device, source.bgp_file, mark, message)
    mark = odd_mark(tree, fabric, target, _policy_mark(edge.into, edge.target_session))
    message = f"{prefix} is refused from {source.device} by policy {edge.target_session.into or '(none)'}"
    return example(tree, target.device, target.bgp_file, mark, message)


def _policy_mark(policy: Policy, session: Session) -> Mark:
    policy_mark = policy[0].mark if policy else ()
    return policy_mark or session.group_mark


def _narrow(tree: RenderedTree, fabric: RoutedFabric, outcome: SpreadOutcome) -> Iterator[Counterexample]:
    """Switches limited to fewer equal paths than they learn."""
    for router, widest in zip(fabric.routers, outcome.sessions, strict=True):
        if router.max_paths and router.max_paths < widest:
            message = f"uses at most {router.max_paths} equal paths, but has {int(widest)} to some prefix"
            yield example(tree, router.device, router.bgp_file, router.max_paths_mark, message)


REACHABILITY = ProofCheck(
    name="reachability",
    claim=(
        "Every prefix is known where the tiers need it, over as many equal paths as the cables allow, and nowhere else."
    ),
    kinds=KINDS,
    intent=NETWORK_INTENT | {"isolation", "joined", "stopped", "unplugged"},
    applies=has_network,
    check=_run,
    spec_only="devices that are drained or out of service, declared planes, and whether all devices exist",
    uncheckable=without_cables,
)
