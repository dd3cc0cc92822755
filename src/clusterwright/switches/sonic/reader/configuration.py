"""Reading SONiC's config_db.json: ports, addresses, BGP and its policies, as far as the proofs need them.

Tables and fields are those of SONiC's YANG models; BGP is that of its management framework (BGP_GLOBALS and so on).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from clusterwright.facts.router import (
    DEFAULT_HOLD_TIME_S,
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
    is_address,
    network_of,
    packed,
    prefix_of,
)
from clusterwright.finding import VerifyError
from clusterwright.switches.sonic.reader.classes import headroom_pools, port_qos, qos_map
from clusterwright.switches.sonic.reader.document import tables_of
from clusterwright.switches.sonic.reader.features import serves
from clusterwright.switches.sonic.reader.lists import bound_tables, channels_of

PATH = "etc/sonic/config_db.json"
_VRF = "default"
_FEC = {"rs": "reed-solomon", "fc": "fire-code", "none": "none"}
_DEFAULT_MTU = 9100  # sonic-port.yang, in bytes
_DEFAULTS = {"0.0.0.0/0", "::/0"}
# dockers/docker-orchagent/switch.json.j2: the first word that the device's type has in it decides
_ADVERTISING = ("EPMS", "MgmtTsToR")
_IPV6 = 16  # bytes of an address
_SEEDS = (("ToRRouter", 0), ("EPMS", 0), ("MgmtTsToR", 0), ("LeafRouter", 10), ("SpineRouter", 25))
# Fields of every platform (sonic-net/sonic-mgmt, tests/hash/generic_hash_helper.py); orchagent logs any other, and the
# chip keeps the one that it has.
_ALGORITHMS = {"CRC": "CRC", "CRC_CCITT": "CRC-16-CCITT"}
Json = Mapping[str, Any]


def read_sonic(device: str, text: str) -> Router:
    """The router of the file. Raises VerifyError for any other text."""
    try:
        tables = tables_of(text)
        process = tables.get("BGP_GLOBALS", {}).get(_VRF, {})
        lists, communities = _prefix_sets(tables), _community_sets(tables)
        sessions = tuple(_sessions(tables)) if _runs_bgp(tables) else ()
        paths, paths_mark = _max_paths(tables, process, sessions)
        return Router(
            device=device,
            ports_file=PATH,
            bgp_file=PATH,
            keeps_communities=_keeps_communities(tables),
            router_id=process.get("router_id", ""),
            router_id_mark=_mark("BGP_GLOBALS", _VRF),
            asn=int(process.get("local_asn", 0)),
            asn_mark=_mark("BGP_GLOBALS", _VRF),
            max_paths=paths,
            max_paths_mark=paths_mark,
            ports=tuple(_ports(tables)),
            own_addresses=tuple((network_of(address, length), address) for address, length, _, _ in _addresses(tables)),
            sessions=sessions,
            networks=tuple(_networks(tables)),
            advertised=frozenset(_advertised(tables)),
            relayed=frozenset(_relayed(tables)),
            relay_sources=dict(_relay_sources(tables)),
            policies=_policies(tables, lists, communities),
            qos=qos_map(tables),
            defaults=tuple(mark for prefix, mark, _ in _statics(tables) if prefix in _DEFAULTS),
            discards=frozenset(prefix_of(prefix) for prefix, _, is_discard in _statics(tables) if is_discard),
            leaks=tuple(_leaks(tables)),
            spreads_by=_spreads_by(tables),
            spread_mark=('"SWITCH_HASH":', '"ecmp_hash":'),
            hash_function=_hash_function(tables),
            seed_mark=('"DEVICE_METADATA":', '"type":'),
            pools=headroom_pools(tables),
        )
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError) as error:
        raise VerifyError(f"{device}:/{PATH}: this does not read ({error!r}). Render the spec again.") from None


def _runs_bgp(tables: Json) -> bool:
    """True when BGP takes its configuration from the tables read here, and is not switched off."""
    localhost = tables.get("DEVICE_METADATA", {}).get("localhost", {})
    return localhost.get("frr_mgmt_framework_config") == "true" and serves(tables, "sessions")


def _mark(table: str, key: str) -> Mark:
    return f'"{table}":', f'"{key}"'


def _ports(tables: Json) -> Iterator[Port]:
    tables_on = frozenset(bound_tables(tables.get("ACL_TABLE", {})))
    address_of = {name: (address, length, mark) for address, length, name, mark in _addresses(tables)}
    vlan_of: dict[str, str] = {}
    for key in tables.get("VLAN_MEMBER", {}):
        vlan, _, port = key.partition("|")
        vlan_of[port] = vlan
    channels, channel_of = tables.get("PORTCHANNEL", {}), channels_of(tables)
    makes_channels = serves(tables, "bonds")
    for name, row in tables.get("PORT", {}).items():
        channel = channel_of.get(name)
        is_in_idle_channel = False
        if channel is not None:
            is_channel_up = channels.get(channel, {}).get("admin_status", "up") == "up"
            is_in_idle_channel = not (is_channel_up and makes_channels)
        if row.get("admin_status", "down") != "up" or is_in_idle_channel:
            continue
        link = name if channel is None else channel  # a channel has the VLAN, lists and address of its members
        address, length, mark = address_of.get(link, (None, 0, _mark("PORT", name)))
        start = _mark("PORT", name)
        shared = address_of.get(vlan_of.get(link, link))
        yield Port(
            name=name,
            address=address,
            length=length,
            speed_gbps=int(row.get("speed", 0)) / 1000,
            peer=row.get("description", "").removeprefix("to "),
            qos=port_qos(tables, name),
            mtu_bytes=int(channels.get(channel or "", row).get("mtu", _DEFAULT_MTU)),
            fec=_FEC.get(row.get("fec", "none"), ""),
            lanes=len(row["lanes"].split(",")) if row.get("lanes") else 0,
            mark=mark,
            start=start,
            speed_mark=start,
            qos_mark=_mark("PORT_QOS_MAP", name),
            cable_mark=start,
            subnet=network_of(shared[0], shared[1]) if shared else None,
            filtered=tuple(sorted({way for port, way in tables_on if port == link})),
            aggregate=None if channel is None else _aggregate(channel, name, channels.get(channel, {})),
        )


def _aggregate(channel: str, port: str, row: Json) -> Aggregate:
    """SONiC's teamd runs active LACP on every channel (sonic-buildimage, teammgr: runner lacp, active)."""
    mode = "active" if row.get("static", "false") != "true" else "static"
    rate = "fast" if row.get("fast_rate") == "true" else "slow"
    return Aggregate(name=channel, mode=mode, rate=rate, mark=_mark("PORTCHANNEL_MEMBER", f"{channel}|{port}"))


