"""Valleys: a route that one upper neighbour told is told to no other, whichever prefix, neighbour or cable it takes."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import replace

import pytest
from tests.proofs.ethernet_trees import EOS, text_of, tree, verdict

from clusterwright.facts.router import Policy, Prefix, PrefixRule, Term
from clusterwright.proofs.ethernet.network import network_of_tree
from clusterwright.proofs.ethernet.valleys import _passes, _PolicyEffects

PREFIXES: tuple[Prefix, ...] = tuple((bytes((10, 0, index, 0)), 24) for index in range(6))
POOL: Prefix = (bytes((10, 0, 0, 0)), 16)
MARKS = (None, frozenset({"below"}), frozenset({"above"}))
LOW, HIGH = "ctsw-p00-00", "atsw-00"


def _rules(chance: random.Random) -> tuple[PrefixRule, ...]:
    """A list of single prefixes, or one with a range or a refusal among them."""
    rules = [PrefixRule(True, each, 24, 24) for each in chance.sample(PREFIXES, chance.randrange(4))]
    if chance.random() < 0.4:
        within = chance.choice((POOL, *PREFIXES))
        rules.insert(
            chance.randrange(len(rules) + 1),
            PrefixRule(chance.random() < 0.7, within, chance.choice((within[1], 24)), chance.choice((24, 32))),
        )
    return tuple(rules)


def _policy(chance: random.Random, number: int) -> Policy:
    return tuple(
        Term(
            chance.random() < 0.8,
            f"LIST-{number}-{index}",
            None if chance.random() < 0.3 else _rules(chance),
            chance.choice(MARKS),
            chance.choice(("", "set", "add", "remove")),
            frozenset({"below"}),
            (f"policy {number}",),
        )
        for index in range(chance.randrange(1, 4))
    )


def test_of_all_prefixes_that_others_announce_one_passes_or_none() -> None:
    chance = random.Random(24576)
    (fabric, *_) = network_of_tree(tree("lab-roce")).fabrics
    policies = [_policy(chance, number) for number in range(120)]
    routers = tuple(
        replace(
            router,
            networks=((PREFIXES[at % len(PREFIXES)], ()),),
            policies={str(number): policy for number, policy in enumerate(policies)},
        )
        for at, router in enumerate(fabric.routers)
    )
    effects = _PolicyEffects(replace(fabric, routers=routers))
    outcomes = set()
    for _ in range(10_000):
        into, out_of, then = (chance.choice(policies) for _ in range(3))
        at, other = chance.sample(range(len(routers)), 2)
        own, theirs = routers[at].networks[0][0], routers[other].networks[0][0]
        keeps = routers[at].keeps_communities
        # of the other's own prefix its policies may say something else; they are asked what they say of those alike
        tried = tuple(prefix for prefix in PREFIXES if prefix not in (own, theirs))
        wanted = _passes(into, out_of, then, keeps, tried)
        found = effects.passes(at, effects.number(into, at), effects.number(out_of, at), effects.number(then, other))
        if wanted is not None:
            assert found is not None
        elif found is not None:
            assert found == theirs or _passes(into, out_of, then, keeps, (found,))
        assert found != own
        outcomes.add(found)
    assert {None, *PREFIXES} == outcomes


def test_policies_of_switches_that_name_their_own_prefixes_are_one() -> None:
    (fabric, *_) = network_of_tree(tree("lab-roce")).fabrics
    effects = _PolicyEffects(fabric)
    outgoing = {
        effects.number(policy, index)
        for index, router in enumerate(fabric.routers)
        if router.device.startswith("ctsw")
        for policy in router.policies.values()
    }
    assert len(outgoing) == 4  # from and to the switches above and below


def told(text: str, entry: str, term: str = "permit 5", name: str = "LEAK") -> str:
    """A list with this entry, and what a term of TO-UP does with it before all others."""
    leak = (
        f"ipv6 prefix-list {name}\n   {entry}\n!\nroute-map TO-UP {term}\n   match ipv6 address prefix-list {name}\n!\n"
    )
    return text.replace("route-map TO-UP permit 10\n", f"{leak}route-map TO-UP permit 10\n", 1)


def everything(text: str) -> str:
    return told(text, "seq 10 permit fd00:1ab:b::/48 le 128")


def over_one_cable(text: str) -> str:
    leak = "ipv6 prefix-list LEAK\n   seq 10 permit fd00:1ab:b::/48 le 128\n!\nroute-map LEAKY permit 10\n"
    leak += "   match ipv6 address prefix-list LEAK\n!\nroute-map TO-UP permit 10\n"
    one = re.search(r"   neighbor (\S+) peer group ATSW\n", text)
    assert one is not None
    text = text.replace(one[0], f"{one[0]}   neighbor {one[1]} route-map LEAKY out\n")
    return text.replace("route-map TO-UP permit 10\n", leak, 1)


LEAKS: dict[str, Callable[[str], str]] = {
    **{
        f"one prefix of another rack, {number}": lambda text, number=number: told(  # type: ignore[misc]  # its default
            text, f"seq 10 permit fd00:1ab:b:{number}::/64"
        )
        for number in (2, 3)
    },
    "a range with one prefix in it": lambda text: told(text, "seq 10 permit fd00:1ab:b:2::/63 eq 64"),
    "all but one prefix": lambda text: told(everything(text), "seq 5 permit fd00:1ab:b:2::/64", "deny 3", "BUT"),
    "over one of several cables": over_one_cable,
}


@pytest.mark.parametrize("what", LEAKS)
def test_every_route_that_an_upper_neighbour_tells_another_is_a_valley(what: str) -> None:
    assert verdict("valley-free", tree("lab-roce", {(LOW, EOS): LEAKS[what]})).is_refuted


@pytest.mark.parametrize("refusing", ["atsw-00", "atsw-01"])
def test_a_neighbour_that_refuses_what_it_is_told_excuses_no_other(refusing: str) -> None:
    def refuse(text: str) -> str:
        return text.replace(
            "route-map FROM-DOWN permit 10\n", "route-map FROM-DOWN deny 5\n!\nroute-map FROM-DOWN permit 10\n"
        )

    assert "FROM-DOWN" in text_of("lab-roce", HIGH, EOS)
    subject = tree("lab-roce", {(LOW, EOS): everything, (refusing, EOS): refuse})
    assert verdict("valley-free", subject).is_refuted
