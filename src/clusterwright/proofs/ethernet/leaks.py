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
    usual_ranges = _usual(fabric)
    devices = tree.devices
    foreign_prefix: dict[Policy, str] = {}
    for router in fabric.routers:
        yield from _own_routes(tree, fabric, router)
        for session, mark, message in _unfiltered(router):
            place = odd_mark(tree, fabric, router, mark or session.group_mark)
            yield example(tree, router.device, router.bgp_file, place, message)
        session_by_policy = {session.into: session for session in router.sessions if session.into}
        for name, session in session_by_policy.items():
            policy = router.policy(name)
            if policy not in foreign_prefix:
                allowed = usual_ranges
                if leads_outside(router, session, devices):
                    # The isolation proof checks the site's announcements; here only routes of the fabrics are refused.
                    allowed = _accepted(policy)
                foreign_prefix[policy] = _foreign(policy, probes, allowed)
            if foreign_prefix[policy]:
                mark = odd_mark(tree, fabric, router, policy[0].mark or session.group_mark)
                message = f"policy {name} accepts {foreign_prefix[policy]}, which is no route of this fabric"
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
        elif subnet := _subnet_around(router, prefix):
            place = f"{shown_prefix(prefix)}, in the switch's own {shown_prefix(subnet)}"
            message = f"a route to nowhere takes what goes to {place}"
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
        if column is None:
            continue
        owners = [fabric.routers[index].device for index in announcements.columns[column].origins]
        if router.device in owners:
            return ""
        return owners[0]
    return ""


def _subnet_around(router: Router, prefix: Prefix) -> Prefix | None:
    """The switch's own subnet with a longer prefix: a route to it precedes the interface's."""
    address, length = prefix
    for subnet, _ in router.own_addresses:
        network, bits = subnet
        if len(network) == len(address) and bits < length and network_of(address, bits) == subnet:
            return subnet
    return None


def _unfiltered(router: Router) -> Iterator[tuple[Session, Mark, str]]:
    """Sessions, one of each group, without a policy in a direction, or announcing every prefix."""
    groups = {(session.group_mark, session.into, session.out_of): session for session in router.sessions}
    for session in groups.values():
        for name, direction in ((session.into, "learned from"), (session.out_of, "announced to")):
            if not name:
                yield session, session.group_mark, f"no policy filters routes {direction} {shown(session.peer)}"
        if session.out_of:
            for term in router.policy(session.out_of):
                if term.permit and term.communities is None and _matches_all_prefixes(term):
                    message = f"policy {session.out_of} announces every route of the switch to {shown(session.peer)}"
                    yield session, term.mark, message


def _matches_all_prefixes(term: Term) -> bool:
    """True for a term without a list, or with a list of every prefix."""
    if term.prefixes is None:
        return True
    for rule in term.prefixes:
        address_bits = 8 * len(rule.within[0])
        if rule.permit and (rule.within[1], rule.low, rule.high) == (0, 0, address_bits):
            return True
    return False


def _foreign(policy: Policy, probes: list[Prefix], allowed: frozenset[PrefixRule]) -> str:
    """A prefix from outside the fabric accepted by a policy: a probe, or a range outside the ``allowed`` ones."""
    communities = {frozenset[str]()} | {term.communities for term in policy if term.communities}
    for prefix in probes:
        if any(apply_policy(policy, prefix, community) is not None for community in communities):
            return shown_prefix(prefix)
    for rule in _accepted(policy):
        if not any(_contains(other, rule) for other in allowed):
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
    if not ranges:
        return frozenset()
    return max(ranges.items(), key=lambda item: item[1])[0]


def _probes(tree: RenderedTree, fabric: RoutedFabric, fabrics: tuple[RoutedFabric, ...]) -> Iterator[Prefix]:
    """Prefixes to be refused: default routes, other fabrics' prefixes, and more specific ones of the fabric's own.

    A part cut off by exceptions or a fault, or another plane, is no other fabric.
    """
    planned = declared(tree, fabric)
    yield (b"\0" * 16, 0)
    yield (b"\0" * 4, 0)
    for other in fabrics:
        is_part = other.name == fabric.name
        if planned is not None:
            is_part = declared(tree, other) is planned
        if not is_part:
            yield from islice(other.prefixes, 2)
    for address, length in fabric.prefixes:
        address_bits = 8 * len(address)
        if length < address_bits:
            yield address, length + 1
            yield address, address_bits
            break
