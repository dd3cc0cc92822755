"""Reading a switch's neighbours and its policies from bgpcpp.conf."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from itertools import chain
from typing import Any, NamedTuple

from clusterwright.facts.router import (
    Mark,
    Policy,
    PrefixRule,
    PrefixRules,
    Session,
    Term,
    packed,
    prefix_of,
)
from clusterwright.switches.fboss.reader.document import FileInParts, FileShape, Json, is_blank

_COMMUNITY_MATCH, _PREFIX_MATCH = 3, 5
_COMMUNITY_ACTION, _FLOW_ACTION = 2, 5
_ACCEPT, _DENY, _ALL, _NEXT_TERM = 1, 2, 1, 3
_CHANGES = {11: "add", 12: "set", 13: "remove"}
_EQUAL, _AT_LEAST, _AT_MOST = 1, 2, 3
_NO_GROUP: tuple[None, tuple[Mark, Mark, Mark]] = None, ((), (), ())


class _Neighbour(NamedTuple):
    """One of ``peers`` with its group's settings; its addresses and its AS number may be blanks.

    ``silent`` are the IP versions the group does not use.
    """

    peer: Any
    local: Any
    remote_as: Any
    silent: frozenset[int]
    into: str
    out_of: str
    marks: tuple[Mark, Mark, Mark]
    most_routes: int
    hold_time_s: int
    restart_s: int | None


def sessions(document: FileInParts) -> tuple[Session, ...]:
    """The switch's active neighbours. Raises ValueError, KeyError, TypeError or AttributeError."""
    if document.words:
        with suppress(ValueError, KeyError, TypeError, AttributeError):
            return tuple(_speaking(_neighbours(document.shape), document.words.__getitem__))
    return tuple(_speaking(_rows(document.value), _as_it_is))  # reports the first mistake


def _version(address: str) -> int:
    return 6 if ":" in address else 4


def _as_it_is(value: Any) -> Any:
    return value


@lru_cache(maxsize=256)
def _neighbours(shape: FileShape) -> tuple[_Neighbour, ...]:
    return tuple(_rows(shape.outline))


def _rows(bgp: Json) -> Iterator[_Neighbour]:
    groups = {group["name"]: (group, _places(group)) for group in bgp["peer_groups"]}
    for peer in bgp["peers"]:
        group, marks = groups.get(peer.get("peer_group_name", ""), _NO_GROUP)
        if group is None:
            continue
        address, silent = (
            peer["peer_addr"],
            frozenset(version for version in (4, 6) if group.get(f"disable_ipv{version}_afi")),
        )
        if not is_blank(address) and _version(address) in silent:
            continue
        timers = group.get("bgp_peer_timers", {})
        yield _Neighbour(
            peer=address,
            local=peer["local_addr"],
            remote_as=peer["remote_as_4_byte"],
            silent=silent,
            into=peer.get("ingress_policy_name") or group.get("ingress_policy_name", ""),
            out_of=peer.get("egress_policy_name") or group.get("egress_policy_name", ""),
            marks=marks,
            most_routes=_most_routes(peer.get("pre_filter") or group.get("pre_filter") or {}),
            hold_time_s=timers.get("hold_time_seconds", bgp.get("hold_time", 0)),
            restart_s=timers.get("graceful_restart_seconds", 0),
        )


def _speaking(rows: Iterable[_Neighbour], value_of: Callable[[Any], Any]) -> Iterator[Session]:
    """Sessions of rows with filled blanks."""
    for peer, local, remote_as, silent, into, out_of, marks, most_routes, hold_time_s, restart_s in rows:
        neighbour, local_address, number = value_of(peer), value_of(local), value_of(remote_as)
        if _version(neighbour) in silent:
            continue
        group_mark, hold_mark, restart_mark = marks
        local_line = f'"local_addr": "{local_address}"'  # written right after the AS number
        yield Session(
            peer=packed(neighbour),
            local=packed(local_address),
            remote_as=number,
            into=into,
            out_of=out_of,
            mark=('"peers"', f'"peer_addr": "{neighbour}"'),
            group_mark=group_mark,
            as_mark=('"peers"', f'"remote_as_4_byte": {number},\n      {local_line}'),
            local_mark=('"peers"', local_line),
            most_routes=most_routes,
            hold_time_s=hold_time_s,
            hold_mark=hold_mark,
            restart_s=restart_s,
            restart_mark=restart_mark,
        )


def _places(group: Json) -> tuple[Mark, Mark, Mark]:
    """Places of a group of neighbours, its hold time and its restart time."""
    mark = '"peer_groups"', f'"name": "{group["name"]}"'
    restart = "graceful_restart_seconds" if "graceful_restart_seconds" in group.get("bgp_peer_timers", {}) else ""
    return mark, (*mark, '"hold_time_seconds"'), (*mark, f'"{restart or "bgp_peer_timers"}"')


def _most_routes(limits: Json) -> int:
    return 0 if limits.get("warning_only") else int(limits.get("max_routes", 0))


