"""Reading FBOSS's agent.conf and bgpcpp.conf, as far as the proofs need them.

Numbers of enumerations are those of facebook/fboss, switch_config.thrift and the BGP daemon's policy definitions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache

from clusterwright.finding import VerifyError
from clusterwright.platforms.fboss.reader.classes import headroom_pools, port_qos, qos_map
from clusterwright.platforms.fboss.reader.document import Json, WrittenAs, document_of
from clusterwright.platforms.reader import IN
from clusterwright.platforms.router import (
    Aggregate,
    HashFunction,
    Mark,
    Policy,
    Port,
    Prefix,
    PrefixRule,
    PrefixRules,
    Router,
    Session,
    Term,
    network_of,
    packed,
    prefix_of,
)

AGENT, BGP = "etc/coop/agent.conf", "etc/coop/bgpcpp.conf"
LAYOUTS = {
    AGENT: WrittenAs("sw", '\n  "sw": {\n    "', "\n  }", ',\n    "'),
    BGP: WrittenAs("", '{\n  "', "\n}", ',\n  "'),
}
ENABLED, _FORWARDING = 2, 2  # PortState, SpanningTreeState
_LACP_ACTIVE, _LACP_FAST = 1, 1
_DEFAULT_MTU = 1500  # of an interface without one, in bytes
_COMMUNITY_MATCH, _PREFIX_MATCH = 3, 5
_COMMUNITY_ACTION, _FLOW_ACTION = 2, 5
_ACCEPT, _DENY, _ALL, _NEXT_TERM = 1, 2, 1, 3
_CHANGES = {11: "add", 12: "set", 13: "remove"}
_ECMP, _UDP_HEADER, _UDP_HEADER_BYTES = 1, 3, 8
_FRAME_OVERHEAD_BYTES = 22  # Ethernet's header, a VLAN tag and the checksum
# PortProfileID: Gb/s, error correction and lanes, by its name in switch_config.thrift
_RS, _FC, _NO = "reed-solomon", "fire-code", "none"
_PROFILES = {
    4: (25.0, _NO, 1),
    62: (25.0, _RS, 1),
    **dict.fromkeys((11, 12), (10.0, _NO, 1)),
    **dict.fromkeys((14, 30), (25.0, _NO, 1)),
    15: (25.0, _FC, 1),
    16: (25.0, _RS, 1),
    **dict.fromkeys((19, 31), (50.0, _NO, 2)),
    20: (50.0, _FC, 2),
    **dict.fromkeys((21, 48), (50.0, _RS, 2)),
    **dict.fromkeys((43, 44), (50.0, _RS, 1)),
    **dict.fromkeys((22, 23, 27, 28), (100.0, _RS, 4)),
    **dict.fromkeys((40, 46), (100.0, _RS, 2)),
    47: (100.0, _RS, 1),
    32: (100.0, _NO, 4),
    49: (100.0, _NO, 1),
    **dict.fromkeys((24, 25), (200.0, _RS, 4)),
    **dict.fromkeys((26, 35), (400.0, _RS, 8)),
    **dict.fromkeys((38, 45), (400.0, _RS, 4)),
    39: (800.0, _RS, 8),
}
# HashingAlgorithm
_ALGORITHMS = {1: "CRC-16-CCITT", 3: "CRC-32, low half", 4: "CRC-32, high half", 9: "CRC"}
_ACL_DENY = 0  # AclActionType
_EQUAL, _AT_LEAST, _AT_MOST = 1, 2, 3
_NO_GROUP: tuple[None, tuple[Mark, Mark, Mark]] = None, ((), (), ())
# a switch that has no other to speak with gets no file
_NO_BGP: Json = {
    "router_id": "",
    "local_as_4_byte": 0,
    "networks4": [],
    "networks6": [],
    "peer_groups": [],
    "peers": [],
    "policies": {"bgp_policy_statements": [], "prefix_lists": [], "community_lists": []},
}


def read_fboss(device: str, agent_text: str, bgp_text: str) -> Router:
    """The router that both files make. Raises VerifyError for text that is no such file."""
    file = AGENT
    try:
        agent = document_of(agent_text, LAYOUTS[AGENT])
        switch = agent.value["sw"]
        ports, own_addresses = _ports(switch, frozenset(_denied(agent.outline["sw"])))
        qos = qos_map(switch)
        file = BGP
        bgp = document_of(bgp_text, LAYOUTS[BGP]).value if bgp_text else _NO_BGP
        return Router(
            device=device,
            ports_file=AGENT,
            bgp_file=BGP,
            keeps_communities=True,
            router_id=bgp["router_id"],
            router_id_mark=('"router_id": ',),
            asn=bgp["local_as_4_byte"],
            asn_mark=('"local_as_4_byte": ',),
            max_paths=0,
            max_paths_mark=(),
            ports=ports,
            own_addresses=own_addresses,
            sessions=tuple(_sessions(bgp)),
            networks=tuple(
                (prefix_of(each["prefix"]), ('"networks', f'"prefix": "{each["prefix"]}"'))
                for each in (*bgp["networks4"], *bgp["networks6"])
            ),
            policies=_policies(bgp["policies"]),
            qos=qos,
            defaults=tuple(_defaults(switch)),
            discards=frozenset(prefix_of(row["prefix"]) for row in switch.get("staticRoutesToNull", ())),
            leaks=(*_leaks(switch), *_next_hops(bgp)),
            spreads_by=_spreads_by(switch),
            spread_mark=('"loadBalancers"', '"udfGroups"'),
            hash_function=_hash_function(switch),
            seed_mark=('"loadBalancers"', '"seed"'),
            pools=headroom_pools(switch),
            advertised=frozenset(_subnets(switch, _is_advertised)),
            relayed=frozenset(_subnets(switch, _is_relayed)),
        )
    except (ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
        raise VerifyError(f"{device}:/{file}: this does not read ({error!r}). Render the spec again.") from None


def _ports(
    switch: Json, denied: frozenset[tuple[int | None, int | None]]
) -> tuple[tuple[Port, ...], tuple[tuple[Prefix, bytes], ...]]:
    vlan_of = {
        row["logicalPort"]: row["vlanID"]
        for row in switch["vlanPorts"]
        if row["spanningTreeState"] == _FORWARDING and not row.get("emitTags")
    }
    members: dict[int, int] = {}
    for vlan in vlan_of.values():
        members[vlan] = members.get(vlan, 0) + 1
    address_of: dict[int, tuple[bytes, Prefix, str, int]] = {}
    own_addresses: list[tuple[Prefix, bytes]] = []
    declared = {(row["id"], row.get("intfID")) for row in switch["vlans"]}
    for interface in switch["interfaces"]:
        if (interface["vlanID"], interface.get("intfID")) not in declared or interface.get("routerID"):
            continue
        for text in interface["ipAddresses"]:
            address, _, length = text.partition("/")
            own_address = packed(address)
            subnet = network_of(own_address, int(length))
            own_addresses.append((subnet, own_address))
            address_of[interface["vlanID"]] = own_address, subnet, text, interface.get("mtu", _DEFAULT_MTU)
    qos_of = port_qos(switch)
    joined = dict(_aggregates(switch))
    default = switch.get("defaultVlan")
    ports = []
    for row in switch["ports"]:
        if row["state"] != ENABLED:
            continue
        vlan = vlan_of.get(row["logicalID"], 0)
        if row.get("ingressVlan") != vlan or not row.get("routable"):
            vlan = 0
        # a VLAN with several ports is a subnet that they share: its address is the VLAN's, not the port's
        shared = address_of.get(vlan)
        is_alone = members.get(vlan) == 1 and vlan != default
        own = shared if is_alone and shared is not None and shared[1][1] >= 8 * len(shared[0]) - 1 else None
        name, start = _start(row["name"])
        speed_gbps, fec, lanes = _PROFILES.get(row["profileID"], (0.0, "", 0))
        if speed_gbps * 1000 != row["speed"]:
            raise ValueError(f"{row['name']} cannot run at {row['speed']} Mb/s with profile {row['profileID']}")
        longest = row.get("maxFrameSize", 0) - _FRAME_OVERHEAD_BYTES
        ports.append(
            Port(
                name,
                own[0] if own else None,
                own[1][1] if own else 0,
                speed_gbps,
                row.get("description", "").removeprefix("to "),
                qos_of(row),
                min(shared[3], longest) if shared else longest,
                fec,
                lanes,
                ('"interfaces"', f'"{own[2]}"') if own else start,
                start,
                start,
                start,
                start,
                shared[1] if shared and vlan != default else None,
                filtered=_filtered(denied, row["logicalID"], row.get("ingressVlan")),
                aggregate=joined.get(row["logicalID"]),
            )
        )
    return tuple(ports), tuple(own_addresses)


@lru_cache(maxsize=4096)
def _start(name: str) -> tuple[str, Mark]:
    """A port's name, and where the port begins: as many switches have a port of that name as have its model."""
    return name, (f'"name": "{name}", "description"',)