def _addresses(tables: Json) -> Iterator[tuple[bytes, int, str, Mark]]:
    """Address, length, interface and place of addresses in the default VRF, below a row of their own."""
    for table in ("INTERFACE", "LOOPBACK_INTERFACE", "PORTCHANNEL_INTERFACE", "VLAN_INTERFACE"):
        rows = tables.get(table, {})
        for key in rows:
            name, _, text = key.partition("|")
            if text and name in rows and not rows[name].get("vrf_name"):
                address, _, length = text.partition("/")
                yield packed(address), int(length), name, _mark(table, key)


def _advertised(tables: Json) -> Iterator[Prefix]:
    """VLANs with router advertisements: radvd runs on rack switches, and always refers hosts to DHCPv6.

    (docker-router-advertiser of sonic-net/sonic-buildimage: supervisord.conf.j2, radvd.conf.j2.)
    """
    kind = tables.get("DEVICE_METADATA", {}).get("localhost", {}).get("type", "")
    if ("ToRRouter" in kind or kind in _ADVERTISING) and serves(tables, "router-advertisements"):
        for address, length, name, _ in _addresses(tables):
            if name.startswith("Vlan") and len(address) == _IPV6:
                yield network_of(address, length)


def _relayed(tables: Json) -> Iterator[Prefix]:
    if not serves(tables, "relays"):
        return
    for address, length, name, _ in _addresses(tables):
        table, key = ("DHCP_RELAY", "dhcpv6_servers") if len(address) == _IPV6 else ("VLAN", "dhcp_servers")
        if tables.get(table, {}).get(name, {}).get(key):
            yield network_of(address, length)


