"""Valleys and deadlock: no route goes from one upper neighbour to another, so no packet descends and climbs again.

A packet takes the path of its route backwards. If ``b`` announces the routes of ``c`` to ``a``, packets go a-b-c, and
the buffer in front of ``c`` can hold back the one in front of ``b``: the channel a-b depends on the channel b-c.
Lossless traffic can deadlock if channels depend on each other in a cycle (Dally and Seitz, IEEE Transactions on
Computers C-36, 1987). The graph has all routes allowed by policies, best ones or not, so the result also holds after
failures.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order, connected_components

from clusterwright.facts.router import Mark, Policy, Prefix, Router, Session, Term, apply_policy, shown_prefix
from clusterwright.proofs.check import Cases, Counterexample, Fact, ProofCheck, Verdict, example
from clusterwright.proofs.ethernet.blame import odd_mark
from clusterwright.proofs.ethernet.declared import has_uplinks
from clusterwright.proofs.ethernet.edges import edges_of, is_exact
from clusterwright.proofs.ethernet.network import (
    KINDS,
    NETWORK_INTENT,
    Integers,
    RoutedFabric,
    has_network,
    network_of_tree,
    without_cables,
)
from clusterwright.proofs.ethernet.routes import announced
from clusterwright.proofs.tree import RenderedTree

_MOST = 20  # channels of a cycle in a message


class _NeighbourKind(NamedTuple):
    """The properties shared by neighbours of one kind; policies are numbers of ``_PolicyEffects``."""

    rank: int
    into: int
    out_of: int
    then: int
    """The neighbour's policy on the routes announced to it."""
    keeps: bool
    """Whether the neighbour keeps communities."""


class _Neighbours(NamedTuple):
    """A router's neighbours of one kind, with the policy and session of the first."""

    routers: dict[int, None]
    """An ordered set."""
    policy: Policy
    session: Session


@dataclass(frozen=True, slots=True)
class _Transit:
    """Routes passed on by a switch from neighbours of one kind (``sources``) to those of another (``targets``)."""

    router: int
    sources: tuple[int, ...]
    targets: tuple[int, ...]
    prefix: Prefix
    policy: Policy
    policy_name: str
    mark: Mark


def _run(tree: RenderedTree) -> Verdict:
    facts: list[Fact] = []
    counterexamples: list[Counterexample] = []
    tried = 0
    for fabric in network_of_tree(tree).fabrics:
        if len(fabric.routers) < 2:
            continue
        transits = list(_transits(fabric))
        tried += len(transits)
        counterexamples += _valleys(tree, fabric, transits)
        facts.append(
            Fact(f"{fabric.name}: switches that pass routes on", len({transit.router for transit in transits}))
        )
        if fabric.is_lossless:
            codes = _channels(fabric)
            facts.append(Fact(f"{fabric.name}: channels between switches, one for each direction", len(codes)))
            count = _dependency_count(transits)
            facts.append(Fact(f"{fabric.name}: dependencies between channels, without a cycle", count))
            if _may_have_cycle(fabric, transits, codes):
                counterexamples += _cycles(tree, fabric, transits, *_dependencies(fabric, transits, codes))
    return Verdict(tuple(facts), tuple(counterexamples), Cases("switches that pass routes on", tried))


