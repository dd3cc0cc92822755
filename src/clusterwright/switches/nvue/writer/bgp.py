"""BGP with NVUE: the process, its neighbours and policies in both directions, as on the other systems.

Peer groups, one for each side, have the policies. Communities mark routes inside a switch and are never sent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clusterwright.intent.routing_policy import FROM_BELOW_COMMUNITY, Mark, PolicyTerm, RoutePolicy, RouteSet
from clusterwright.intent.switch_sessions import (
    BFD_INTERVAL_MS,
    BFD_MULTIPLIER,
    GRACEFUL_RESTART_S,
    HOLD_TIME_S,
    KEEPALIVE_S,
    PlannedSession,
    route_limit,
)

if TYPE_CHECKING:
    from clusterwright.intent.switch import SwitchView

SOURCE = "SOURCE"
# Replacements of a route's received communities; without the mark a route gets one that no policy matches.
_COMMUNITIES = {Mark.FROM_BELOW: FROM_BELOW_COMMUNITY, Mark.NONE: "64512:2"}
ON, OFF = "on", "off"
PERCENT = 100
Objects = dict[str, Any]


def speaks_bgp(view: SwitchView) -> bool:
    """True for a switch with an AS number and a neighbouring switch."""
    return view.device.asn is not None and bool(view.bgp_sides)


def router(view: SwitchView) -> Objects:
    """The objects of ``router``: the process and its policies; none without a BGP neighbour."""
    if not speaks_bgp(view):
        return {}
    process = {
        "autonomous-system": view.device.asn,
        "enable": ON,
        "graceful-restart": {"mode": "full", "restart-time": GRACEFUL_RESTART_S},
        "router-id": view.router_id,
        "wait-for-install": ON,
    }
    adaptive = {"adaptive-routing": {"enable": ON}} if view.fabric.is_adaptive else {}
    return adaptive | {"bgp": process, "policy": _policies(view)}


def default_vrf(view: SwitchView) -> Objects:
    """The router of VRF ``default``: neighbours, own prefixes, and discard routes for prefixes on no interface."""
    if not speaks_bgp(view):
        return {}
    family = f"ipv{view.version}-unicast"
    objects = {
        "enable": ON,
        "multipaths": {"ebgp": view.ecmp_width},
        "network": {origin.text: {} for origin in view.origins},
    }
    bgp = {
        "address-family": _families(view, objects),
        "autonomous-system": view.device.asn,
        "enable": ON,
        "neighbor": {session.remote: _neighbour(session) for session in view.sessions},
        "path-selection": {"multipath": {"aspath-ignore": ON}},
        "peer-group": {side.upper(): _group(view, side) for side in view.bgp_sides},
        "router-id": view.router_id,
    }
    vrf: Objects = {"bgp": bgp}
    if route_source(view) is not None:
        # This filter sets the source address of BGP's routes in the kernel, for the switch's own packets
        # (Cumulus Linux 5.10, Route Filtering).
        vrf["rib"] = {f"ipv{view.version}": {"protocol": {"bgp": {"fib-filter": SOURCE}}}}
    discards: Objects = {}
    for origin in view.origins:
        if not origin.is_connected:
            discards[origin.text] = {"address-family": family, "via": {"blackhole": {"type": "blackhole"}}}
    if discards:
        vrf["static"] = discards
    return vrf


def _families(view: SwitchView, objects: Objects) -> Objects:
    """The address families of BGP, with ``objects`` for the fabric's; over IPv6 IPv4 is off."""
    if view.version == 4:
        return {"ipv4-unicast": objects}
    return {"ipv4-unicast": {"enable": OFF}, "ipv6-unicast": objects}


def route_source(view: SwitchView) -> str | None:
    """The source of BGP's routes, if requests of the switch, or of hosts over IPv6, use these routes.

    NVUE has no setting for the source address of requests to servers, only for that of IPv4 relays.
    """
    is_relay_from_loopback = view.relay_source is not None and view.relay_source == view.loopback
    if view.version == 6 and is_relay_from_loopback:
        return view.loopback
    if view.asks_from == "loopback":
        return view.fabric_source
    if view.asks_from == "gateway" and _has_servers(view):
        return view.fabric_source
    return None