def _relay_sources(tables: Json) -> Iterator[tuple[Prefix, bytes]]:
    """The VLAN's own address: dhcp6relay binds to it, and isc-dhcp-relay takes it with -si.

    (sonic-buildimage, dhcpv4-relay.agents.j2: -si where deployment_id is 8; else the kernel chooses by the route.)
    """
    has_si = tables.get("DEVICE_METADATA", {}).get("localhost", {}).get("deployment_id") == "8"
    for address, length, name, _ in _addresses(tables):
        if name.startswith("Vlan") and (len(address) == _IPV6 or has_si):
            yield network_of(address, length), address


def _max_paths(tables: Json, process: Json, sessions: tuple[Session, ...]) -> tuple[int, Mark]:
    """Number of equal paths in eBGP: one if neighbours' AS numbers differ and must be equal."""
    if len({session.remote_as for session in sessions}) > 1 and process.get("load_balance_mp_relax") != "true":
        return 1, _mark("BGP_GLOBALS", _VRF)
    most = [int(row.get("max_ebgp_paths", 1)) for row in tables.get("BGP_GLOBALS_AF", {}).values()]
    return max(most, default=1), ('"BGP_GLOBALS_AF":', '"max_ebgp_paths"')


def _keeps_communities(tables: Json) -> bool:
    """Whether sessions send communities, FRR's default."""
    rows = [*tables.get("BGP_PEER_GROUP_AF", {}).values()]
    return any(row.get("send_community", "both") != "none" for row in rows)


def _sessions(tables: Json) -> Iterator[Session]:
    groups, families = tables.get("BGP_PEER_GROUP", {}), tables.get("BGP_PEER_GROUP_AF", {})
    own_families, process = tables.get("BGP_NEIGHBOR_AF", {}), tables.get("BGP_GLOBALS", {}).get(_VRF, {})
    for key, row in tables.get("BGP_NEIGHBOR", {}).items():
        vrf, _, text = key.partition("|")
        if vrf != _VRF or not is_address(text):
            continue  # unread, which leaves every claim of the file open
        peer = packed(text)
        family = f"ipv{6 if len(peer) == 16 else 4}_unicast"
        name = row.get("peer_group_name", "")
        group = groups.get(f"{_VRF}|{name}", {})
        shared, family_row = families.get(f"{_VRF}|{name}|{family}", {}), own_families.get(f"{key}|{family}", {})
        is_up = {**group, **row}.get("admin_status", "up") == "up"
        if not is_up or {**shared, **family_row}.get("admin_status") != "up":
            continue
        both = {**shared, **family_row}
        mark = _mark("BGP_NEIGHBOR", key)
        group_mark = _mark("BGP_PEER_GROUP_AF", f"{_VRF}|{name}|{family}")
        yield Session(
            peer=peer,
            local=packed(row["local_addr"]) if "local_addr" in row else None,
            remote_as=int(row.get("asn") or group.get("asn") or 0),
            into=next(iter(both.get("route_map_in", ())), ""),
            out_of=next(iter(both.get("route_map_out", ())), ""),
            mark=mark,
            group_mark=group_mark,
            as_mark=mark,
            local_mark=mark,
            has_bfd={**group, **row}.get("bfd") == "true",
            most_routes=0 if both.get("max_prefix_warning_only") == "true" else int(both.get("max_prefix_limit", 0)),
            hold_time_s=int({**process, **group, **row}.get("holdtime", DEFAULT_HOLD_TIME_S)),
            hold_mark=_mark("BGP_PEER_GROUP", f"{_VRF}|{name}"),
            restart_s=_restart_s(process),
            restart_mark=_mark("BGP_GLOBALS", _VRF),
        )


