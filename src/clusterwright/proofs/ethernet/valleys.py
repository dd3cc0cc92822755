"""Valleys and deadlock: no route goes from one upper neighbour to another, so no packet descends and climbs again.

A packet takes the way of its route backwards. Where ``b`` tells ``a`` what ``c`` told it, packets go a-b-c, and the
buffer in front of ``c`` can hold back the one in front of ``b``: the channel a-b depends on the channel b-c. Lossless
traffic can stand still for ever when channels depend on each other in a circle (Dally and Seitz, IEEE Transactions on
Computers C-36, 1987). The graph is made from what the policies allow, whichever routes are best at the moment, so that
it holds after failures as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order, connected_components

from clusterwright.platforms.router import Mark, Policy, Prefix, apply_policy, shown_prefix
from clusterwright.proofs.check import Cases, Counterexample, Fact, ProofCheck, Verdict, example
from clusterwright.proofs.ethernet.blame import odd_mark
from clusterwright.proofs.ethernet.edges import edges_of, is_exact
from clusterwright.proofs.ethernet.network import KINDS, Integers, RoutedFabric, has_network, network_of_tree
from clusterwright.proofs.ethernet.routes import Announced, announced
from clusterwright.proofs.tree import RenderedTree

_MOST = 20  # channels of a circle that are written out
_PROBES = 8  # columns of other switches that differ in what lists say about them
_Kind = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class _Transit:
    """One switch passes routes from one kind of neighbour to another kind: sources and targets are routers."""

    router: int
    sources: tuple[int, ...]
    targets: tuple[int, ...]
    prefix: Prefix
    policy: Policy
    policy_name: str
    mark: Mark


def _run(tree: RenderedTree) -> Verdict:
    facts: list[Fact] = []
    found: list[Counterexample] = []
    tried = 0
    for fabric in network_of_tree(tree).fabrics:
        if len(fabric.routers) < 2:
            continue
        transits = list(_transits(fabric))
        tried += len(transits)
        found += _valleys(tree, fabric, transits)
        facts.append(Fact(f"{fabric.name}: switches that pass routes on", len({each.router for each in transits})))
        if fabric.is_lossless:
            codes = _channels(fabric)
            facts.append(Fact(f"{fabric.name}: channels between switches, one for each direction", len(codes)))
            count = _dependency_count(transits)
            facts.append(Fact(f"{fabric.name}: dependencies between channels, without a circle", count))
            if _may_circle(fabric, transits, codes):
                found += _circle(tree, fabric, transits, *_dependencies(fabric, transits, codes))
    return Verdict(tuple(facts), tuple(found), Cases("switches that pass routes on", tried))


def _transits(fabric: RoutedFabric) -> Iterator[_Transit]:
    """Which kinds of neighbours each switch carries routes between; a kind has the same tier and the same policies."""
    probes = _probes(announced(fabric))
    kinds: list[dict[_Kind, list[int]]] = [{} for _ in fabric.routers]
    samples: list[dict[_Kind, tuple[Policy, str, Policy, Policy, Mark]]] = [{} for _ in fabric.routers]
    rank = fabric.rank.tolist()
    back = {(edge.source, edge.target): edge for edge in edges_of(fabric)}
    for edge in edges_of(fabric):  # what the source tells the target, seen from the target
        at, other = edge.target, edge.source
        names = (edge.target_session.into, edge.target_session.out_of)
        key = (rank[other], names, edge.source_session.into, fabric.routers[other].keeps_communities)
        members = kinds[at].setdefault(key, [])
        if not members or members[-1] != other:
            members.append(other)
        if key not in samples[at]:
            reverse = back[at, other]
            samples[at][key] = edge.into, names[1], reverse.out_of, reverse.into, edge.target_session.group_mark
    every = (policy for own in samples for into, _, out_of, then, _ in own.values() for policy in (into, out_of, then))
    number, told = _numbered(every, probes)
    passes = cache(lambda into, out_of, then, keeps: _passes(told[into], told[out_of], told[then], keeps, probes))
    for at, own in enumerate(kinds):
        keeps = fabric.routers[at].keeps_communities
        for source, sources in own.items():
            into = number[id(samples[at][source][0])]
            for target, targets in own.items():
                _, name, out_of, then, mark = samples[at][target]
                prefix = passes(into, number[id(out_of)], number[id(then)], keeps)
                if prefix is not None:
                    yield _Transit(
                        at, tuple(dict.fromkeys(sources)), tuple(dict.fromkeys(targets)), prefix, out_of, name, mark
                    )


def _numbered(policies: Iterable[Policy], probes: tuple[Prefix, ...]) -> tuple[dict[int, int], tuple[Policy, ...]]:
    """The number of each policy, by its identity, among those that differ in what they do with some prefixes.

    A list of single prefixes says nothing of any other, so what it has beside the probes, a switch's own for the most
    part, is left out.
    """
    chosen = frozenset(probes)
    known: dict[int, int] = {}
    told: dict[Policy, int] = {}
    for policy in policies:
        if id(policy) not in known:
            own = tuple(
                term._replace(
                    prefixes=tuple(rule for rule in term.prefixes if rule.within in chosen)
                    if term.prefixes is not None and is_exact(term.prefixes)
                    else term.prefixes,
                    mark=(),
                )
                for term in policy
            )
            known[id(policy)] = told.setdefault(own, len(told))
    return known, tuple(told)


def _probes(known: Announced) -> tuple[Prefix, ...]:
    """Some prefixes, hosts' and switches' own, from both ends of the fabric."""
    chosen = [*known.prefixes[:_PROBES], *known.prefixes[-_PROBES:]]
    hosts = [known.prefixes[at] for at in np.flatnonzero(known.is_host)]
    return tuple(dict.fromkeys([*chosen, *hosts[:2], *hosts[-2:]]))


def _passes(into: Policy, out_of: Policy, then: Policy, keeps: bool, probes: tuple[Prefix, ...]) -> Prefix | None:
    """A prefix that is learned by one policy, told by another and taken at the far end; None when there is none."""
    marks = {frozenset[str]()} | {term.communities or frozenset() for term in (*into, *out_of)}
    for prefix in probes:
        for before in marks:
            learned = apply_policy(into, prefix, before)
            if learned is None or _is_own(out_of, prefix):
                continue
            told = apply_policy(out_of, prefix, learned)
            if told is not None and apply_policy(then, prefix, told if keeps else frozenset()) is not None:
                return prefix
    return None


def _is_own(policy: Policy, prefix: Prefix) -> bool:
    """True when a list of single prefixes in the policy names this one: the switch's own are nobody's transit."""
    return any(rule.within == prefix and rule.low == rule.high for term in policy for rule in term.prefixes or ())


def _valleys(tree: RenderedTree, fabric: RoutedFabric, transits: list[_Transit]) -> Iterator[Counterexample]:
    for each in transits:
        router = fabric.routers[each.router]
        above = [fabric.rank[side[0]] > fabric.rank[each.router] for side in (each.sources, each.targets)]
        if not all(above):
            continue
        one, other = fabric.routers[each.sources[0]].device, fabric.routers[each.targets[-1]].device
        mark = odd_mark(tree, fabric, router, each.policy[0].mark if each.policy and each.policy[0].mark else each.mark)
        message = (
            f"policy {each.policy_name or '(none)'} tells {other} {shown_prefix(each.prefix)}, learned from {one}: "
            "both are above"
        )
        yield example(tree, router.device, router.bgp_file, mark, message)


def _channels(fabric: RoutedFabric) -> Integers:
    """The directed channels between switches in order, each as one number."""
    both = np.concatenate([fabric.ends, fabric.ends[:, ::-1]])
    return np.unique(both[:, 0] * len(fabric.routers) + both[:, 1])


def _dependency_count(transits: list[_Transit]) -> int:
    """How many pairs of channels there are of which one depends on the other, switch by switch."""
    by_router: dict[int, list[_Transit]] = {}
    for each in transits:
        by_router.setdefault(each.router, []).append(each)
    count = 0
    for own in by_router.values():
        neighbours = np.unique([at for each in own for at in (*each.sources, *each.targets)])
        depends = np.zeros((len(neighbours), len(neighbours)), bool)
        for each in own:
            depends[np.ix_(np.searchsorted(neighbours, each.targets), np.searchsorted(neighbours, each.sources))] = True
        np.fill_diagonal(depends, val=False)
        count += int(depends.sum())
    return count


def _may_circle(fabric: RoutedFabric, transits: list[_Transit], codes: Integers) -> bool:
    """False where no channels wait in a circle, even if buffers also waited for the channel that they came by.

    With these a transit joins all that comes in with all that goes out, so it is one node of the graph.
    """
    size = len(fabric.routers)
    rows: list[Integers] = []
    columns: list[Integers] = []
    for node, each in enumerate(transits, len(codes)):
        incoming = np.searchsorted(codes, np.array(each.targets) * size + each.router)
        outgoing = np.searchsorted(codes, each.router * size + np.array(each.sources))
        nodes = np.full(len(incoming) + len(outgoing), node)
        rows += [incoming, nodes[: len(outgoing)]]
        columns += [nodes[: len(incoming)], outgoing]
    count = len(codes) + len(transits)
    pairs = (np.concatenate(rows or [codes[:0]]), np.concatenate(columns or [codes[:0]]))
    graph = csr_array((np.ones(len(pairs[0]), np.int8), pairs), shape=(count, count))
    return int(connected_components(graph, directed=True, connection="strong", return_labels=False)) < count


def _dependencies(fabric: RoutedFabric, transits: list[_Transit], codes: Integers) -> tuple[Integers, csr_array]:
    """The directed channels between switches as pairs, and which depends on which."""
    size = len(fabric.routers)
    rows: list[Integers] = []
    columns: list[Integers] = []
    for each in transits:
        incoming = np.searchsorted(codes, np.array(each.targets) * size + each.router)
        outgoing = np.searchsorted(codes, each.router * size + np.array(each.sources))
        one, other = np.repeat(incoming, len(outgoing)), np.tile(outgoing, len(incoming))
        keep = np.repeat(np.array(each.targets), len(outgoing)) != np.tile(np.array(each.sources), len(incoming))
        rows.append(one[keep])
        columns.append(other[keep])
    pairs = (np.concatenate(rows or [codes[:0]]), np.concatenate(columns or [codes[:0]]))
    graph = csr_array((np.ones(len(pairs[0]), np.int8), pairs), shape=(len(codes), len(codes)))
    return np.stack([codes // size, codes % size], axis=1), graph


def _circle(
    tree: RenderedTree, fabric: RoutedFabric, transits: list[_Transit], channels: Integers, graph: csr_array
) -> Iterator[Counterexample]:
    """A counterexample for each set of channels that form a circle, at a switch that is below its neighbours on it."""
    count, member = connected_components(graph, directed=True, connection="strong")
    sizes = np.bincount(member, minlength=count)
    for component in np.flatnonzero(sizes > 1).tolist():
        circle = _shortest_circle(graph, np.flatnonzero(member == component))
        names = [fabric.routers[int(channels[at, 0])].device for at in circle]
        turns = [int(channels[at, 0]) for at in circle]
        before = [turns[at - 1] for at in range(len(turns))]
        after = [turns[(at + 1) % len(turns)] for at in range(len(turns))]
        low = next(
            (
                at
                for at, b, a in zip(turns, before, after, strict=True)
                if fabric.rank[b] > fabric.rank[at] < fabric.rank[a]
            ),
            turns[0],
        )
        router = fabric.routers[low]
        guilty = next(each for each in transits if each.router == low)
        mark = odd_mark(tree, fabric, router, guilty.policy[0].mark if guilty.policy else guilty.mark)
        way = " – ".join([*names[:_MOST], *(["…"] if len(names) > _MOST else []), names[0]])
        message = f"lossless traffic can deadlock: buffers wait for each other on the way {way}"
        yield example(tree, router.device, router.bgp_file, mark, message)


def _shortest_circle(graph: csr_array, nodes: NDArray[np.int64]) -> list[int]:
    """A circle through the first of some nodes of which each reaches each."""
    part = csr_array(graph[nodes][:, nodes])
    order, previous = breadth_first_order(part, 0, directed=True, return_predecessors=True)
    into = set(part[:, [0]].nonzero()[0].tolist())
    last = next(int(at) for at in order if int(at) in into)
    way = [last]
    while way[-1] != 0:
        way.append(int(previous[way[-1]]))
    return [int(nodes[at]) for at in way[::-1]]


VALLEYS = ProofCheck(
    "valley-free",
    "No switch tells an upper neighbour what another upper one told it; lossless buffers never wait in a circle.",
    KINDS,
    has_network,
    _run,
    spec_only="which tier is lowest: it is taken to be the one with most hosts",
)
