"""Reading `router policy` of NVUE: prefix lists, community lists and route maps, as NVUE hands them to FRR."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from clusterwright.facts.router import Policy, PrefixRule, PrefixRules, Term, prefix_of
from clusterwright.packets.tokens import Unreadable
from clusterwright.switches.nvue.reader.objects import Object

_BITS = {"ipv4": 32, "ipv6": 128}
_PERMIT, _DENY = "permit", "deny"


def policies(root: Object) -> Mapping[str, Policy]:
    """Route maps by name. Raises Unreadable for a rule whose meaning is not known."""
    own = root.at("router", "policy")
    lists = {name: (each.text("type", default="ipv4"), _prefixes(each)) for name, each in own.items("prefix-list")}
    communities = {name: _communities(each) for name, each in own.items("community-list")}
    return {
        name: tuple(_term(rule, lists, communities) for _, rule in _in_order(each))
        for name, each in own.items("route-map")
    }


def _in_order(own: Object) -> Iterator[tuple[str, Object]]:
    rules = list(own.items("rule"))
    if not all(number.isdecimal() for number, _ in rules):
        raise Unreadable(own.line, "a rule of this has no number")
    yield from sorted(rules, key=lambda each: int(each[0]))


def _prefixes(own: Object) -> PrefixRules:
    longest = _BITS[own.text("type", default="ipv4")]
    found = []
    for _, rule in _in_order(own):
        for text, bounds in rule.items("match"):
            within = prefix_of(text)
            low, high = bounds.text("min-prefix-len"), bounds.text("max-prefix-len")
            lowest = int(low) if low else within[1]
            highest = int(high) if high else longest if low else within[1]
            found.append(PrefixRule(rule.text("action") == _PERMIT, within, lowest, highest))
    return tuple(found)


def _communities(own: Object) -> frozenset[str]:
    """The communities of a list that permits them; one with a denial is not read."""
    found: set[str] = set()
    for _, rule in _in_order(own):
        if rule.text("action") != _PERMIT:
            raise Unreadable(rule.line, "a community list that denies is not read")
        found |= rule.at("community").below.keys()
    return frozenset(found)


def _term(
    rule: Object, lists: Mapping[str, tuple[str, PrefixRules]], communities: Mapping[str, frozenset[str]]
) -> Term:
    actions = rule.at("action").below
    if len(actions) != 1 or actions.keys() - {_PERMIT, _DENY} or any(each.below for each in actions.values()):
        raise Unreadable(rule.line, "this rule does not simply permit or deny")
    unknown = rule.at("match").below.keys() - {"type", "ip-prefix-list", "community-list"}
    unknown |= rule.at("set").below.keys() - {"community", "source-ip"}  # bgpd passes over a source: zebra takes it
    if unknown:
        raise Unreadable(rule.line, f"what {min(unknown)} does to a route is not known here")
    list_name, wanted = rule.text("match", "ip-prefix-list"), rule.text("match", "community-list")
    kind = rule.text("match", "type", default="ipv4")
    own_kind, prefixes = lists.get(list_name, (kind, ()))
    words = frozenset(rule.at("set", "community").below)
    change = "add" if "additive" in words else "set" if words else ""
    return Term(
        _PERMIT in actions,
        list_name,
        # A list of the other version is asked about nothing, and so matches nothing.
        (prefixes if own_kind == kind else ()) if list_name else None,
        communities.get(wanted, frozenset()) if wanted else None,
        change,
        words - {"additive", "none"},
        rule.mark,
    )