def _transits(fabric: RoutedFabric) -> Iterator[_Transit]:
    """Transits between kinds of neighbours; the neighbours of a kind share their tier and the effect of policies."""
    effects = _PolicyEffects(fabric)
    kinds: list[dict[_NeighbourKind, _Neighbours]] = [{} for _ in fabric.routers]
    rank = fabric.rank.tolist()
    edges = edges_of(fabric)
    for number, edge in enumerate(edges):  # announcements of the source, seen from the target
        router, neighbour = edge.target, edge.source
        reverse = edges[number ^ 1]  # both directions of a session are neighbours in the list
        kind = _NeighbourKind(
            rank=rank[neighbour],
            into=effects.number(edge.into, router),
            out_of=effects.number(reverse.out_of, router),
            then=effects.number(reverse.into, neighbour),
            keeps=fabric.routers[neighbour].keeps_communities,
        )
        neighbours = kinds[router].get(kind)
        if neighbours is None:
            neighbours = kinds[router][kind] = _Neighbours({}, reverse.out_of, edge.target_session)
        neighbours.routers[neighbour] = None
    for router, neighbours_by_kind in enumerate(kinds):
        for source, senders in neighbours_by_kind.items():
            for target, receivers in neighbours_by_kind.items():
                prefix = effects.passes(router, source.into, target.out_of, target.then)
                if prefix is not None:
                    yield _Transit(
                        router=router,
                        sources=tuple(senders.routers),
                        targets=tuple(receivers.routers),
                        prefix=prefix,
                        policy=receivers.policy,
                        policy_name=receivers.session.out_of,
                        mark=receivers.session.group_mark,
                    )


def _own_prefixes(router: Router) -> frozenset[Prefix]:
    return frozenset(prefix for prefix, _ in router.networks)


class _PolicyEffects:
    """The effect of a fabric's policies on its prefixes; policies with the same effect share a number.

    A router's own prefixes are never transit. They are left out, together with the rules on them by single prefixes,
    which differ between switches.
    """

    def __init__(self, fabric: RoutedFabric) -> None:
        self.fabric = fabric
        self.announcements = announced(fabric)
        self.own_prefixes = [_own_prefixes(router) for router in fabric.routers]
        self.numbers: dict[tuple[int, int], int] = {}
        self.number_of: dict[Policy, int] = {}
        self.policies: list[Policy] = []
        self.probed = cache(self._probed)
        self.tried = cache(self._tried)

    def number(self, policy: Policy, router: int) -> int:
        """The number of a policy of a router."""
        key = id(policy), router
        if key not in self.numbers:
            policy_of_others = tuple(_without(term, self.own_prefixes[router]) for term in policy)
            if policy_of_others not in self.number_of:
                self.number_of[policy_of_others] = len(self.policies)
                self.policies.append(policy_of_others)
            self.numbers[key] = self.number_of[policy_of_others]
        return self.numbers[key]

    def passes(self, router: int, into: int, out_of: int, then: int) -> Prefix | None:
        """Another router's prefix that ``into`` accepts, ``out_of`` announces and ``then`` accepts at the far end.

        None when there is none.
        """
        named, groups = self.probed(into, out_of, then)
        own_prefixes = self.own_prefixes[router]
        probes = [prefix for prefix in named if prefix not in own_prefixes]
        for group in groups:
            # One prefix of a group is enough, as these policies treat all of them equally.
            for prefix in group:
                if prefix not in own_prefixes:
                    probes.append(prefix)
                    break
        return self.tried(into, out_of, then, self.fabric.routers[router].keeps_communities, tuple(probes))

    def _tried(self, into: int, out_of: int, then: int, keeps: bool, probes: tuple[Prefix, ...]) -> Prefix | None:
        return _passes(self.policies[into], self.policies[out_of], self.policies[then], keeps, probes)

    def _probed(self, *numbers: int) -> tuple[tuple[Prefix, ...], tuple[tuple[Prefix, ...], ...]]:
        """The prefixes in these policies' lists of single prefixes, and all others grouped by the policies' ranges."""
        terms = chain.from_iterable(self.policies[number] for number in numbers)
        lists = {term.prefixes for term in terms if term.prefixes is not None}
        exact_rules = chain.from_iterable(rules for rules in lists if is_exact(rules))
        within = dict.fromkeys(rule.within for rule in exact_rules)
        named = tuple(prefix for prefix in within if prefix in self.announcements.column_of)
        ranges_of_policies = [index for index, rules in enumerate(self.announcements.ranges) if rules in lists]
        groups: dict[tuple[bool, ...], list[Prefix]] = {}
        for column, prefix in zip(self.announcements.columns, self.announcements.prefixes, strict=True):
            if prefix not in within:
                matched = tuple(column.matched[index] for index in ranges_of_policies)
                groups.setdefault(matched, []).append(prefix)
        return named, tuple(map(tuple, groups.values()))


