"""BGP on SONiC, in the tables of its management framework: the same policy as on EOS and FBOSS."""

from __future__ import annotations

from itertools import chain
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
    from collections.abc import Iterator

    from clusterwright.intent.switch import SwitchView

VRF = "default"
PERCENT = 100


def bgp_tables(view: SwitchView) -> dict[str, Any]:
    """The BGP process, its neighbours and policies in both directions; none without a BGP neighbour."""
    if view.device.asn is None or not view.bgp_sides:
        return {}
    family = f"ipv{view.version}_unicast"
    groups = [side.upper() for side in view.bgp_sides]
    discards = [origin for origin in view.origins if not origin.is_connected]
    process = {
        "local_asn": str(view.device.asn),
        "router_id": view.router_id,
        "load_balance_mp_relax": "true",
        "default_ipv4_unicast": "false",
        "network_import_check": "false",
        "log_nbr_state_changes": "true",
        "graceful_restart_enable": "true",
        "gr_restart_time": str(GRACEFUL_RESTART_S),
        "keepalive": str(KEEPALIVE_S),
        "holdtime": str(HOLD_TIME_S),
    }
    return {
        "BGP_GLOBALS": {VRF: process},
        "BGP_GLOBALS_AF": {f"{VRF}|{family}": {"max_ebgp_paths": str(view.ecmp_width)}},
        "BGP_GLOBALS_AF_NETWORK": {f"{VRF}|{family}|{origin.text}": {} for origin in view.origins},
        "STATIC_ROUTE": {f"{VRF}|{origin.text}": {"blackhole": "true"} for origin in discards},
        "BGP_PEER_GROUP": {f"{VRF}|{group}": _group(view, group) for group in groups},
        "BGP_PEER_GROUP_AF": {f"{VRF}|{group}|{family}": _group_family(view, group) for group in groups},
        "BGP_NEIGHBOR": {f"{VRF}|{session.remote}": _neighbour(session) for session in view.sessions},
        "BGP_NEIGHBOR_AF": {f"{VRF}|{session.remote}|{family}": {"admin_status": "up"} for session in view.sessions},
        **_sets(view),
        "ROUTE_MAP_SET": {policy.name: {} for policy in view.routing_policies},
        "ROUTE_MAP": _route_maps(view.routing_policies),
    }


def _sessions_of(view: SwitchView, group: str) -> list[PlannedSession]:
    return [session for session in view.sessions if session.side.upper() == group]


def _group(view: SwitchView, group: str) -> dict[str, str]:
    sessions = _sessions_of(view, group)
    entry = {"keepalive": str(KEEPALIVE_S), "holdtime": str(HOLD_TIME_S)}
    if sessions and all(session.bfd for session in sessions):
        entry["bfd"] = "true"
    return entry


def _group_family(view: SwitchView, group: str) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "admin_status": "up",
        "route_map_in": [f"FROM-{group}"],
        "route_map_out": [f"TO-{group}"],
        "send_community": "none",
    }
    sessions = _sessions_of(view, group)
    if sessions:
        limit = route_limit(sessions)
        entry["max_prefix_limit"] = str(limit.maximum)
        entry["max_prefix_warning_threshold"] = str(PERCENT * limit.warning // limit.maximum)
    return entry


def _neighbour(session: PlannedSession) -> dict[str, str]:
    return {
        "asn": str(session.remote_as),
        "local_addr": session.local,
        "name": session.description,
        "peer_group_name": session.side.upper(),
        "admin_status": "up",
    }


def _sets(view: SwitchView) -> dict[str, Any]:
    """The prefix and community sets of the policies."""
    mode = {"mode": f"IPv{view.version}"}
    prefixes: dict[str, dict[str, str]] = {}
    ranges = chain.from_iterable(_exactly(network, length) for network, length in view.pools)
    for number, (network, lengths, action) in enumerate(ranges, 1):
        prefixes[f"FABRIC|{10 * number}|{network}|{lengths}"] = {"action": action}
    for number, origin in enumerate(view.origins, 1):
        prefixes[f"OWN|{10 * number}|{origin.text}|exact"] = {"action": "permit"}
    below = {
        "set_type": "STANDARD",
        "match_action": "ANY",
        "action": "permit",
        "community_member": [FROM_BELOW_COMMUNITY],
    }
    return {
        "PREFIX_SET": {"FABRIC": mode, "OWN": mode},
        "PREFIX": prefixes,
        "COMMUNITY_SET": {"FROM-BELOW": below},
    }


def _exactly(network: str, length: int) -> Iterator[tuple[str, str, str]]:
    """The rows for a pool's prefixes of one length, each with a range of lengths and an action.

    A row's range begins at the pool's own length. SONiC writes FRR's file from a template that compares the two lengths
    as text (``"128" > "64"`` is false) and would drop a lower bound above it, so a row of their own denies the shorter
    prefixes (src/sonic-frr-mgmt-framework/templates/bgpd/bgpd.conf.db.pref_list.j2 in sonic-buildimage).
    """
    pool_length = int(network.rpartition("/")[2])
    if length == pool_length:
        yield network, "exact", "permit"
        return
    yield network, f"{pool_length}..{length - 1}", "deny"
    yield network, f"{pool_length}..{length}", "permit"


def _route_maps(policies: tuple[RoutePolicy, ...]) -> dict[str, dict[str, Any]]:
    entries = {}
    for policy in policies:
        for number, term in enumerate(policy.terms, 1):
            entries[f"{policy.name}|{10 * number}"] = _entry(term)
    return entries


def _entry(term: PolicyTerm) -> dict[str, Any]:
    entry: dict[str, Any] = {"route_operation": "permit" if term.is_permitted else "deny"}
    match term.routes:
        case RouteSet.OWN:
            entry["match_prefix_set"] = "OWN"
        case RouteSet.FABRIC:
            # For both families: the set's mode says which. The models also have match_ipv6_prefix_set, which neither
            # the daemon that configures FRR (frrcfgd) nor its templates read: such an entry would match every route.
            entry["match_prefix_set"] = "FABRIC"
        case RouteSet.FROM_BELOW:
            entry["match_community"] = "FROM-BELOW"
        case RouteSet.ALL:
            pass
        case RouteSet.BORDER:
            raise ValueError("borders are refused on SONiC")
    if term.mark is Mark.FROM_BELOW:
        entry["set_community_inline"] = [FROM_BELOW_COMMUNITY]
    elif term.mark is not None:
        entry["set_community_inline"] = ["none"]
    return entry