def _has_servers(view: SwitchView) -> bool:
    servers = view.site.management
    has_login_servers = view.site.aaa is not None and bool(view.site.aaa.servers)
    return has_login_servers or bool(servers.dns or servers.ntp or servers.syslog)


def _group(view: SwitchView, side: str) -> Objects:
    sessions = [session for session in view.sessions if session.side == side]
    name = side.upper()
    objects: Objects = {
        "community-advertise": dict.fromkeys(("extended", "large", "regular"), OFF),
        "enable": ON,
        "policy": {"inbound": {"route-map": f"FROM-{name}"}, "outbound": {"route-map": f"TO-{name}"}},
    }
    if sessions:
        limit = route_limit(sessions)
        threshold_percent = max(1, PERCENT * limit.warning // limit.maximum)
        objects["prefix-limits"] = {"inbound": {"maximum": limit.maximum, "warning-threshold": threshold_percent}}
    group: Objects = {"address-family": _families(view, objects)}
    if sessions and all(session.bfd for session in sessions):
        group["bfd"] = {
            "detect-multiplier": BFD_MULTIPLIER,
            "enable": ON,
            "min-rx-interval": BFD_INTERVAL_MS,
            "min-tx-interval": BFD_INTERVAL_MS,
        }
    return group | {"timers": {"hold": HOLD_TIME_S, "keepalive": KEEPALIVE_S}}


def _neighbour(session: PlannedSession) -> Objects:
    """A numbered neighbour; the deployment replaces ``<secret NAME>``."""
    objects: Objects = {"description": session.description}
    if session.authentication is not None:
        objects["password"] = f"<secret {session.authentication.secret}>"
    return objects | {
        "peer-group": session.side.upper(),
        "remote-as": session.remote_as,
        "type": "numbered",
        "update-source": session.local,
    }


def _policies(view: SwitchView) -> Objects:
    """The objects of ``router policy``: a community list, prefix lists and route maps."""
    kind = f"ipv{view.version}"
    fabric_rules: Objects = {}
    for number, (network, length) in enumerate(view.pools, 1):
        fabric_rules[str(10 * number)] = {"action": "permit", "match": {network: _exactly(network, length)}}
    own_rules: Objects = {}
    for number, origin in enumerate(view.origins, 1):
        own_rules[str(10 * number)] = {"action": "permit", "match": {origin.text: {}}}
    maps: Objects = {policy.name: _route_map(policy, kind) for policy in view.routing_policies}
    source = route_source(view)
    if source is not None:
        rule: Objects = {"action": {"permit": {}}, "match": {"type": kind}, "set": {"source-ip": source}}
        maps[SOURCE] = {"rule": {"10": rule}}
    marked: Objects = {"action": "permit", "community": {FROM_BELOW_COMMUNITY: {}}}
    return {
        "community-list": {"FROM-BELOW": {"rule": {"10": marked}}},
        "prefix-list": {"FABRIC": {"rule": fabric_rules, "type": kind}, "OWN": {"rule": own_rules, "type": kind}},
        "route-map": maps,
    }


def _exactly(network: str, length: int) -> dict[str, int]:
    """The bounds for a pool's prefixes of one length; none for that of the pool itself."""
    pool_length = int(network.rpartition("/")[2])
    if length == pool_length:
        return {}
    return {"max-prefix-len": length, "min-prefix-len": length}


def _route_map(policy: RoutePolicy, kind: str) -> Objects:
    rules = {}
    for number, term in enumerate(policy.terms, 1):
        rules[str(10 * number)] = _rule(term, kind)
    return {"rule": rules}


def _rule(term: PolicyTerm, kind: str) -> Objects:
    action = "permit" if term.is_permitted else "deny"
    rule: Objects = {"action": {action: {}}}
    match term.routes:
        case RouteSet.OWN:
            rule["match"] = {"ip-prefix-list": "OWN", "type": kind}
        case RouteSet.FABRIC:
            rule["match"] = {"ip-prefix-list": "FABRIC", "type": kind}
        case RouteSet.FROM_BELOW:
            rule["match"] = {"community-list": "FROM-BELOW"}
        case RouteSet.ALL:
            pass
        case RouteSet.BORDER:
            raise ValueError("borders are refused on Cumulus Linux")
    if term.mark is not None:
        rule["set"] = {"community": {_COMMUNITIES[term.mark]: {}}}
    return rule
