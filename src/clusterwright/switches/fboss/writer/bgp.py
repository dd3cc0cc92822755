"""The BGP daemon's configuration (BgpConfig in configerator/structs/neteng/fboss/bgp/bgp_config.thrift) as plain data.

Communities stay with a route here: the mark from below is added and taken away, where other systems replace all.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from clusterwright.intent.routing_policy import FROM_BELOW_COMMUNITY, Mark, PolicyTerm, RoutePolicy, RouteSet
from clusterwright.intent.switch_sessions import GRACEFUL_RESTART_S, HOLD_TIME_S, KEEPALIVE_S, RouteLimit, route_limit
from clusterwright.text.json_lines import NUMBER, Filled, Form
from clusterwright.text.places import PLACE

if TYPE_CHECKING:
    from clusterwright.intent.switch import SwitchView

ACCEPT, DENY, NEXT_TERM = 1, 2, 3
PERMIT_ACTION, COMMUNITY_ACTION = 5, 2
MATCH_COMMUNITY, MATCH_PREFIXES = 3, 5
COMMUNITY_ADD, COMMUNITY_REMOVE = 11, 13
AND, OR = 1, 2
EQUAL_LENGTH = 1
IP_VERSION = {4: 1, 6: 2}


def bgp_config(view: SwitchView) -> Filled | None:
    """The BgpConfig of one switch; None where no neighbour speaks BGP."""
    if view.device.asn is None or view.router_id is None or not view.bgp_sides:
        return None
    own = [origin.text for origin in view.origins]
    sessions = view.sessions
    limits = {side: route_limit(found) for side in view.bgp_sides if (found := [s for s in sessions if s.side == side])}
    shape = _BgpShape(
        view.version,
        tuple((side, limits.get(side)) for side in view.bgp_sides),
        tuple(session.side for session in sessions),
        len(own),
        view.pools,
        view.routing_policies,
    )
    values = [
        value for each in sessions for value in (each.remote_as, each.local, each.remote, each.local, each.description)
    ]
    return _of_shape(shape).fill(view.router_id, view.device.asn, *own, *values, *own)


class _BgpShape(NamedTuple):
    """What a document depends on beside the texts that fill it: the ``groups`` of neighbours by side with their limits,
    the sides of its ``sessions``, and how many prefixes the switch announces itself, ``own``."""

    version: int
    groups: tuple[tuple[str, RouteLimit | None], ...]
    sessions: tuple[str, ...]
    own: int
    pools: tuple[tuple[str, int], ...]
    policies: tuple[RoutePolicy, ...]


@lru_cache(maxsize=256)
def _of_shape(shape: _BgpShape) -> Form:
    """With places for the router's ID, its AS number, its own prefixes, what fills peers, and its prefixes again."""
    own = [{"prefix": PLACE, "install_to_fib": False, "communities": []}] * shape.own
    version = shape.version
    return Form(
        {
            "router_id": PLACE,
            "local_as_4_byte": NUMBER,
            "hold_time": HOLD_TIME_S,
            "listen_port": 179,
            "networks4": own if version == 4 else [],
            "networks6": own if version == 6 else [],
            "peer_groups": [_peer_group(version, side, limit) for side, limit in shape.groups],
            "peers": [_peer(version, side) for side in shape.sessions],
            "policies": {
                "bgp_policy_statements": [_statement(policy) for policy in shape.policies],
                "prefix_lists": [_fabric_prefixes(version, shape.pools), _own_prefixes(version, shape.own)],
                "community_lists": [{"name": "FROM-BELOW", "description": "", "members": [_mark()]}],
            },
        }
    )


def _peer_group(version: int, side: str, limit: RouteLimit | None) -> dict[str, Any]:
    name = side.upper()
    group: dict[str, Any] = {
        "name": name,
        "description": f"neighbours {'above' if side == 'up' else 'below'}",
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
    if limit is not None:
        group["pre_filter"] = {
            "max_routes": limit.maximum,
            "warning_only": False,
            "warning_limit": limit.warning,
        }
    return group


def _peer(version: int, side: str) -> dict[str, Any]:
    """A neighbour, with places for its AS number, both addresses, the next hop and what it is."""
    return {
        "remote_as_4_byte": NUMBER,
        "local_addr": PLACE,
        "peer_addr": PLACE,
        "next_hop4": PLACE if version == 4 else "0.0.0.0",  # noqa: S104 - "none", not a listener
        "next_hop6": PLACE if version == 6 else "::",
        "description": PLACE,
        "peer_group_name": side.upper(),
    }


def _statement(policy: RoutePolicy) -> dict[str, Any]:
    """A policy; a route that no term decides is denied."""
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
    return [_community(COMMUNITY_ADD if term.mark is Mark.FROM_BELOW else COMMUNITY_REMOVE), _flow(ACCEPT)]


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
    entries = [
        {
            "base_prefix": network,
            "prefix_len_ranges": [{"value": length, "compare_operator": EQUAL_LENGTH}],
        }
        for network, length in pools
    ]
    return _prefix_list(version, "FABRIC", "host prefixes and loopbacks", entries)


def _own_prefixes(version: int, count: int) -> dict[str, Any]:
    entries: list[dict[str, Any]] = [{"base_prefix": PLACE, "prefix_len_ranges": []}] * count
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
