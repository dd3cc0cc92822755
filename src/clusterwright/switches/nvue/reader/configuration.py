"""Reading a switch's configuration of NVUE: ports, addresses, BGP and its policies, as far as the proofs need them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from clusterwright.facts.router import (
    Aggregate,
    HashFunction,
    Mark,
    Port,
    Prefix,
    Router,
    Session,
    network_of,
    packed,
    prefix_of,
)
from clusterwright.finding import VerifyError
from clusterwright.packets.tokens import Unreadable
from clusterwright.placeholder import PLACEHOLDER
from clusterwright.switches.nvue.reader.classes import port_qos, qos_map
from clusterwright.switches.nvue.reader.interfaces import PORT, is_numbered
from clusterwright.switches.nvue.reader.lists import bonds_of
from clusterwright.switches.nvue.reader.objects import Object
from clusterwright.switches.nvue.reader.policies import policies
from clusterwright.switches.nvue.reader.relays import asks_from_gateway, asks_from_port, route_source
from clusterwright.switches.nvue.reader.releases import read_nvue_objects

PATH = "etc/clusterwright/nvue.yaml"
VRF = "default"
_WAYS = (("in", "inbound"), ("out", "outbound"))
_V4_BYTES = 4
# NVUE's defaults (Cumulus Linux 5.10): MTU in bytes, BGP's times in seconds, equal paths.
_BFD_MULTIPLIER, _BFD_INTERVAL_MS = 3, 300
_MTU, _HOLD_S, _RESTART_S, _PATHS = 9216, 9, 120, 64
_FEC = {"rs": "reed-solomon", "baser": "fire-code", "off": "none"}
_HASHED = ("destination-ip", "destination-port", "ip-protocol", "ipv6-label", "source-ip", "source-port")
_ALGORITHM = "Spectrum"
_DEFAULTS = frozenset({"0.0.0.0/0", "::/0"})
_NOWHERE = frozenset({"blackhole", "reject"})


def read_nvue(device: str, text: str) -> Router:
    """The router of the file. Raises VerifyError for any other text."""
    try:
        return _router(device, read_nvue_objects(text))
    except Unreadable as error:
        raise VerifyError(f"{device}:/{PATH}:{error.line}: {error}. Render the spec again.") from None
    except (ValueError, KeyError, TypeError) as error:
        raise VerifyError(f"{device}:/{PATH}: this does not read ({error!r}). Render the spec again.") from None


def _router(device: str, root: Object) -> Router:
    process = root.at("vrf", VRF, "router", "bgp")
    sessions = tuple(_sessions(root, process)) if runs_bgp(root) else ()
    paths, paths_mark = _max_paths(process, sessions)
    seed = root.at("system", "forwarding", "hash-seed")
    asn = process.at("autonomous-system")
    return Router(
        device=device,
        ports_file=PATH,
        bgp_file=PATH,
        keeps_communities=any(_advertises_communities(group) for _, group in process.items("peer-group")),
        router_id=process.text("router-id") or root.text("router", "bgp", "router-id"),
        router_id_mark=process.at("router-id").mark,
        asn=int(asn.value or root.text("router", "bgp", "autonomous-system", default="0")),
        asn_mark=asn.mark,
        max_paths=paths,
        max_paths_mark=paths_mark,
        ports=tuple(_ports(root)),
        own_addresses=tuple((network_of(address, length), address) for _, address, length, _ in _addresses(root)),
        sessions=sessions,
        networks=tuple(_networks(process)),
        policies=policies(root),
        qos=qos_map(root),
        defaults=tuple(section.mark for prefix, section, _ in statics(root, VRF) if prefix in _DEFAULTS),
        discards=frozenset(prefix_of(prefix) for prefix, _, is_discard in statics(root, VRF) if is_discard),
        leaks=tuple(_leaks(root, process)),
        spreads_by=_spreads_by(root),
        spread_mark=root.at("system", "forwarding", "ecmp-hash").mark,
        hash_function=HashFunction(_ALGORITHM, int(seed.value)) if seed.value else None,
        seed_mark=seed.mark,
        advertised=frozenset(_advertised(root)),
        relayed=frozenset(_relayed(root)),
        relay_sources=dict(_relay_sources(root)),
    )


def _advertises_communities(group: Object) -> bool:
    """Whether a peer group sends communities in some address family."""
    for family in group.at("address-family").below:
        is_enabled = group.is_on("address-family", family, "enable", default=True)
        if is_enabled and group.is_on("address-family", family, "community-advertise", "regular", default=True):
            return True
    return False


def runs_bgp(root: Object) -> bool:
    """True when BGP is on, for the switch and for the VRF of the fabric."""
    vrf = root.at("vrf", VRF, "router", "bgp")
    return root.is_on("router", "bgp", "enable") and vrf.is_on("enable", default=True)


def is_up(section: Object) -> bool:
    """Whether a file's interface is in service."""
    return "down" not in section.at("link", "state").below


