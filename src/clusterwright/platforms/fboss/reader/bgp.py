"""What a bgpcpp.conf says of a switch's neighbours and its policies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from clusterwright.platforms.fboss.reader.document import Json
from clusterwright.platforms.router import (
    Mark,
    Policy,
    PrefixRule,
    PrefixRules,
    Session,
    Term,
    packed,
    prefix_of,
)

_COMMUNITY_MATCH, _PREFIX_MATCH = 3, 5
_COMMUNITY_ACTION, _FLOW_ACTION = 2, 5
_ACCEPT, _DENY, _ALL, _NEXT_TERM = 1, 2, 1, 3
_CHANGES = {11: "add", 12: "set", 13: "remove"}
_EQUAL, _AT_LEAST, _AT_MOST = 1, 2, 3
_NO_GROUP: tuple[None, tuple[Mark, Mark, Mark]] = None, ((), (), ())


def sessions(bgp: Json) -> Iterator[Session]:
    """The neighbours that speak with the switch. Raises ValueError, KeyError, TypeError or AttributeError."""
    groups = {group["name"]: (group, _places(group)) for group in bgp["peer_groups"]}
    for peer in bgp["peers"]:
        group, (mark, hold_mark, restart_mark) = groups.get(peer.get("peer_group_name", ""), _NO_GROUP)
        if group is None or group.get(f"disable_ipv{6 if ':' in peer['peer_addr'] else 4}_afi"):
            continue
        timers = group.get("bgp_peer_timers", {})
        local = f'"local_addr": "{peer["local_addr"]}"'  # written right after the AS number
        yield Session(
            packed(peer["peer_addr"]),
            packed(peer["local_addr"]),
            peer["remote_as_4_byte"],
            peer.get("ingress_policy_name") or group.get("ingress_policy_name", ""),
            peer.get("egress_policy_name") or group.get("egress_policy_name", ""),
            ('"peers"', f'"peer_addr": "{peer["peer_addr"]}"'),
            mark,
            ('"peers"', f'"remote_as_4_byte": {peer["remote_as_4_byte"]},\n      {local}'),
            ('"peers"', local),
            most_routes=_most_routes(peer.get("pre_filter") or group.get("pre_filter") or {}),
            hold_time_s=timers.get("hold_time_seconds", bgp.get("hold_time", 0)),
            hold_mark=hold_mark,
            restart_s=timers.get("graceful_restart_seconds", 0),
            restart_mark=restart_mark,
        )


def _places(group: Json) -> tuple[Mark, Mark, Mark]:
    """Where a group of neighbours stands, its hold time and its restart time."""
    mark = '"peer_groups"', f'"name": "{group["name"]}"'
    restart = "graceful_restart_seconds" if "graceful_restart_seconds" in group.get("bgp_peer_timers", {}) else ""
    return mark, (*mark, '"hold_time_seconds"'), (*mark, f'"{restart or "bgp_peer_timers"}"')


def _most_routes(limits: Json) -> int:
    return 0 if limits.get("warning_only") else int(limits.get("max_routes", 0))


def policies(document: Json) -> Mapping[str, Policy]:
    """Policies by name. Raises ValueError, KeyError, TypeError or AttributeError for what has none."""
    lists = {each["name"]: tuple(map(_rule, each["prefixes"])) for each in document["prefix_lists"]}
    communities = {
        each["name"]: frozenset(member["community"]["value"] for member in each["members"])
        for each in document["community_lists"]
    }
    if any(statement["result"] != _DENY for statement in document["bgp_policy_statements"]):
        raise ValueError("a policy that does not refuse what none of its terms permits")
    return {
        statement["name"]: tuple(
            _term(entry, lists, communities, ('"bgp_policy_statements"', f'"name": "{statement["name"]}"'))
            for entry in statement["policy_entries"]
        )
        for statement in document["bgp_policy_statements"]
    }


def _rule(row: Json) -> PrefixRule:
    within = prefix_of(row["base_prefix"])
    low = high = within[1]
    for bound in row["prefix_len_ranges"]:
        value, operator = bound["value"], bound["compare_operator"]
        if operator == _EQUAL:
            low = high = value
        elif operator == _AT_LEAST:
            low, high = value, 8 * len(within[0])
        elif operator == _AT_MOST:
            high = value
    return PrefixRule(True, within, low, high)


def _term(entry: Json, lists: Mapping[str, PrefixRules], communities: Mapping[str, frozenset[str]], mark: Mark) -> Term:
    if entry["term_miss_action"] != _NEXT_TERM or any(m["match_logic_type"] != _ALL for m in entry["policy_matches"]):
        raise ValueError("a policy term that does not hand on to the next one where it does not match")
    name, prefixes, wanted = "", None, None
    for match in entry["policy_matches"]:
        for each in match["match_entries"]:
            if each["type"] == _PREFIX_MATCH:
                name = each["prefix_list"]["prefix_list_name"]
                prefixes = lists.get(name, ())
            elif each["type"] == _COMMUNITY_MATCH:
                wanted = communities.get(each["community_list"]["community_list_name"], frozenset())
    permit, change, values = False, "", frozenset[str]()
    for action in entry["policy_action_entries"]:
        if action["type"] == _FLOW_ACTION:
            permit = action["action_type"]["flow_action"] == _ACCEPT
        elif action["type"] == _COMMUNITY_ACTION:
            change = _CHANGES.get(action["action_type"]["route_action"], "")
            values = communities.get(action["community_list"]["community_list_name"], frozenset())
    return Term(permit, name, prefixes, wanted, change, values, (*mark, '"policy_entries"'))


def next_hops(bgp: Json) -> Iterator[tuple[Mark, str]]:
    """Sessions that would send neighbours past this switch."""
    for peer in bgp["peers"]:
        key = "next_hop6" if ":" in peer["local_addr"] else "next_hop4"
        if packed(peer[key]) != packed(peer["local_addr"]):
            mark = ('"peers"', f'"local_addr": "{peer["local_addr"]}"', f'"{key}"')
            yield mark, f"routes told to {peer['peer_addr']} lead to {peer[key]}, which is not this switch's end"
