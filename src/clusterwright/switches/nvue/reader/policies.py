"""Reading `router policy` of NVUE: prefix lists, community lists and route maps, as NVUE hands them to FRR.

A rule that does something else is unread at its line, which leaves every claim of the file open; the rest is read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from clusterwright.facts.router import Policy, PrefixRule, PrefixRules, Term, prefix_of
from clusterwright.switches.nvue.reader.objects import Object

_BITS = {"ipv4": 32, "ipv6": 128}
_PERMIT, _DENY = "permit", "deny"


def policies(root: Object) -> Mapping[str, Policy]:
    """Route maps by name, without the rules of `unknown_rules`."""
    section = root.at("router", "policy")
    lists: dict[str, tuple[str, PrefixRules]] = {}
    for name, entry in section.items("prefix-list"):
        lists[name] = (entry.text("type", default="ipv4"), _prefixes(entry))
    communities = {name: _communities(entry) for name, entry in section.items("community-list")}
    route_maps: dict[str, Policy] = {}
    for name, entry in section.items("route-map"):
        route_maps[name] = tuple(_term(rule, lists, communities) for _, rule in _in_order(entry))
    return route_maps


def unknown_rules(root: Object) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Rules without a number, community lists with denials, and rules beyond permitting or denying.

    So are rules of a prefix list with several prefixes: FRR has one prefix for a number.

    Unread matches and settings of a rule are on no list of known objects.
    """
    for kind in ("prefix-list", "community-list", "route-map"):
        for name, policy in root.items("router", "policy", kind):
            for number, rule in policy.items("rule"):
                path = ("router", "policy", kind, name, "rule", number)
                is_read = {
                    "prefix-list": _is_single(rule),
                    "community-list": rule.text("action") == _PERMIT,
                    "route-map": _is_simple(rule),
                }
                if not number.isdecimal():
                    yield rule.line, path
                elif not is_read[kind]:
                    yield rule.line, (*path, "action")


def _is_simple(rule: Object) -> bool:
    """Whether a rule of a route map does nothing but permit or deny its routes."""
    actions = rule.at("action").below
    return (
        len(actions) == 1
        and actions.keys() <= {_PERMIT, _DENY}
        and not any(action.below for action in actions.values())
    )


def _is_single(rule: Object) -> bool:
    """Whether a rule of a prefix list permits or denies one prefix."""
    return rule.text("action") in {_PERMIT, _DENY} and len(rule.at("match").below) == 1


def _in_order(section: Object) -> list[tuple[str, Object]]:
    rules = [(number, rule) for number, rule in section.items("rule") if number.isdecimal()]
    return sorted(rules, key=lambda rule: int(rule[0]))


def _prefixes(section: Object) -> PrefixRules:
    longest = _BITS[section.text("type", default="ipv4")]
    prefixes = []
    for _, rule in _in_order(section):
        for text, bounds in rule.items("match"):
            within = prefix_of(text)
            low, high = bounds.text("min-prefix-len"), bounds.text("max-prefix-len")
            lowest = highest = within[1]
            if low:
                lowest, highest = int(low), longest
            if high:
                highest = int(high)
            prefixes.append(PrefixRule(permit=rule.text("action") == _PERMIT, within=within, low=lowest, high=highest))
    return tuple(prefixes)


def _communities(section: Object) -> frozenset[str]:
    """The communities permitted by a list."""
    communities: set[str] = set()
    for _, rule in _in_order(section):
        if rule.text("action") == _PERMIT:
            communities |= rule.at("community").below.keys()
    return frozenset(communities)


def _term(
    rule: Object, lists: Mapping[str, tuple[str, PrefixRules]], communities: Mapping[str, frozenset[str]]
) -> Term:
    """A rule of a route map, with the entries of its lists."""
    list_name, community_list = rule.text("match", "ip-prefix-list"), rule.text("match", "community-list")
    kind = rule.text("match", "type", default="ipv4")
    prefixes: PrefixRules | None = None
    if list_name:
        list_kind, list_prefixes = lists.get(list_name, (kind, ()))
        # FRR does not apply a list of the other version, so it matches nothing.
        prefixes = list_prefixes if list_kind == kind else ()
    words = frozenset(rule.at("set", "community").below)
    change = ""
    if words:
        change = "add" if "additive" in words else "set"
    return Term(
        permit=_PERMIT in rule.at("action").below,
        list_name=list_name,
        prefixes=prefixes,
        communities=communities.get(community_list, frozenset()) if community_list else None,
        change=change,
        values=words - {"additive", "none"},
        mark=rule.mark,
    )
