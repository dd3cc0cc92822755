"""Reading the routing policies of an EOS startup-config: route maps with their prefix and community lists."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache

from clusterwright.facts.router import Policy, PrefixRule, PrefixRules, Term, prefix_of
from clusterwright.switches.eos.reader.interfaces import Body

_ENTRY = re.compile(r"^   (?:seq (\d+) )?(permit|deny) (\S+)(.*)$", re.M)
_MATCH_PREFIXES = re.compile(r"^   match ip(?:v6)? address prefix-list (\S+)$", re.M)
_MATCH_COMMUNITY = re.compile(r"^   match community (\S+)$", re.M)
_SET_COMMUNITY = re.compile(r"^   set community (.+)$", re.M)


def read_policies(maps: Iterable[Body], addressing: Iterable[Body]) -> Mapping[str, Policy]:
    """The route maps by name; ``addressing`` are the statements that begin with ``ip`` or ``ipv6``.

    Raises ValueError for impossible lengths of prefixes.
    """
    prefix_lists: dict[str, PrefixRules] = {}
    community_lists: dict[str, frozenset[str]] = {}
    for header, body in addressing:
        words = header.split()
        if words[1] == "prefix-list":
            # Several statements make one list: those with an entry on the same line add it.
            entries = f"   {' '.join(words[3:])}\n" if len(words) > 3 else body
            prefix_lists[words[2]] = (*prefix_lists.get(words[2], ()), *_prefix_rules(entries))
        elif words[1] == "community-list":
            community_lists[words[2]] = community_lists.get(words[2], frozenset()) | frozenset(words[4:])
    terms_by_map: dict[str, dict[int, list[Term]]] = {}
    for header, body in maps:
        words = header.split()
        name, action, number = words[1], words[2], words[3]
        matched_prefixes = _MATCH_PREFIXES.search(body)
        matched_community = _MATCH_COMMUNITY.search(body)
        list_name, prefixes, communities = "", None, None
        if matched_prefixes is not None:
            list_name = matched_prefixes[1]
            prefixes = prefix_lists.get(list_name, ())
        if matched_community is not None:
            communities = community_lists.get(matched_community[1], frozenset())
        change, values = _community_change(body)
        term = Term(
            permit=action == "permit",
            list_name=list_name,
            prefixes=prefixes,
            communities=communities,
            change=change,
            values=values,
            mark=(f"{header}\n",),
        )
        terms_by_map.setdefault(name, {}).setdefault(int(number), []).append(term)
    return {name: _in_order(terms_by_number) for name, terms_by_number in terms_by_map.items()}


def _in_order(terms_by_number: Mapping[int, list[Term]]) -> Policy:
    policy: list[Term] = []
    for number in sorted(terms_by_number):
        policy += terms_by_number[number]
    return tuple(policy)


def _community_change(body: str) -> tuple[str, frozenset[str]]:
    """The change of a route's communities, "" for none, and the communities of that change."""
    match = _SET_COMMUNITY.search(body)
    if match is None:
        return "", frozenset()
    words = match[1].split()
    if words == ["none"]:
        return "set", frozenset()
    if words[-1] == "additive":
        return "add", frozenset(words[:-1])
    if words[-1] == "delete":
        return "remove", frozenset(words[:-1])
    return "set", frozenset(words)


@lru_cache(maxsize=4096)
def _prefix_rules(body: str) -> PrefixRules:
    """The rules of a prefix list by number; many switches have the same."""
    rules: list[tuple[int, PrefixRule]] = []
    for number, action, text, remainder in _ENTRY.findall(body):
        within = prefix_of(text)
        address, length = within
        longest = 8 * len(address)
        bounds = {word: int(value) for word, value in re.findall(r"(eq|le|ge) (\d+)", remainder)}
        if "eq" in bounds:
            low = high = bounds["eq"]
        elif "ge" in bounds:
            low, high = bounds["ge"], bounds.get("le", longest)
        else:
            low, high = length, bounds.get("le", length)
        if not length <= low <= high <= longest:
            raise ValueError(f'"{text}{remainder}" names lengths that no prefix in it has; EOS refuses the line')
        rules.append((int(number or 0), PrefixRule(permit=action == "permit", within=within, low=low, high=high)))
    rules.sort(key=lambda numbered_rule: numbered_rule[0])
    return tuple(rule for _, rule in rules)