def _restart_s(process: Json) -> int | None:
    if process.get("graceful_restart_enable") != "true":
        return 0
    return int(process["gr_restart_time"]) if process.get("gr_restart_time") else None


def _networks(tables: Json) -> Iterator[tuple[Prefix, Mark]]:
    for key in tables.get("BGP_GLOBALS_AF_NETWORK", {}):
        vrf, _, prefix = key.split("|")
        if vrf == _VRF:
            yield prefix_of(prefix), _mark("BGP_GLOBALS_AF_NETWORK", key)


def _prefix_sets(tables: Json) -> dict[str, PrefixRules]:
    """Prefix sets as SONiC's templates hand them to FRR."""
    numbered: dict[str, list[tuple[int, PrefixRule]]] = {name: [] for name in tables.get("PREFIX_SET", {})}
    for key, row in tables.get("PREFIX", {}).items():
        name, number, text, lengths = key.split("|")
        within = prefix_of(text)
        low, high = _bounds(lengths, within[1])
        mode = "IPv6" if ":" in text else "IPv4"
        if name in numbered and tables["PREFIX_SET"][name].get("mode", "IPv4") == mode:
            rule = PrefixRule(permit=row.get("action") == "permit", within=within, low=low, high=high)
            numbered[name].append((int(number), rule))
    sets: dict[str, PrefixRules] = {}
    for name, numbered_rules in numbered.items():
        numbered_rules.sort(key=lambda numbered_rule: numbered_rule[0])
        sets[name] = tuple(_narrowed([rule for _, rule in numbered_rules]))
    return sets


def _bounds(lengths: str, prefix_length: int) -> tuple[int, int]:
    """The shortest and the longest length of a row: ``exact`` or ``low..high``."""
    if lengths == "exact":
        return prefix_length, prefix_length
    low, _, high = lengths.partition("..")
    # The template compares lengths as text, and drops a lower bound that is not above the prefix's own.
    is_bound = low > str(prefix_length)
    return int(low) if is_bound else prefix_length, int(high)


def _narrowed(rules: list[PrefixRule]) -> list[PrefixRule]:
    """The same rules, with a permit after a deny of its shorter prefixes saying its lower bound itself."""
    narrowed: list[PrefixRule] = []
    for rule in rules:
        last = narrowed[-1] if narrowed else None
        if last and rule.permit and not last.permit and (last.within, last.low) == (rule.within, rule.low):
            narrowed[-1:] = [rule._replace(low=last.high + 1), last]
        else:
            narrowed.append(rule)
    return narrowed


def _community_sets(tables: Json) -> dict[str, frozenset[str]]:
    sets: dict[str, frozenset[str]] = {}
    for name, row in tables.get("COMMUNITY_SET", {}).items():
        is_permitted = row.get("action", "permit") == "permit"
        sets[name] = frozenset(row.get("community_member", ()) if is_permitted else ())
    return sets


