"""The BGP daemon's configuration (BgpConfig in configerator/structs/neteng/fboss/bgp/bgp_config.thrift) as plain data.

A route keeps its communities here: the mark from below is added or removed, while other systems replace all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clusterwright.intent.routing_policy import FROM_BELOW_COMMUNITY, Mark, PolicyTerm, RoutePolicy, RouteSet
from clusterwright.intent.switch_sessions import (
    GRACEFUL_RESTART_S,
    HOLD_TIME_S,
    KEEPALIVE_S,
    PlannedSession,
    route_limit,
)

if TYPE_CHECKING:
    from clusterwright.intent.switch import Prefix, SwitchView

ACCEPT, DENY, NEXT_TERM = 1, 2, 3
PERMIT_ACTION, COMMUNITY_ACTION = 5, 2
MATCH_COMMUNITY, MATCH_PREFIXES = 3, 5
COMMUNITY_ADD, COMMUNITY_REMOVE = 11, 13
AND, OR = 1, 2
EQUAL_LENGTH = 1
IP_VERSION = {4: 1, 6: 2}


def speaks_bgp(view: SwitchView) -> bool:
    """True for a switch with an AS number, a router ID and a neighbouring switch."""
    return view.device.asn is not None and view.router_id is not None and bool(view.bgp_sides)


def bgp_config(view: SwitchView) -> dict[str, Any]:
    """The BgpConfig of one switch with BGP."""
    version = view.version
    networks = [{"prefix": origin.text, "install_to_fib": False, "communities": []} for origin in view.origins]
    return {
        "router_id": view.router_id,
        "local_as_4_byte": view.device.asn,
        "hold_time": HOLD_TIME_S,
        "listen_port": 179,
        "networks4": networks if version == 4 else [],
        "networks6": networks if version == 6 else [],
        "peer_groups": [_peer_group(view, side) for side in view.bgp_sides],
        "peers": [_peer(version, session) for session in view.sessions],
        "policies": {
            "bgp_policy_statements": [_statement(policy) for policy in view.routing_policies],
            "prefix_lists": [_fabric_prefixes(version, view.pools), _own_prefixes(version, view.origins)],
            "community_lists": [{"name": "FROM-BELOW", "description": "", "members": [_mark()]}],
        },
    }


def _peer_group(view: SwitchView, side: str) -> dict[str, Any]:
    version = view.version
    sessions = [session for session in view.sessions if session.side == side]
    name = side.upper()
    position = "above" if side == "up" else "below"
    group: dict[str, Any] = {
        "name": name,
        "description": f"neighbours {position}",
        "disable_ipv4_afi": version == 6,
        "disable_ipv6_afi": version == 4,
        "ingress_policy_name": f"FROM-{name}",
        "egress_policy_name": f"TO-{name}",
        "bgp_peer_timers": {
            "hold_time_seconds": HOLD_TIME_S,
            "keep_alive_seconds": KEEPALIVE_S,
            "out_delay_seconds": 0,
            "withdraw_unprog_delay_seconds": 0,
            "graceful_restart_seconds": GRACEFUL_RESTART_S,
        },
    }
    if sessions:
        limit = route_limit(sessions)
        group["pre_filter"] = {
            "max_routes": limit.maximum,
            "warning_only": False,
            "warning_limit": limit.warning,
        }
    return group


def _peer(version: int, session: PlannedSession) -> dict[str, Any]:
    return {
        "remote_as_4_byte": session.remote_as,
        "local_addr": session.local,
        "peer_addr": session.remote,
        "next_hop4": session.local if version == 4 else "0.0.0.0",  # noqa: S104 - "none", not a listener
        "next_hop6": session.local if version == 6 else "::",
        "description": session.description,
        "peer_group_name": session.side.upper(),
    }


def _statement(policy: RoutePolicy) -> dict[str, Any]:
    """A policy; a route outside its terms is denied."""
    return {
        "name": policy.name,
        "policy_version": "1",
        "policy_entries": [_term(term) for term in policy.terms],
        "result": DENY,
    }


def _term(term: PolicyTerm) -> dict[str, Any]:
    return {
        "name": term.name,
        "description": "",
        "policy_matches": [
            {"name": term.name, "description": "", "match_logic_type": AND, "match_entries": [_match(term.routes)]}
        ],
        "policy_action_entries": _actions(term),
        "term_miss_action": NEXT_TERM,
    }


def _match(routes: RouteSet) -> dict[str, Any]:
    match routes:
        case RouteSet.OWN:
            return _prefix_match("OWN")
        case RouteSet.FABRIC | RouteSet.ALL:  # every other route is denied by the statement's result
            return _prefix_match("FABRIC")
        case RouteSet.FROM_BELOW:
            return _community_match()
        case RouteSet.BORDER:
            raise ValueError("borders are refused on FBOSS")


def _actions(term: PolicyTerm) -> list[dict[str, Any]]:
    if not term.is_permitted:
        return [_flow(DENY)]
    if term.mark is None:
        return [_flow(ACCEPT)]
    action = COMMUNITY_ADD if term.mark is Mark.FROM_BELOW else COMMUNITY_REMOVE
    return [_community(action), _flow(ACCEPT)]


def _prefix_match(name: str) -> dict[str, Any]:
    return {"type": MATCH_PREFIXES, "prefix_list": {"prefix_list_name": name}}


def _community_match() -> dict[str, Any]:
    return {"type": MATCH_COMMUNITY, "community_list": {"community_list_name": "FROM-BELOW"}}


def _flow(action: int) -> dict[str, Any]:
    return {"type": PERMIT_ACTION, "action_type": {"flow_action": action}}


def _community(action: int) -> dict[str, Any]:
    return {
        "type": COMMUNITY_ACTION,
        "action_type": {"route_action": action},
        "community_list": {"community_list_name": "FROM-BELOW"},
    }


def _mark() -> dict[str, Any]:
    return {"community": {"type": 1, "name": "FROM-BELOW", "value": FROM_BELOW_COMMUNITY}}


def _fabric_prefixes(version: int, pools: tuple[tuple[str, int], ...]) -> dict[str, Any]:
    entries = []
    for network, length in pools:
        exact_length = {"value": length, "compare_operator": EQUAL_LENGTH}
        entries.append({"base_prefix": network, "prefix_len_ranges": [exact_length]})
    return _prefix_list(version, "FABRIC", "host prefixes and loopbacks", entries)


def _own_prefixes(version: int, origins: tuple[Prefix, ...]) -> dict[str, Any]:
    entries: list[dict[str, Any]] = [{"base_prefix": origin.text, "prefix_len_ranges": []} for origin in origins]
    return _prefix_list(version, "OWN", "announced by this switch", entries)


def _prefix_list(version: int, name: str, description: str, entries: list[dict[str, Any]]) -> dict[str, Any]:
    numbered = [entry | {"seq_num": 10 * number} for number, entry in enumerate(entries, 1)]
    return {
        "name": name,
        "description": description,
        "prefixes": numbered,
        "boolean_operator": OR,
        "ip_version": IP_VERSION[version],
    }
