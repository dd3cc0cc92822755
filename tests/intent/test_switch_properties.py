"""What switches are told in generated clusters: sessions in pairs, policies that lose no route, unique addresses."""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.strategies import EXAMPLES, Case, built_to_fit

from clusterwright.finding import SpecError
from clusterwright.intent.routing_policy import Direction, Mark, PolicyTerm, RoutePolicy, RouteSet
from clusterwright.intent.switch import SwitchView, view_switch
from clusterwright.plan.build import build_plan
from clusterwright.plan.model import Plan
from clusterwright.spec.load import load_spec

TOO_FEW_PORTS = "CW201"

Views = dict[str, SwitchView]

FEWER = settings(max_examples=EXAMPLES // 3)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One folder for all examples of this module: each example writes its two files anew."""
    return tmp_path_factory.mktemp("switches")


@given(case=built_to_fit())
@FEWER
def test_each_session_has_one_counterpart(case: Case, folder: Path) -> None:
    plan = plan_of(case, folder)
    views = views_of(plan)
    ends = [(name, session) for name, view in views.items() for session in view.sessions]
    assume(ends)
    counterparts = {(session.neighbour, session.remote, session.local): (name, session) for name, session in ends}
    assert len(counterparts) == len(ends)
    for name, session in ends:
        far_name, far = counterparts[name, session.local, session.remote]
        assert far_name == session.neighbour
        assert far.neighbour == name
        assert session.remote_as == plan.by_name[far_name].asn
        assert far.remote_as == plan.by_name[name].asn
        assert {session.side, far.side} == {"up", "down"}
        assert session.bfd == far.bfd
        assert session.authentication == far.authentication


@given(case=built_to_fit(), data=st.data())
@FEWER
def test_a_route_reaches_just_those_above_below_and_beside(case: Case, data: st.DataObject, folder: Path) -> None:
    """By the policies' own terms a route climbs and then descends, and passes no drained switch but the last."""
    views = views_of(plan_of(case, folder))
    speakers = sorted(name for name, view in views.items() if view.sessions and view.origins)
    assume(speakers)
    drained = data.draw(st.sets(st.sampled_from(speakers), max_size=2))
    if drained:
        case = case.with_exceptions(*({"device": name, "state": "drained"} for name in sorted(drained)))
        views = views_of(plan_of(case, folder))
    origin = data.draw(st.sampled_from(speakers))
    assert learned_by_policy(views, origin) == reached_by_paths(views, origin, drained)


def learned_by_policy(views: Views, origin: str) -> set[str]:
    """The switches that learn the prefixes of one, by the terms of both ends of every session."""
    learned: set[tuple[str, Mark | None]] = {(origin, None)}
    waiting: list[tuple[str, Mark | None, bool]] = [(origin, None, True)]
    while waiting:
        name, mark, is_own = waiting.pop()
        view = views[name]
        for session in view.sessions:
            if permitting(policy_of(view, session.side, Direction.OUTGOING), mark, is_own=is_own) is None:
                continue
            far = views[session.neighbour]
            far_side = {"up": "down", "down": "up"}[session.side]
            term = permitting(policy_of(far, far_side, Direction.INCOMING), None, is_own=False)
            if term is None or (far.device.name, term.mark) in learned or far.device.name == origin:
                continue
            learned.add((far.device.name, term.mark))
            waiting.append((far.device.name, term.mark, False))
    return {name for name, _ in learned} - {origin}


def policy_of(view: SwitchView, side: str, direction: Direction) -> RoutePolicy:
    policies = (p for p in view.routing_policies if p.group == side.upper() and p.direction is direction)
    return next(policies)


def permitting(policy: RoutePolicy, mark: Mark | None, *, is_own: bool) -> PolicyTerm | None:
    """The term that lets a route of the fabric pass; None where none does."""
    for term in policy.terms:
        matches = {
            RouteSet.OWN: is_own,
            RouteSet.FABRIC: True,
            RouteSet.FROM_BELOW: mark is Mark.FROM_BELOW,
            RouteSet.BORDER: False,
            RouteSet.ALL: True,
        }
        if matches[term.routes]:
            return term if term.is_permitted else None
    return None


def reached_by_paths(views: Views, origin: str, drained: set[str]) -> set[str]:
    """The switches at the ends of paths over sessions: up to any height, then down, out of no drained switch."""
    up: dict[str, set[str]] = defaultdict(set)
    down: dict[str, set[str]] = defaultdict(set)
    for name, view in views.items():
        if name in drained:
            continue
        for session in view.sessions:
            (up if session.side == "up" else down)[name].add(session.neighbour)
    climbed = closure({origin}, up)
    return closure(climbed, down) - {origin}


def closure(start: set[str], neighbours: dict[str, set[str]]) -> set[str]:
    reached, waiting = set(start), list(start)
    while waiting:
        for name in neighbours[waiting.pop()] - reached:
            reached.add(name)
            waiting.append(name)
    return reached


@given(case=built_to_fit(), data=st.data())
@FEWER
def test_a_drained_switch_keeps_its_sessions_and_announces_nothing(
    case: Case, data: st.DataObject, folder: Path
) -> None:
    before = views_of(plan_of(case, folder))
    speakers = sorted(name for name, view in before.items() if view.sessions)
    assume(speakers)
    name = data.draw(st.sampled_from(speakers))
    after = views_of(plan_of(case.with_exceptions({"device": name, "state": "drained"}), folder))
    for other, view in after.items():
        assert view.sessions == before[other].sessions
        assert view.origins == before[other].origins
    for policy, ready in zip(after[name].routing_policies, before[name].routing_policies, strict=True):
        if policy.direction is Direction.INCOMING:
            assert policy == ready
        else:
            marks = (None, Mark.NONE, Mark.FROM_BELOW)
            assert all(permitting(policy, mark, is_own=own) is None for mark in marks for own in (True, False))
    assert after.keys() == before.keys()
    untouched = after.keys() - {name}
    assert all(after[other].routing_policies == before[other].routing_policies for other in untouched)


@given(case=built_to_fit())
@FEWER
def test_no_two_interfaces_have_one_address(case: Case, folder: Path) -> None:
    plan = plan_of(case, folder)
    views = views_of(plan)
    addresses: Counter[str] = Counter()
    router_ids: Counter[tuple[str, str]] = Counter()
    for view in views.values():
        addresses.update(link.address.partition("/")[0] for link in view.links if link.address is not None)
        addresses.update([view.loopback] if view.loopback is not None else [])
        if view.sessions and view.router_id is not None:
            router_ids[view.fabric.name, view.router_id] += 1
    assert addresses.total() or not any(view.links for view in views.values() if not view.shares_subnet)
    assert not [address for address, count in addresses.items() if count > 1]
    assert not [router_id for router_id, count in router_ids.items() if count > 1]


def plan_of(case: Case, folder: Path) -> Plan:
    """The plan of a drawn cluster; one in thousands outgrows the ports of the largest switch drawn."""
    try:
        return build_plan(load_spec(case.write(folder)))
    except SpecError as error:
        assume({finding.code for finding in error.findings} != {TOO_FEW_PORTS})
        raise


def views_of(plan: Plan) -> Views:
    """The switches of fabrics with addresses, by name."""
    addressed = {fabric.name for fabric in plan.spec.fabrics if fabric.addressing is not None}
    switches = (device for device in plan.devices if device.kind == "switch" and device.fabric in addressed)
    return {device.name: view_switch(plan, device) for device in switches}