def front_ports(root: Object) -> Iterator[tuple[str, Object]]:
    """A file's front ports, without split cages."""
    for name, section in root.items("interface"):
        split = section.at("link", "breakout").below.keys() - {"1x"}
        if PORT.fullmatch(name) and not split:
            yield name, section


def statics(root: Object, vrf: str) -> Iterator[tuple[str, Object, bool]]:
    """Prefix, object and whether it leads nowhere, for each static route of a VRF."""
    for prefix, section in root.items("vrf", vrf, "router", "static"):
        kinds = {hop.text("type") for _, hop in section.items("via")}
        yield prefix, section, bool(kinds) and kinds <= _NOWHERE


def _addresses(root: Object) -> Iterator[tuple[str, bytes, int, Mark]]:
    """Interface, address, length and place of addresses in the default VRF."""
    for name, section in root.items("interface"):
        if section.text("ip", "vrf", default=VRF) != VRF:
            continue
        for text, place in section.items("ip", "address"):
            address, slash, length = text.partition("/")
            if slash:
                yield name, packed(address), int(length), place.mark


def _advertised(root: Object) -> Iterator[Prefix]:
    for name, address, length, _ in _addresses(root):
        advertisement = root.at("interface", name, "ip", "neighbor-discovery", "router-advertisement")
        if len(address) != _V4_BYTES and advertisement.is_on("enable") and advertisement.is_on("managed-config"):
            yield network_of(address, length)


def _relayed(root: Object) -> Iterator[Prefix]:
    """Subnets of interfaces for hosts' requests, with a server to forward them to."""
    v4, v6 = root.at("service", "dhcp-relay", "default"), root.at("service", "dhcp-relay6", "default", "interface")
    has_server = any(section.text("server-address") for _, section in v6.items("upstream"))
    asked_v4 = {name for name, servers, _ in relay_groups(v4) if servers}
    asked_v6 = set(v6.at("downstream").below) if has_server else set()
    for name, address, length, _ in _addresses(root):
        if name in (asked_v4 if len(address) == _V4_BYTES else asked_v6):
            yield network_of(address, length)


def relay_groups(relay: Object) -> Iterator[tuple[str, Mapping[str, Object], Object]]:
    """Each interface for hosts' requests over IPv4, its servers, and its place.

    Until 5.13 all servers are asked for every interface, since 5.14 those of the interface's group
    (CumulusNetworks/docs, 5.14, DHCP Relays): one without an upstream interface asks none.
    """
    for name, section in relay.items("interface"):
        yield name, relay.at("server").below, section
    for name, section in relay.items("downstream-interface"):
        group = relay.at("server-group", section.text("server-group-name"))
        yield name, group.at("server").below if group.at("upstream-interface").below else {}, section


def _relay_sources(root: Object) -> Iterator[tuple[Prefix, bytes]]:
    source = route_source(root)
    for _, address, length, _ in _addresses(root):
        from_port = asks_from_gateway(root) if len(address) == _V4_BYTES else asks_from_port(root)
        if from_port:
            yield network_of(address, length), address
        elif len(address) != _V4_BYTES and source is not None:
            yield network_of(address, length), source