def _without(term: Term, own_prefixes: frozenset[Prefix]) -> Term:
    """A term without its mark and without the switch's own prefixes in lists of single prefixes."""
    rules = term.prefixes
    if rules is not None and is_exact(rules):
        rules = tuple(rule for rule in rules if rule.within not in own_prefixes)
    return term._replace(prefixes=rules, mark=())


def _passes(into: Policy, out_of: Policy, then: Policy, keeps: bool, probes: tuple[Prefix, ...]) -> Prefix | None:
    """A prefix that ``into`` accepts, ``out_of`` announces and ``then`` accepts at the far end; None without one."""
    possible_communities = {frozenset[str]()} | {term.communities or frozenset() for term in (*into, *out_of)}
    for prefix in probes:
        for communities in possible_communities:
            learned = apply_policy(into, prefix, communities)
            if learned is None:
                continue
            sent = apply_policy(out_of, prefix, learned)
            if sent is None:
                continue
            received = sent if keeps else frozenset[str]()
            if apply_policy(then, prefix, received) is not None:
                return prefix
    return None


def _valleys(tree: RenderedTree, fabric: RoutedFabric, transits: list[_Transit]) -> Iterator[Counterexample]:
    for transit in transits:
        router = fabric.routers[transit.router]
        lower_neighbour_rank = min(fabric.rank[transit.sources[0]], fabric.rank[transit.targets[0]])
        if lower_neighbour_rank <= fabric.rank[transit.router]:
            continue
        source, target = fabric.routers[transit.sources[0]].device, fabric.routers[transit.targets[-1]].device
        policy_mark = transit.policy[0].mark if transit.policy else ()
        mark = odd_mark(tree, fabric, router, policy_mark or transit.mark)
        message = (
            f"policy {transit.policy_name or '(none)'} announces {shown_prefix(transit.prefix)} to {target}, "
            f"learned from {source}: both are above"
        )
        yield example(tree, router.device, router.bgp_file, mark, message)


def _channels(fabric: RoutedFabric) -> Integers:
    """The directed channels between switches in order, each as one number."""
    both = np.concatenate([fabric.ends, fabric.ends[:, ::-1]])
    return np.unique(both[:, 0] * len(fabric.routers) + both[:, 1])


def _dependency_count(transits: list[_Transit]) -> int:
    """The number of dependencies between channels, counted by switch."""
    by_router: dict[int, list[_Transit]] = {}
    for transit in transits:
        by_router.setdefault(transit.router, []).append(transit)
    count = 0
    for transits_here in by_router.values():
        ends: list[int] = []
        for transit in transits_here:
            ends += (*transit.sources, *transit.targets)
        neighbours = np.unique(ends)
        depends = np.zeros((len(neighbours), len(neighbours)), bool)
        for transit in transits_here:
            incoming = np.searchsorted(neighbours, transit.targets)
            outgoing = np.searchsorted(neighbours, transit.sources)
            depends[np.ix_(incoming, outgoing)] = True
        np.fill_diagonal(depends, val=False)
        count += int(depends.sum())
    return count


def _may_have_cycle(fabric: RoutedFabric, transits: list[_Transit], codes: Integers) -> bool:
    """False without a cycle of channels, even with dependencies on the reverse of the incoming channel.

    With these, a transit connects all incoming with all outgoing channels, so it is one node of the graph.
    """
    size = len(fabric.routers)
    rows: list[Integers] = []
    columns: list[Integers] = []
    for node, transit in enumerate(transits, len(codes)):
        incoming = np.searchsorted(codes, np.array(transit.targets) * size + transit.router)
        outgoing = np.searchsorted(codes, transit.router * size + np.array(transit.sources))
        nodes = np.full(len(incoming) + len(outgoing), node)
        rows += [incoming, nodes[: len(outgoing)]]
        columns += [nodes[: len(incoming)], outgoing]
    count = len(codes) + len(transits)
    pairs = (np.concatenate(rows or [codes[:0]]), np.concatenate(columns or [codes[:0]]))
    graph = csr_array((np.ones(len(pairs[0]), np.int8), pairs), shape=(count, count))
    return int(connected_components(graph, directed=True, connection="strong", return_labels=False)) < count


