"""Leaks: routes that could leave their fabric, or come into it from outside, and default routes."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.verify.check import Counterexample
from clusterwright.verify.ethernet.culprit import odd_mark
from clusterwright.verify.ethernet.network import Fabric
from clusterwright.verify.ethernet.router import (
    Policy,
    Prefix,
    apply_policy,
    example,
    shown_prefix,
)
from clusterwright.verify.tree import RenderedTree


def leaks(tree: RenderedTree, fabric: Fabric, fabrics: tuple[Fabric, ...]) -> Iterator[Counterexample]:
    """Default routes, foreign sources of routes, and policies that would accept what is no route of this fabric."""
    probes = list(_probes(fabric, fabrics))
    judged: dict[Policy, Prefix | None] = {}
    for router in fabric.routers:
        for mark in router.defaults:
            yield example(
                tree, router.device, router.ports_file, mark, "a default route leads traffic out of the fabric"
            )
        for mark, message in router.leaks:
            yield example(tree, router.device, router.bgp_file, mark, message)
        for prefix, mark in router.networks:
            if prefix[1] == 0:
                yield example(tree, router.device, router.bgp_file, mark, "the default route is announced")
        names = {session.into: session for session in router.sessions}
        for name, session in names.items():
            policy = router.policy(name)
            if policy not in judged:
                judged[policy] = next((each for each in probes if _accepts(policy, each)), None)
            foreign = judged[policy]
            if foreign is not None:
                mark = odd_mark(tree, fabric, router, policy[0].mark or session.group_mark)
                message = f"policy {name or '(none)'} accepts {shown_prefix(foreign)}, which is no route of this fabric"
                yield example(tree, router.device, router.bgp_file, mark, message)


def _accepts(policy: Policy, prefix: Prefix) -> bool:
    return apply_policy(policy, prefix, frozenset()) is not None


def _probes(fabric: Fabric, fabrics: tuple[Fabric, ...]) -> Iterator[Prefix]:
    """What must not be accepted: default routes, other fabrics' prefixes, and halves and wholes of the own."""
    yield (b"\0" * 16, 0)
    yield (b"\0" * 4, 0)
    own = [prefix for router in fabric.routers for prefix, _ in router.networks]
    for other in fabrics:
        if other is not fabric and other.name != fabric.name:
            yield from [prefix for router in other.routers for prefix, _ in router.networks][:2]
    hosts = next((prefix for prefix in own if prefix[1] < 8 * len(prefix[0])), None)
    if hosts is not None:
        yield hosts[0], hosts[1] + 1
        yield hosts[0], 8 * len(hosts[0])


def islands(tree: RenderedTree, fabrics: tuple[Fabric, ...]) -> Iterator[Counterexample]:
    """Parts of one fabric that no cable joins: the same tiers, whose policies would take each other's routes."""
    for at, part in enumerate(fabrics):
        for other in fabrics[:at]:
            if part.name != other.name:
                continue
            router = part.routers[0]
            prefix = next((prefix for each in other.routers for prefix, _ in each.networks), None)
            if prefix is not None and any(_accepts(router.policy(each.into), prefix) for each in router.sessions[:1]):
                message = (
                    f"{len(part.routers):,} switches with this one and {len(other.routers):,} with "
                    f"{other.routers[0].device} are one fabric, {part.name}, but no cable joins them"
                )
                yield example(tree, router.device, router.bgp_file, (), message)