def _ports(root: Object) -> Iterator[Port]:
    addresses = {name: (address, length, mark) for name, address, length, mark in _addresses(root)}
    gateways = {section.text("vlan"): addresses[name] for name, section in root.items("interface") if name in addresses}
    watched, unwatched = port_qos(root)
    is_adaptive = root.is_on("router", "adaptive-routing", "enable")
    bond_of = bonds_of(root)
    for name, section in front_ports(root):
        bond = bond_of.get(name)
        above = section if bond is None else root.at("interface", bond)  # it has the VLAN, lists and address
        if not is_up(section) or not is_up(above):
            continue
        domains = above.at("bridge", "domain").below
        # A bridge handles the packets of its ports, so an address of such a port has no effect.
        own_address = None if domains else addresses.get(bond or name)
        address, length, mark = own_address or (None, 0, section.mark)
        link = section.at("link")
        speed = link.text("speed").removesuffix("G")
        access = next((domain.text("access") for domain in domains.values()), "")
        shared = own_address or gateways.get(access)
        yield Port(
            name=name,
            address=address,
            length=length,
            speed_gbps=float(speed) if speed.isdecimal() else 0.0,
            peer=section.text("description").removeprefix("to "),
            qos=watched if section.is_on("qos", "pfc-watchdog", "state") else unwatched,
            mtu_bytes=above.at("link").number("mtu", default=_MTU),
            fec=_FEC.get(link.text("fec"), ""),
            lanes=_lanes(root, name, link),
            mark=mark,
            start=section.mark,
            speed_mark=link.at("speed").mark or section.mark,
            qos_mark=section.at("qos").mark or section.mark,
            cable_mark=section.at("description").mark or section.mark,
            subnet=network_of(shared[0], shared[1]) if shared else None,
            filtered=tuple(word for word, direction in _WAYS if _has_list(above, direction)),
            aggregate=None if bond is None else _aggregate(bond, name, above),
            is_adaptive=is_adaptive and bond is None and section.is_on("router", "adaptive-routing", "enable"),
        )


def _has_list(section: Object, direction: str) -> bool:
    return any(bound_list.at(direction).line for _, bound_list in section.items("acl"))


def _aggregate(name: str, port: str, section: Object) -> Aggregate:
    """The aggregate of a bond; Cumulus Linux defaults to active LACP with the fast rate."""
    bond = section.at("bond")
    mode = bond.text("mode", default="lacp")
    rate = bond.text("lacp-rate", default="fast")
    return Aggregate(
        name=name,
        mode="active" if mode == "lacp" else mode,
        rate=rate,
        mark=bond.at("member", port).mark or section.mark,
    )


_CAGE_LANES = 8  # of OSFP and QSFP-DD; the writer states the lanes of ports in cages with others