def _aggregates(switch: Json) -> Iterator[tuple[int, Aggregate]]:
    """What each port is a part of, by its number; without a word FBOSS's agent asks, and fast."""
    for row in switch.get("aggregatePorts", ()):
        for member in row["memberPorts"]:
            mode = "active" if member.get("activity", _LACP_ACTIVE) == _LACP_ACTIVE else "passive"
            rate = "fast" if member.get("rate", _LACP_FAST) == _LACP_FAST else "slow"
            mark = ('"aggregatePorts"', f'"name": "{row["name"]}"', f'"memberPortID": {member["memberPortID"]}')
            yield member["memberPortID"], Aggregate(row["name"], mode, rate, mark)


def _subnets(switch: Json, holds: Callable[[Json, Json], bool]) -> Iterator[Prefix]:
    """The subnets of interfaces of which something holds, with their VLAN; of IPv4 and IPv6."""
    vlans = {row["id"]: row for row in switch["vlans"]}
    for interface in switch["interfaces"]:
        for text in interface["ipAddresses"]:
            version = 6 if ":" in text else 4
            if holds({**interface, "version": version}, vlans.get(interface["vlanID"], {})):
                yield prefix_of(text)


def _is_advertised(interface: Json, _: Json) -> bool:
    ndp = interface.get("ndp", {})
    lives = ndp.get("routerLifetime", 1) > 0 and ndp.get("routerAdvertisementSeconds", 0) > 0
    return interface["version"] == 6 and lives and bool(ndp.get("routerAdvertisementManagedBit"))


