"""Valleys: policies that differ only in prefixes that are not tried are tried once."""

from __future__ import annotations

import random

from clusterwright.platforms.router import Policy, Prefix, PrefixRule, Term
from clusterwright.proofs.ethernet.valleys import _numbered, _passes

PREFIXES: tuple[Prefix, ...] = tuple((bytes((10, 0, at, 0)), 24) for at in range(6))
POOL: Prefix = (bytes((10, 0, 0, 0)), 16)
PROBES = PREFIXES[:3]
MARKS = (None, frozenset({"below"}), frozenset({"above"}))


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
            f"LIST-{number}",
            None if chance.random() < 0.3 else _rules(chance),
            chance.choice(MARKS),
            chance.choice(("", "set", "add", "remove")),
            frozenset({"below"}),
            (f"policy {number}",),
        )
        for _ in range(chance.randrange(1, 4))
    )


def test_what_is_left_out_of_lists_decides_nothing() -> None:
    chance = random.Random(24576)
    policies = [_policy(chance, number) for number in range(200)]
    number, told = _numbered(policies, PROBES)
    outcomes = set()
    for _ in range(20_000):
        into, out_of, then = (chance.choice(policies) for _ in range(3))
        keeps = chance.random() < 0.5
        wanted = _passes(into, out_of, then, keeps, PROBES)
        one, other, last = (told[number[id(each)]] for each in (into, out_of, then))
        assert _passes(one, other, last, keeps, PROBES) == wanted
        outcomes.add(wanted)
    assert outcomes == {None, *PROBES}


def test_policies_of_switches_that_name_their_own_prefixes_are_one() -> None:
    def own(at: int) -> Policy:
        rules = tuple(PrefixRule(True, each, 24, 24) for each in (PREFIXES[at],))
        return (Term(True, "OWN", rules, None, "", frozenset(), (f"own {at}",)),)

    number, told = _numbered([own_at := own(3), other := own(4), probed := own(0)], PROBES)
    assert number[id(own_at)] == number[id(other)] != number[id(probed)]
    assert len(told) == 2
