"""Routes followed in parts that stand for others are those of the whole fabric, whatever is wrong in it."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from tests.plans import plan_with

from clusterwright.facts.router import Policy, PrefixRule, Router, Term
from clusterwright.output.rendering import Rendering
from clusterwright.proofs.declaration import Declaration
from clusterwright.proofs.ethernet.alike import sections
from clusterwright.proofs.ethernet.edges import EdgeTable, EdgeWay, edge_table
from clusterwright.proofs.ethernet.network import KINDS, RoutedFabric, network_of_tree
from clusterwright.proofs.ethernet.parts import cut
from clusterwright.proofs.ethernet.reachability import outcome_of
from clusterwright.proofs.ethernet.routes import whole
from clusterwright.proofs.tree import tree_of

PODS = """
nodes:
  - {name: compute, count: 16}
  - {name: storage, count: 1}
"""


@pytest.fixture(scope="module")
def backend(tmp_path_factory: pytest.TempPathFactory) -> RoutedFabric:
    """The backend of four pods."""
    plan = plan_with(tmp_path_factory.mktemp("pods"), "lab-roce", PODS)
    network = network_of_tree(tree_of(plan.name, list(Rendering(plan).of_kinds(KINDS)), Declaration(plan)))
    return next(fabric for fabric in network.fabrics if fabric.name == "rtsw-ctsw-atsw")


def test_one_pod_and_another_stand_for_four(backend: RoutedFabric) -> None:
    sizes = [(len(section.fabric.routers), len(section.columns)) for section in sections(backend)]
    above, pod = 2, 4
    assert len(backend.routers) == above + 4 * pod
    assert sizes == [(above + 2 * pod, pod), (above + 2 * pod, above)]
    require_equal(backend)


def test_edges_of_a_part_are_those_that_its_own_cables_make(backend: RoutedFabric) -> None:
    """A part takes them over from the whole, and does not look for sessions again."""
    for section in sections(backend):
        taken = edge_table(backend).among(section.rows, len(backend.routers))
        own = edge_table(cut(backend, section.rows.tolist()))
        assert len(taken.way)
        assert _shown(taken) == _shown(own)


def _shown(table: EdgeTable) -> list[tuple[int, int, EdgeWay]]:
    ways = [table.ways[number] for number in table.way.tolist()]
    return list(zip(table.source.tolist(), table.target.tolist(), ways, strict=True))


def require_equal(fabric: RoutedFabric) -> None:
    """All that is judged comes out as if every column were followed through all routers."""
    by_parts, by_all = outcome_of(fabric, sections(fabric)), outcome_of(fabric, whole(fabric))
    assert (by_parts.differs, by_parts.paths) == (by_all.differs, by_all.paths)
    assert np.array_equal(by_parts.sessions, by_all.sessions)
    assert by_parts.announced.keys() == by_all.announced.keys()
    for shape, counts in by_all.announced.items():
        assert np.array_equal(by_parts.announced[shape], counts), shape


Fault = Callable[[random.Random, list[Router]], Router]


def _terms(chance: random.Random, router: Router, change: Callable[[Term], Term]) -> Router:
    """The router with a change of one term of a policy."""
    name = chance.choice(sorted(router.policies))
    policy: Policy = router.policies[name]
    at = chance.randrange(len(policy))
    return replace(router, policies={**router.policies, name: (*policy[:at], change(policy[at]), *policy[at + 1 :])})


def refuses(chance: random.Random, routers: list[Router]) -> Router:
    """A term that refuses what it let pass, or lets pass what it refused."""
    return _terms(chance, chance.choice(routers), lambda term: term._replace(permit=not term.permit))


def passes_all(chance: random.Random, routers: list[Router]) -> Router:
    """A term without its list and communities."""
    return _terms(
        chance, chance.choice(routers), lambda term: term._replace(prefixes=None, communities=None, list_name="")
    )


def names_another(chance: random.Random, routers: list[Router]) -> Router:
    """A list of single prefixes that names one of another switch too."""
    prefix = chance.choice(chance.choice(routers).networks)[0]
    rule = PrefixRule(True, prefix, prefix[1], prefix[1])
    owner = chance.choice(routers)
    return _terms(chance, owner, lambda term: term._replace(prefixes=(*(term.prefixes or ()), rule), list_name="OWN"))


def takes_a_range(chance: random.Random, routers: list[Router]) -> Router:
    """A term for the prefixes of one other switch alone."""
    address, length = chance.choice(chance.choice(routers).networks)[0]
    rules = (PrefixRule(True, (address, length), length, 128),)
    return _terms(
        chance, chance.choice(routers), lambda term: term._replace(prefixes=rules, list_name="ODD", permit=False)
    )


def announces_anothers(chance: random.Random, routers: list[Router]) -> Router:
    router, other = chance.sample(routers, 2)
    return replace(router, networks=(*router.networks, chance.choice(other.networks)))


def announces_nothing(chance: random.Random, routers: list[Router]) -> Router:
    return replace(chance.choice(routers), networks=())


def has_anothers_number(chance: random.Random, routers: list[Router]) -> Router:
    """Sessions of the switch stay as they were, so that they do not come up where the number was another."""
    router, other = chance.sample(routers, 2)
    return replace(router, asn=other.asn)


def drops_communities(chance: random.Random, routers: list[Router]) -> Router:
    return replace(chance.choice(routers), keeps_communities=False)


def lacks_a_session(chance: random.Random, routers: list[Router]) -> Router:
    router = chance.choice(routers)
    gone = chance.randrange(len(router.sessions))
    return replace(router, sessions=(*router.sessions[:gone], *router.sessions[gone + 1 :]))


FAULTS: tuple[Fault, ...] = (
    refuses,
    passes_all,
    names_another,
    takes_a_range,
    announces_anothers,
    announces_nothing,
    has_anothers_number,
    drops_communities,
    lacks_a_session,
)


@pytest.mark.parametrize("fault", FAULTS)
def test_one_fault_changes_what_the_whole_changes(backend: RoutedFabric, fault: Fault) -> None:
    """The same fault once in one switch, and once after others."""
    chance = random.Random(fault.__name__)
    differing = 0
    for _ in range(12):
        routers = list(backend.routers)
        for each in (fault, *chance.choices(FAULTS, k=chance.choice((0, 0, 2)))):
            changed = each(chance, routers)
            routers[next(index for index, router in enumerate(routers) if router.device == changed.device)] = changed
        faulty = RoutedFabric(tuple(routers), backend.links, backend.nics, backend.rank)
        require_equal(faulty)
        differing += outcome_of(faulty, sections(faulty)).differs
    assert differing, "none of these changed a route"


def test_a_fault_of_the_same_kind_everywhere_is_followed_too(backend: RoutedFabric) -> None:
    """Pods that are alike stay alike where each has the fault: all RTSWs pass routes back up."""
    routers = [
        replace(
            router,
            policies={
                name: tuple(term._replace(permit=True, prefixes=None, communities=None) for term in policy)
                for name, policy in router.policies.items()
            },
        )
        if router.stem == "rtsw"
        else router
        for router in backend.routers
    ]
    faulty = RoutedFabric(tuple(routers), backend.links, backend.nics, backend.rank)
    assert all(len(section.fabric.routers) < len(faulty.routers) for section in sections(faulty))
    require_equal(faulty)


def test_a_cable_that_is_missing_makes_its_pod_another(backend: RoutedFabric) -> None:
    for gone in range(0, len(backend.links), 37):
        links = backend.links[:gone] + backend.links[gone + 1 :]
        require_equal(RoutedFabric(backend.routers, links, backend.nics, backend.rank))


def test_two_cables_exchanged_between_pods_join_them(backend: RoutedFabric) -> None:
    """What is no longer apart below is followed as one part."""
    one, other = (
        next(index for index, link in enumerate(backend.links) if backend.routers[link.b].device == name)
        for name in ("rtsw-p00r00", "rtsw-p01r00")
    )
    links = list(backend.links)
    links[one] = links[one]._replace(b=backend.links[other].b, b_port=backend.links[other].b_port)
    links[other] = links[other]._replace(b=backend.links[one].b, b_port=backend.links[one].b_port)
    require_equal(RoutedFabric(backend.routers, tuple(links), backend.nics, backend.rank))


@pytest.mark.parametrize("at", ["above", "in a pod"])
def test_a_prefix_of_several_pods_is_followed_through_all(backend: RoutedFabric, at: str) -> None:
    """Announced by the same switch of every pod, and named by a list above or in one of them."""
    (prefix, mark), *_ = backend.routers[-1].networks
    routers = [
        replace(router, networks=(*router.networks, (prefix, mark)))
        if router.device.endswith("r00") and router is not backend.routers[-1]
        else router
        for router in backend.routers
    ]
    place = 0 if at == "above" else len(routers) - 2
    rule = PrefixRule(True, prefix, prefix[1], prefix[1])
    routers[place] = _terms(
        random.Random(at), routers[place], lambda term: term._replace(prefixes=(rule,), list_name="OWN")
    )
    require_equal(RoutedFabric(tuple(routers), backend.links, backend.nics, backend.rank))


@pytest.mark.parametrize("other", ["rtsw-p00r01", "rtsw-p01r00", "ctsw-p01-00"])
def test_who_shares_a_number_with_another_does_not_hear_it(backend: RoutedFabric, other: str) -> None:
    """Sessions come up, as their other ends expect the number; its prefixes are refused where it is one's own."""
    routers = {router.device: router for router in backend.routers}
    number = routers[other].asn
    own = next(router for router in backend.routers if router.device == "rtsw-p00r00")
    addresses = {port.address for port in own.ports}
    renumbered = [
        replace(
            router,
            asn=number if router is own else router.asn,
            sessions=tuple(
                session._replace(remote_as=number) if session.peer in addresses else session
                for session in router.sessions
            ),
        )
        for router in backend.routers
    ]
    faulty = RoutedFabric(tuple(renumbered), backend.links, backend.nics, backend.rank)
    require_equal(faulty)