def policies(document: FileInParts) -> Mapping[str, Policy]:
    """Policies by name. Raises ValueError, KeyError, TypeError or AttributeError for a file without any."""
    term_lists = _without_prefixes(document.shape) if document.words else None
    section = document.value["policies"] if term_lists is None else document.shape.outline["policies"]
    lists: dict[str, PrefixRules] = {}
    for prefix_list in section["prefix_lists"]:
        rows = prefix_list["prefixes"]
        lists[prefix_list["name"]] = tuple(_rule(row, document.said(row["base_prefix"])) for row in rows)
    if term_lists is None:
        return _policies(section, lists)
    return {name: _with_prefixes(policy, lists) for name, policy in term_lists.items()}


def _with_prefixes(policy: Policy, lists: Mapping[str, PrefixRules]) -> Policy:
    """The policy with the prefixes of its lists."""
    terms: list[Term] = []
    for term in policy:
        if term.prefixes is None:
            terms.append(term)
        else:
            terms.append(term._replace(prefixes=lists.get(term.list_name, ())))
    return tuple(terms)


@lru_cache(maxsize=256)
def _without_prefixes(shape: FileShape) -> Mapping[str, Policy] | None:
    """The policies of all files of a shape, with no prefix in their lists.

    None for policies with a blank outside of prefixes, or unreadable ones.
    """
    try:
        section = shape.outline["policies"]
        names = [prefix_list["name"] for prefix_list in section["prefix_lists"]]
        rows = chain.from_iterable(prefix_list["prefixes"] for prefix_list in section["prefix_lists"])
        ranges = [row["prefix_len_ranges"] for row in rows]
        policies = _policies(section, {})
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
    return None if r"\x00" in repr((names, policies, ranges)) else policies


def _policies(section: Json, lists: Mapping[str, PrefixRules]) -> Mapping[str, Policy]:
    """The policies of a section with the prefixes in ``lists``. Raises ValueError for other defaults than a denial."""
    communities: dict[str, frozenset[str]] = {}
    for community_list in section["community_lists"]:
        values = [member["community"]["value"] for member in community_list["members"]]
        communities[community_list["name"]] = frozenset(values)
    statements = section["bgp_policy_statements"]
    if any(statement["result"] != _DENY for statement in statements):
        raise ValueError("a policy that does not refuse what none of its terms permits")
    policies: dict[str, Policy] = {}
    for statement in statements:
        mark = ('"bgp_policy_statements"', f'"name": "{statement["name"]}"')
        entries = statement["policy_entries"]
        policies[statement["name"]] = tuple(_term(entry, lists, communities, mark) for entry in entries)
    return policies


def _rule(row: Json, prefix: str) -> PrefixRule:
    within = prefix_of(prefix)
    low = high = within[1]
    for bound in row["prefix_len_ranges"]:
        value, operator = bound["value"], bound["compare_operator"]
        if operator == _EQUAL:
            low = high = value
        elif operator == _AT_LEAST:
            low, high = value, 8 * len(within[0])
        elif operator == _AT_MOST:
            high = value
    return PrefixRule(permit=True, within=within, low=low, high=high)


def _term(entry: Json, lists: Mapping[str, PrefixRules], communities: Mapping[str, frozenset[str]], mark: Mark) -> Term:
    hands_on = entry["term_miss_action"] == _NEXT_TERM
    if not hands_on or any(match["match_logic_type"] != _ALL for match in entry["policy_matches"]):
        raise ValueError("a policy term that does not hand on to the next one where it does not match")
    list_name, prefixes, matched_communities = "", None, None
    for match in entry["policy_matches"]:
        for condition in match["match_entries"]:
            if condition["type"] == _PREFIX_MATCH:
                list_name = condition["prefix_list"]["prefix_list_name"]
                prefixes = lists.get(list_name, ())
            elif condition["type"] == _COMMUNITY_MATCH:
                community_list = condition["community_list"]["community_list_name"]
                matched_communities = communities.get(community_list, frozenset())
    permit, change, values = False, "", frozenset[str]()
    for action in entry["policy_action_entries"]:
        if action["type"] == _FLOW_ACTION:
            permit = action["action_type"]["flow_action"] == _ACCEPT
        elif action["type"] == _COMMUNITY_ACTION:
            change = _CHANGES.get(action["action_type"]["route_action"], "")
            values = communities.get(action["community_list"]["community_list_name"], frozenset())
    return Term(
        permit=permit,
        list_name=list_name,
        prefixes=prefixes,
        communities=matched_communities,
        change=change,
        values=values,
        mark=(*mark, '"policy_entries"'),
    )


def next_hops(document: FileInParts) -> Iterator[tuple[Mark, str]]:
    """Sessions with a next hop other than this switch."""
    for peer in document.shape.outline["peers"]:
        local_address = document.said(peer["local_addr"])
        address, key = packed(local_address), f"next_hop{_version(local_address)}"
        hop = document.said(peer[key])
        if hop != local_address and packed(hop) != address:
            mark = ('"peers"', f'"local_addr": "{local_address}"', f'"{key}"')
            neighbour = document.said(peer["peer_addr"])
            yield mark, f"routes told to {neighbour} lead to {hop}, which is not this switch's end"