def _lanes(root: Object, name: str, link: Object) -> int:
    """The configured lanes of a port, or its part of a split cage's; 0 without any."""
    cage = root.at("interface", name.rpartition("s")[0], "link", "breakout")
    for mode, section in cage.items():
        if mode.removesuffix("x").isdecimal():
            return section.number("lanes-per-port", default=_CAGE_LANES // int(mode.removesuffix("x")))
    return link.number("lanes")


def _max_paths(process: Object, sessions: tuple[Session, ...]) -> tuple[int, Mark]:
    """Number of equal paths in eBGP: one if neighbours' AS numbers differ and must be equal."""
    relaxed = process.at("path-selection", "multipath", "aspath-ignore")
    if len({session.remote_as for session in sessions}) > 1 and relaxed.value not in {"on", "enabled"}:
        return 1, relaxed.mark or process.mark
    counts: list[tuple[int, Mark]] = []
    for _, section in process.items("address-family"):
        if section.is_on("enable", default=True):
            counts.append((section.number("multipaths", "ebgp", default=_PATHS), section.at("multipaths", "ebgp").mark))
    return max(counts, default=(_PATHS, process.mark))


def _sessions(root: Object, process: Object) -> Iterator[Session]:
    restart = root.at("router", "bgp", "graceful-restart")
    restart_s = restart.number("restart-time", default=_RESTART_S) if restart.text("mode") == "full" else 0
    for text, section in process.items("neighbor"):
        if not section.is_on("enable", default=True) or section.is_on("shutdown"):
            continue
        if not is_numbered(text):
            continue  # unread, which leaves every claim of the file open
        group = process.at("peer-group", section.text("peer-group"))
        if group.is_on("shutdown"):
            continue
        peer = packed(text)
        family = f"ipv{6 if len(peer) == 16 else 4}-unicast"
        if not process.is_on("address-family", family, "enable", default=len(peer) == _V4_BYTES):
            continue
        both = [section.at("address-family", family), group.at("address-family", family)]
        if _of(both, "enable", default="on" if len(peer) == _V4_BYTES else "off") not in {"on", "enabled"}:
            continue
        limit = _of(both, "prefix-limits", "inbound", "maximum", default="0")
        is_warned_only = _of(both, "prefix-limits", "inbound", "warning-only", default="off") == "on"
        remote = section.text("remote-as") or group.text("remote-as")
        local = section.text("update-source") or group.text("update-source")
        hold = _of([section, group, process], "timers", "hold", default=str(_HOLD_S))
        password = section.text("password") or group.text("password")
        multiplier = _of([section, group], "bfd", "detect-multiplier", default=str(_BFD_MULTIPLIER))
        bfd_ms = int(multiplier) * int(_of([section, group], "bfd", "min-rx-interval", default=str(_BFD_INTERVAL_MS)))
        yield Session(
            peer=peer,
            local=packed(local) if local else None,
            remote_as=int(remote) if remote.isdecimal() else 0,
            into=_of(both, "policy", "inbound", "route-map"),
            out_of=_of(both, "policy", "outbound", "route-map"),
            mark=section.mark,
            group_mark=group.at("address-family", family).mark or section.mark,
            as_mark=section.at("remote-as").mark or section.mark,
            local_mark=section.at("update-source").mark or section.mark,
            has_bfd=_of([section, group], "bfd", "enable", default="off") == "on",
            most_routes=0 if is_warned_only or not limit.isdecimal() else int(limit),
            authentication=_authentication(password),
            auth_mark=section.at("password").mark or section.mark,
            hold_time_s=int(hold),
            hold_mark=group.at("timers").mark or section.mark,
            restart_s=restart_s,
            restart_mark=restart.mark,
            bfd_ms=bfd_ms,
        )


def _of(objects: list[Object], *path: str, default: str = "") -> str:
    """The value in the first of several objects with it."""
    return next((section.text(*path) for section in objects if section.at(*path).line), default)


def _authentication(password: str) -> str:
    if not password:
        return ""
    placeholder = PLACEHOLDER.search(password)
    if placeholder is None:
        return "TCP-MD5 with a secret"
    version = f", version {placeholder['version']}" if placeholder["version"] else ""
    return f"TCP-MD5 with the secret {placeholder['name']}{version}"


def _networks(process: Object) -> Iterator[tuple[Prefix, Mark]]:
    for _, family in process.items("address-family"):
        for text, section in family.items("network"):
            yield prefix_of(text), section.mark


def _spreads_by(root: Object) -> str | None:
    fields = root.at("system", "forwarding", "ecmp-hash")
    usual = dict.fromkeys(_HASHED, True)
    names = {*usual, *fields.below}
    return ", ".join(sorted(name for name in names if fields.is_on(name, default=usual.get(name, False))))


def _leaks(root: Object, process: Object) -> Iterator[tuple[Mark, str]]:
    """Ways for routes of other protocols, tables and fabrics into this one."""
    for name, section in root.items("interface"):
        if name.startswith("eth") and section.text("ip", "vrf", default=VRF) == VRF:
            yield section.mark, f"{name} joins the fabric's routes to management's: it has no VRF of its own"
    for prefix, section, is_discard in statics(root, VRF):
        if not is_discard and prefix not in _DEFAULTS:
            yield section.mark, f"a static route to {prefix} leads traffic past the routes of BGP"
    for family, section in process.items("address-family"):
        for protocol, entry in section.items("redistribute"):
            if entry.is_on("enable", default=True):
                what = f"{protocol} brings routes into BGP that no policy of the fabric names"
                yield entry.mark, f"{family}: {what}"
        for prefix, entry in section.items("aggregate-route"):
            yield entry.mark, f"{prefix} announces prefixes that no switch stands for"
        if section.at("route-import").below:
            yield section.at("route-import").mark, "route-import carries routes from one VRF to another"
    yield from _defaults(process)


def _defaults(process: Object) -> Iterator[tuple[Mark, str]]:
    """Neighbours with a default route from the switch."""
    for kind in ("neighbor", "peer-group"):
        for name, section in process.items(kind):
            for family, entry in section.items("address-family"):
                if entry.is_on("default-route-origination", "enable"):
                    yield entry.mark, f"{name} is told of a default route in {family}"