def _is_relayed(interface: Json, vlan: Json) -> bool:
    key = f"dhcpRelayAddressV{interface['version']}"
    return bool(interface.get(key)) and bool(vlan.get(key))


def _denied(switch: Json) -> Iterator[tuple[int | None, int | None]]:
    """Port and VLAN that entries which deny ask for, None where they ask for any."""
    tables = switch.get("aclTableGroup", {}).get("aclTables", ())
    for entry in (*switch.get("acls", ()), *(entry for table in tables for entry in table["aclEntries"])):
        if entry["actionType"] == _ACL_DENY:
            yield entry.get("srcPort"), entry.get("vlanID")


def _filtered(denied: frozenset[tuple[int | None, int | None]], port: int, vlan: int | None) -> tuple[str, ...]:
    """The directions in which something is denied to a port."""
    return (IN,) if any((each, own) in denied for each in (port, None) for own in (vlan, None)) else ()


def _sessions(bgp: Json) -> Iterator[Session]:
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


def _policies(document: Json) -> Mapping[str, Policy]:
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


def _defaults(switch: Json) -> Iterator[Mark]:
    for key in switch:
        if key.startswith("staticRoutes"):
            for row in switch[key]:
                if row["prefix"] in {"0.0.0.0/0", "::/0"}:
                    yield (f'"{key}"', f'"{row["prefix"]}"')


def _next_hops(bgp: Json) -> Iterator[tuple[Mark, str]]:
    """Sessions that would send neighbours past this switch."""
    for peer in bgp["peers"]:
        key = "next_hop6" if ":" in peer["local_addr"] else "next_hop4"
        if packed(peer[key]) != packed(peer["local_addr"]):
            mark = ('"peers"', f'"local_addr": "{peer["local_addr"]}"', f'"{key}"')
            yield mark, f"routes told to {peer['peer_addr']} lead to {peer[key]}, which is not this switch's end"


def _leaks(switch: Json) -> Iterator[tuple[Mark, str]]:
    for row in switch.get("staticRoutesWithNhops", ()):
        if row["prefix"] not in {"0.0.0.0/0", "::/0"}:
            mark = ('"staticRoutesWithNhops"', f'"{row["prefix"]}"')
            yield mark, f"a static route to {row['prefix']} leads traffic past the routes of BGP"


def _hash_function(switch: Json) -> HashFunction | None:
    """How ECMP's hash begins; without a seed the agent makes one of the switch's MAC address."""
    balancer = next((each for each in switch.get("loadBalancers", ()) if each["id"] == _ECMP), None)
    if balancer is None or balancer.get("seed") is None:
        return None
    number = balancer["algorithm"]
    return HashFunction(_ALGORITHMS.get(number, f"FBOSS's algorithm {number}"), int(balancer["seed"]))


def _spreads_by(switch: Json) -> str | None:
    """What ECMP's hash takes in beyond addresses and ports."""
    balancer = next((each for each in switch.get("loadBalancers", ()) if each["id"] == _ECMP), None)
    if balancer is None:
        return None
    fields, udf = balancer["fieldSelection"], switch.get("udfConfig", {})
    if not all({1, 2} <= set(fields.get(each, ())) for each in ("ipv4Fields", "ipv6Fields", "transportFields")):
        return "less than addresses and ports"
    matchers = udf.get("udfPacketMatcher", {})
    for name in fields.get("udfGroups", ()):
        group = udf.get("udfGroups", {}).get(name)
        if group is None or group["header"] != _UDP_HEADER:
            continue
        ports = {matchers.get(each, {}).get("UdfL4DstPort") for each in group["udfPacketMatcherIds"]}
        first = group["startOffsetInBytes"] - _UDP_HEADER_BYTES
        last = first + group["fieldSizeInBytes"] - 1
        return f"bytes {first} to {last} of UDP's payload to port {', '.join(map(str, ports))}"
    return "addresses and ports alone"
