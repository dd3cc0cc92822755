"""Leaks: routes able to leave their fabric or to enter it from outside, and default routes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import chain, islice

from clusterwright.facts.router import (
    Mark,
    Policy,
    Prefix,
    PrefixRule,
    Router,
    Session,
    Term,
    apply_policy,
    covers,
    leads_outside,
    network_of,
    shown,
    shown_prefix,
)
from clusterwright.proofs.check import Counterexample, example
from clusterwright.proofs.ethernet.blame import odd_mark
from clusterwright.proofs.ethernet.declared import declared
from clusterwright.proofs.ethernet.network import RoutedFabric
from clusterwright.proofs.ethernet.routes import announced
from clusterwright.proofs.tree import RenderedTree


def leaks(tree: RenderedTree, fabric: RoutedFabric, fabrics: tuple[RoutedFabric, ...]) -> Iterator[Counterexample]:
    """Default routes, foreign sources of routes, and policies accepting routes from outside the fabric."""
    probes = list(_probes(tree, fabric, fabrics))
    usual = _usual(fabric)
    devices = tree.devices
    verdict_by_policy: dict[Policy, str] = {}
    for router in fabric.routers:
        yield from _own_routes(tree, fabric, router)
        for session, mark, message in _unfiltered(router):
            place = odd_mark(tree, fabric, router, mark or session.group_mark)
            yield example(tree, router.device, router.bgp_file, place, message)
        names = {session.into: session for session in router.sessions if session.into}
        for name, session in names.items():
            policy = router.policy(name)
            if policy not in verdict_by_policy:
                is_border = leads_outside(router, session, devices)
                # The isolation proof checks the site's announcements; here they may be no route of the tree's fabrics.
                verdict_by_policy[policy] = _foreign(policy, probes, _accepted(policy) if is_border else usual)
            if verdict_by_policy[policy]:
                mark = odd_mark(tree, fabric, router, policy[0].mark or session.group_mark)
                message = f"policy {name} accepts {verdict_by_policy[policy]}, which is no route of this fabric"
                yield example(tree, router.device, router.bgp_file, mark, message)


def _own_routes(tree: RenderedTree, fabric: RoutedFabric, router: Router) -> Iterator[Counterexample]:
    """A switch's own routes out of the fabric, from other sources, or overriding another's announcement."""
    for mark in router.defaults:
        yield example(tree, router.device, router.ports_file, mark, "a default route leads traffic out of the fabric")
    for mark, message in router.leaks:
        yield example(tree, router.device, router.bgp_file, mark, message)
    for prefix in sorted(router.discards):
        if owner := _loser(fabric, router, prefix):
            message = f"a route to nowhere takes what goes to {shown_prefix(prefix)}, which {owner} announces"
            yield Counterexample(device=router.device, file=router.ports_file, line=0, message=message)
    for prefix, mark in router.networks:
        if prefix[1] == 0:
            yield example(tree, router.device, router.bgp_file, mark, "the default route is announced")


def _loser(fabric: RoutedFabric, router: Router, prefix: Prefix) -> str:
    """The switch with an announced prefix overridden by a discard route, as static routes precede BGP.

    "" for the switch itself, as for the networks of its hosts, and if every announced prefix is more specific.
    """
    announcements = announced(fabric)
    for length in range(prefix[1], 0, -1):
        column = announcements.column_of.get(network_of(prefix[0], length))
        if column is not None:
            owners = [fabric.routers[at].device for at in announcements.columns[column].origins]
            return "" if router.device in owners else owners[0]
    return ""


def _unfiltered(router: Router) -> Iterator[tuple[Session, Mark, str]]:
    """Sessions, one of each group, without a policy in a direction, or announcing every prefix."""
    groups = {(session.group_mark, session.into, session.out_of): session for session in router.sessions}
    for session in groups.values():
        for name, what in ((session.into, "learned from"), (session.out_of, "told to")):
            if not name:
                yield session, session.group_mark, f"no policy filters what is {what} {shown(session.peer)}"
        if session.out_of:
            for term in router.policy(session.out_of):
                if term.permit and term.communities is None and _takes_all(term):
                    message = f"policy {session.out_of} tells {shown(session.peer)} everything that the switch knows"
                    yield session, term.mark, message


def _takes_all(term: Term) -> bool:
    """True for a term without a list, or with a list of every prefix."""
    return term.prefixes is None or any(
        rule.permit and (rule.within[1], rule.low, rule.high) == (0, 0, 8 * len(rule.within[0]))
        for rule in term.prefixes
    )


def _foreign(policy: Policy, probes: list[Prefix], usual: frozenset[PrefixRule]) -> str:
    """A prefix from outside the fabric accepted by a policy: a probe, or a range not accepted by others."""
    communities = {frozenset[str]()} | {term.communities for term in policy if term.communities}
    for prefix in probes:
        if any(apply_policy(policy, prefix, community) is not None for community in communities):
            return shown_prefix(prefix)
    for rule in _accepted(policy):
        if not any(_contains(other, rule) for other in usual):
            return f"{shown_prefix(rule.within)} with lengths {rule.low} to {rule.high}"
    return ""


def _accepted(policy: Policy) -> frozenset[PrefixRule]:
    """The ranges in the lists of a policy's permitting terms."""
    rules = chain.from_iterable(term.prefixes or () for term in policy if term.permit)
    return frozenset(rule for rule in rules if rule.permit)


def _contains(outer: PrefixRule, inner: PrefixRule) -> bool:
    return outer.low <= inner.low and inner.high <= outer.high and covers(outer.within, inner.within)


def _usual(fabric: RoutedFabric) -> frozenset[PrefixRule]:
    """The ranges accepted by most inbound policies of a fabric."""
    votes: Counter[Policy] = Counter()
    for router in fabric.routers:
        names = {session.into for session in router.sessions}
        votes.update(router.policies[name] for name in names if name in router.policies)
    ranges = Counter[frozenset[PrefixRule]]()
    for policy, count in votes.items():
        ranges[_accepted(policy)] += count
    return max(ranges.items(), key=lambda item: item[1])[0] if ranges else frozenset()


def _probes(tree: RenderedTree, fabric: RoutedFabric, fabrics: tuple[RoutedFabric, ...]) -> Iterator[Prefix]:
    """Prefixes to be refused: default routes, other fabrics' prefixes, and more specific ones of the fabric's own.

    A part cut off by exceptions or a fault, or another plane, is no other fabric.
    """
    planned = declared(tree, fabric)
    yield (b"\0" * 16, 0)
    yield (b"\0" * 4, 0)
    prefixes = list(fabric.prefixes)
    for other in fabrics:
        is_part = declared(tree, other) is planned if planned is not None else other.name == fabric.name
        if not is_part:
            yield from islice(other.prefixes, 2)
    hosts = next((prefix for prefix in prefixes if prefix[1] < 8 * len(prefix[0])), None)
    if hosts is not None:
        yield hosts[0], hosts[1] + 1
        yield hosts[0], 8 * len(hosts[0])
