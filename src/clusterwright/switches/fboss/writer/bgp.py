"""The BGP daemon's configuration (BgpConfig in configerator/structs/neteng/fboss/bgp/bgp_config.thrift) as plain data.

Policies say what EOS's route maps say: learn only whole host prefixes and loopbacks of the fabric, send upwards only
what is one's own or came from below.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

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
# The mark of a route that came from below, as on EOS; here it stays with the route, so a route from above loses it.
FROM_BELOW = "64512:1"


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
        view.is_drained,
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
    is_drained: bool


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
                "bgp_policy_statements": [
                    statement
                    for side, _ in shape.groups
                    for statement in _statements(side, is_drained=shape.is_drained)
                ],
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


def _statements(side: str, *, is_drained: bool) -> tuple[dict[str, Any], dict[str, Any]]:
    incoming, outgoing = _working_statements(side)
    if is_drained:
        outgoing = _statement(outgoing["name"], [_term("drained", _prefix_match("FABRIC"), [_flow(DENY)])])
    return incoming, outgoing


def _working_statements(side: str) -> list[dict[str, Any]]:
    if side == "down":
        return [
            _statement("FROM-DOWN", [_term("fabric", _prefix_match("FABRIC"), [_community(COMMUNITY_ADD), _accept()])]),
            _statement(
                "TO-DOWN",
                [
                    _term("own", _prefix_match("OWN"), [_accept()]),
                    _term("fabric", _prefix_match("FABRIC"), [_accept()]),
                ],
            ),
        ]
    return [
        _statement("FROM-UP", [_term("fabric", _prefix_match("FABRIC"), [_community(COMMUNITY_REMOVE), _accept()])]),
        _statement(
            "TO-UP",
            [_term("own", _prefix_match("OWN"), [_accept()]), _term("from-below", _community_match(), [_accept()])],
        ),
    ]


def _statement(name: str, terms: list[dict[str, Any]]) -> dict[str, Any]:
    return {"name": name, "policy_version": "1", "policy_entries": terms, "result": DENY}


def _term(name: str, match: dict[str, Any], actions: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "name": name,
        "description": "",
        "policy_matches": [{"name": name, "description": "", "match_logic_type": AND, "match_entries": [match]}],
        "policy_action_entries": actions,
        "term_miss_action": NEXT_TERM,
    }


def _prefix_match(name: str) -> dict[str, Any]:
    return {"type": MATCH_PREFIXES, "prefix_list": {"prefix_list_name": name}}


def _community_match() -> dict[str, Any]:
    return {"type": MATCH_COMMUNITY, "community_list": {"community_list_name": "FROM-BELOW"}}


def _accept() -> dict[str, Any]:
    return _flow(ACCEPT)


def _flow(action: int) -> dict[str, Any]:
    return {"type": PERMIT_ACTION, "action_type": {"flow_action": action}}


def _community(action: int) -> dict[str, Any]:
    return {
        "type": COMMUNITY_ACTION,
        "action_type": {"route_action": action},
        "community_list": {"community_list_name": "FROM-BELOW"},
    }


def _mark() -> dict[str, Any]:
    return {"community": {"type": 1, "name": "FROM-BELOW", "value": FROM_BELOW}}


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
