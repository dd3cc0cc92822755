"""Every system spells one routing policy: what its text does to a route is what ``intent.routing_policy`` decided."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.plans import plan_of, plan_with

from clusterwright.facts.reader import Unsupported
from clusterwright.facts.router import Prefix, Router, apply_policy, prefix_of
from clusterwright.intent.routing_policy import (
    FROM_BELOW_COMMUNITY,
    Direction,
    Mark,
    PolicyTerm,
    RoutePolicy,
    RouteSet,
    side_policies,
)
from clusterwright.intent.switch import view_switch
from clusterwright.output.rendering import Rendering
from clusterwright.plan.model import Device, Plan
from clusterwright.switches.registry import SYSTEMS

MARKED, UNMARKED = frozenset({FROM_BELOW_COMMUNITY}), frozenset[str]()
SPEC_OF = {"eos": "lab-roce", "fboss": "lab-roce", "sonic": "lab-sonic", "nvue": "lab-nvue"}


def switches_of(plan: Plan, system: str) -> dict[str, Device]:
    """One switch of each role that runs the system and speaks BGP, by role."""
    switches: dict[str, Device] = {}
    for device in plan.devices:
        if plan.spec.catalogue[device.model].network_os == system and device.asn is not None:
            switches[device.role] = device
    return switches


def router_of(plan: Plan, device: Device, system: str) -> Router:
    texts = {artifact.path: artifact.content.decode() for artifact in Rendering(plan).of_device(device.name)}
    read = SYSTEMS[system].reader.router
    assert not isinstance(read, Unsupported)
    router = read(device.name, lambda path: texts.get(path, ""))
    assert router is not None
    return router


def fabric_prefix(plan: Plan, device: Device, own: frozenset[Prefix]) -> Prefix:
    """A prefix that another switch of the fabric announces."""
    for other in plan.devices:
        if other.kind == "switch" and other.fabric == device.fabric and other.asn is not None:
            for origin in view_switch(plan, other).origins:
                prefix = prefix_of(origin.text)
                if prefix not in own:
                    return prefix
    raise AssertionError("the fabric has no other switch")


def matches(term: PolicyTerm, routes: set[RouteSet]) -> bool:
    return term.routes is RouteSet.ALL or term.routes in routes


def expected(policy: RoutePolicy, routes: set[RouteSet]) -> bool | Mark:
    """False for a route that is refused, else the mark that it leaves with."""
    for term in policy.terms:
        if matches(term, routes):
            if not term.is_permitted:
                return False
            if term.mark is not None:
                return term.mark
            return Mark.FROM_BELOW if RouteSet.FROM_BELOW in routes else Mark.NONE
    return False


def tried_routes(plan: Plan, device: Device, router: Router) -> Iterator[tuple[Prefix, frozenset[str], set[RouteSet]]]:
    """RouteSet with their communities, and what each is to a policy."""
    own = frozenset(prefix for prefix, _ in router.networks)
    other = fabric_prefix(plan, device, own)
    address, length = other
    shorter = (address, length - 1)
    default = prefix_of("0.0.0.0/0" if len(address) == 4 else "::/0")
    for communities in (MARKED, UNMARKED):
        marked = {RouteSet.FROM_BELOW} if communities else set()
        for prefix in own:
            yield prefix, communities, {RouteSet.OWN, RouteSet.FABRIC, *marked}
        yield other, communities, {RouteSet.FABRIC, *marked}
        yield shorter, communities, marked
        yield default, communities, marked


@pytest.mark.parametrize("is_drained", [False, True])
@pytest.mark.parametrize("system", SPEC_OF)
def test_the_text_does_to_a_route_what_was_decided(system: str, is_drained: bool, tmp_path: Path) -> None:
    plan = plan_of(SPEC_OF[system])
    tried = 0
    for device in switches_of(plan, system).values():
        drained = f'exceptions:\n  - {{device: {device.name}, state: drained, reason: "new line card"}}\n'
        shown = plan_with(tmp_path, SPEC_OF[system], drained) if is_drained else plan
        router = router_of(shown, device, system)
        policies = {
            policy.name: policy
            for side in view_switch(plan, device).bgp_sides
            for policy in side_policies(side, is_drained=is_drained)
        }
        assert {name for session in router.sessions for name in (session.into, session.out_of)} == set(policies)
        for name, policy in policies.items():
            for prefix, communities, routes in tried_routes(plan, device, router):
                left = apply_policy(router.policy(name), prefix, communities)
                if policy.direction is Direction.INCOMING and left is not None:
                    left &= MARKED
                result = False if left is None else Mark.FROM_BELOW if left & MARKED else Mark.NONE
                assert result == expected(policy, routes), (device.name, name, prefix, communities)
                tried += 1
    assert tried >= 20