def _dependencies(fabric: RoutedFabric, transits: list[_Transit], codes: Integers) -> tuple[Integers, csr_array]:
    """The directed channels between switches as pairs, and the graph of their dependencies."""
    size = len(fabric.routers)
    rows: list[Integers] = []
    columns: list[Integers] = []
    for transit in transits:
        incoming = np.searchsorted(codes, np.array(transit.targets) * size + transit.router)
        outgoing = np.searchsorted(codes, transit.router * size + np.array(transit.sources))
        targets = np.repeat(np.array(transit.targets), len(outgoing))
        sources = np.tile(np.array(transit.sources), len(incoming))
        is_other_neighbour = targets != sources
        rows.append(np.repeat(incoming, len(outgoing))[is_other_neighbour])
        columns.append(np.tile(outgoing, len(incoming))[is_other_neighbour])
    pairs = (np.concatenate(rows or [codes[:0]]), np.concatenate(columns or [codes[:0]]))
    graph = csr_array((np.ones(len(pairs[0]), np.int8), pairs), shape=(len(codes), len(codes)))
    return np.stack([codes // size, codes % size], axis=1), graph


def _cycles(
    tree: RenderedTree, fabric: RoutedFabric, transits: list[_Transit], channels: Integers, graph: csr_array
) -> Iterator[Counterexample]:
    """A counterexample for each set of channels with a cycle, at a switch below its neighbours on the cycle."""
    count, member = connected_components(graph, directed=True, connection="strong")
    sizes = np.bincount(member, minlength=count)
    for component in np.flatnonzero(sizes > 1).tolist():
        cycle = _shortest_cycle(graph, np.flatnonzero(member == component))
        switches = channels[cycle, 0].tolist()
        valley = _valley_on(fabric, switches)
        router = fabric.routers[valley]
        transit = next(transit for transit in transits if transit.router == valley)
        mark = odd_mark(tree, fabric, router, transit.policy[0].mark if transit.policy else transit.mark)
        names = [fabric.routers[switch].device for switch in switches[:_MOST]]
        if len(switches) > _MOST:
            names.append("…")
        path = " – ".join((*names, names[0]))
        message = f"lossless traffic can deadlock: buffers wait for each other on the way {path}"
        yield example(tree, router.device, router.bgp_file, mark, message)


def _valley_on(fabric: RoutedFabric, cycle: list[int]) -> int:
    """The first switch below both of its neighbours on a cycle, or else its first switch."""
    for index, switch in enumerate(cycle):
        previous, following = cycle[index - 1], cycle[(index + 1) % len(cycle)]
        if fabric.rank[switch] < min(fabric.rank[previous], fabric.rank[following]):
            return switch
    return cycle[0]


def _shortest_cycle(graph: csr_array, nodes: NDArray[np.int64]) -> list[int]:
    """A cycle through the first node of a strongly connected component."""
    part = csr_array(graph[nodes][:, nodes])
    order, predecessors = breadth_first_order(part, 0, directed=True, return_predecessors=True)
    nodes_before_first = set(part[:, [0]].nonzero()[0].tolist())
    last = next(node for node in order.tolist() if node in nodes_before_first)
    cycle = [last]
    while cycle[-1] != 0:
        cycle.append(int(predecessors[cycle[-1]]))
    return [int(nodes[index]) for index in cycle[::-1]]


VALLEYS = ProofCheck(
    name="valley-free",
    claim="No switch announces routes between its upper neighbours; lossless buffers never wait in a cycle.",
    kinds=KINDS,
    intent=NETWORK_INTENT,
    applies=has_network,
    check=_run,
    spec_only="the lowest tier; the tier with most hosts is assumed",
    concerns=has_uplinks,
    uncheckable=without_cables,
)