def _policies(
    tables: Json, lists: Mapping[str, PrefixRules], communities: Mapping[str, frozenset[str]]
) -> Mapping[str, Policy]:
    policies: dict[str, list[tuple[int, Term]]] = {}
    for key, row in tables.get("ROUTE_MAP", {}).items():
        name, _, number = key.partition("|")
        if name not in tables.get("ROUTE_MAP_SET", {}):
            continue
        # frrcfgd and its templates read no other name, and write nothing of a set that is not there.
        list_name = row.get("match_prefix_set", "")
        wanted = row.get("match_community")
        change, values = _change(row, communities)
        term = Term(
            permit=row.get("route_operation") == "permit",
            list_name=list_name,
            prefixes=lists.get(list_name),
            communities=communities.get(wanted, frozenset()) if wanted else None,
            change=change,
            values=values,
            mark=_mark("ROUTE_MAP", key),
        )
        policies.setdefault(name, []).append((int(number), term))
    return {name: _in_order(numbered_terms) for name, numbered_terms in policies.items()}


def _in_order(numbered_terms: list[tuple[int, Term]]) -> Policy:
    numbered_terms.sort(key=lambda numbered_term: numbered_term[0])
    return tuple(term for _, term in numbered_terms)


def _change(row: Json, communities: Mapping[str, frozenset[str]]) -> tuple[str, frozenset[str]]:
    words = frozenset(row.get("set_community_inline", ()))
    named = row.get("set_community_ref")
    if named:
        words |= communities.get(named, frozenset())
    if not words:
        return "", frozenset()
    if "additive" in words:
        return "add", words - {"additive"}
    return "set", words - {"none"}


def _statics(tables: Json) -> Iterator[tuple[str, Mark, bool]]:
    """Prefix and place of each static route of the default VRF, and whether it leads nowhere."""
    for key, row in tables.get("STATIC_ROUTE", {}).items():
        vrf, _, prefix = key.rpartition("|")
        if vrf in {"", _VRF}:
            yield prefix, _mark("STATIC_ROUTE", key), row.get("blackhole") == "true"


def _hash_function(tables: Json) -> HashFunction | None:
    """The algorithm, and SONiC's seed by the device's type; 0 for types without one.

    None if the chip has no such algorithm.
    """
    kind = tables.get("DEVICE_METADATA", {}).get("localhost", {}).get("type", "")
    algorithm = _ALGORITHMS.get(tables.get("SWITCH_HASH", {}).get("GLOBAL", {}).get("ecmp_hash_algorithm", ""))
    seed = next((number for word, number in _SEEDS if word in kind), 0)
    return None if algorithm is None else HashFunction(algorithm, seed)


def _spreads_by(tables: Json) -> str | None:
    fields = tables.get("SWITCH_HASH", {}).get("GLOBAL", {}).get("ecmp_hash")
    return ", ".join(sorted(fields)) if fields else None


def _leaks(tables: Json) -> Iterator[tuple[Mark, str]]:
    """Ways for routes of other protocols, tables and fabrics into this one."""
    is_apart = tables.get("MGMT_VRF_CONFIG", {}).get("vrf_global", {}).get("mgmtVrfEnabled")
    joined = {} if is_apart == "true" else tables.get("MGMT_INTERFACE", {})
    for key in joined:
        mark = ('"MGMT_VRF_CONFIG":', '"mgmtVrfEnabled"') if is_apart else _mark("MGMT_INTERFACE", key)
        yield mark, f"{key.partition('|')[0]} joins the fabric's routes to management's: it has no VRF of its own"
    for prefix, mark, is_discard in _statics(tables):
        if not is_discard and prefix not in _DEFAULTS:
            yield mark, f"a static route to {prefix} leads traffic past the routes of BGP"
    for table, what in (
        ("ROUTE_REDISTRIBUTE", "brings routes into BGP that no policy of the fabric names"),
        ("BGP_GLOBALS_AF_AGGREGATE_ADDR", "announces prefixes that no switch stands for"),
    ):
        for key in tables.get(table, {}):
            yield _mark(table, key), f"{key} {what}"
    for key, row in tables.get("BGP_GLOBALS_AF", {}).items():
        for field in ("import_vrf", "import-rts"):
            if row.get(field):
                yield _mark("BGP_GLOBALS_AF", key), f"{field} carries routes from one VRF to another"
