"""Packets permitted at each place of enforcement, by the declaration and docs/isolation.md."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product, starmap

from clusterwright.packets.boxes import (
    CT,
    DPORT,
    DST,
    ESTABLISHED,
    EVERYTHING,
    FLAGS,
    FOREIGN,
    FRAGMENT,
    ICMP4,
    ICMP6,
    INVALID,
    NEW,
    OWN,
    PROTO,
    RELATED,
    SPORT,
    SRC,
    TCP,
    UDP,
    UNREACHABLE,
    UNTRACKED,
    V4,
    V6,
    WHOLE,
    Box,
    PacketSet,
    box,
    meet,
    union,
)
from clusterwright.packets.filters import InterfaceNumbers
from clusterwright.packets.ranges import EMPTY, Ranges, values
from clusterwright.packets.values import addresses
from clusterwright.proofs.isolation.declared import OUTSIDE, DeclaredBorder, DeclaredFlow, DeclaredIsolation
from clusterwright.spec.isolation import WITH_PORTS

BOOT = "boot"
_NUMBERS = {"tcp": TCP, "udp": UDP}
# Neighbour discovery and listener messages, which Linux never tracks (nf_conntrack_proto_icmpv6.c).
_UNTRACKED_TYPES = values(130, 131, 132, 133, 134, 135, 136, 143)
_NEIGHBOURS = values(135, 136)
_REPORTS = values(131, 143)
_ON_LINK = values(131, 132, 135, 136, 143)
_SOLICITATION = values(133)
_DHCP = {
    4: (addresses("0.0.0.0/32", 4), addresses("255.255.255.255/32", 4), values(67)),
    6: (addresses("fe80::/10", 6), addresses("ff02::1:2/128", 6), values(547)),
}
_ERRORS = {4: values(3, 11, 12), 6: values(1, 2, 3, 4)}
_ECHO_REQUEST = {4: values(8), 6: values(128)}
_ECHO_REPLY = {4: values(0), 6: values(129)}
# RFC 6890: addresses that are never the source of a packet on a network.
_NEVER_A_SOURCE = {
    4: addresses("0.0.0.0/8", 4) | addresses("127.0.0.0/8", 4) | addresses("224.0.0.0/3", 4),
    6: addresses("::1", 6) | addresses("::ffff:0.0.0.0/96", 6) | addresses("100::/64", 6) | addresses("ff00::/8", 6),
}
# RFC 3927; clouds have servers there, in a zone of the spec.
_LINK_LOCAL = addresses("169.254.0.0/16", 4)
_TRACKED = values(NEW, ESTABLISHED, RELATED, INVALID)
KNOWN = values(ESTABLISHED, RELATED)
_FRESH = values(NEW, UNTRACKED)
_WHOLE_ONLY = values(0)  # connection tracking reassembles fragments before any filter
_NOT_LATER = values(0, 1)
_BGP = values(179)
_BFD = values(3784)  # RFC 5881, single hop
# Flags of TCP replies: ACK alone or with SYN, FIN or PSH, and RST. ECN bits may be set.
_SENT_FLAGS = values(*(flags for flags in range(256) if flags & 0x3F in {4, 16, 17, 18, 20, 24, 25}))
_ACK_OR_RST = values(*(flags for flags in range(256) if flags & 0x14))


_TRACKED_ICMP6 = box(
    family=V6,
    ct=_TRACKED,
    fragment=_WHOLE_ONLY,
    proto=values(ICMP6),
    icmp=WHOLE[PROTO] - _UNTRACKED_TYPES,
)
_STATEFUL_BOXES = (
    box(family=V4, ct=_TRACKED, fragment=_WHOLE_ONLY),
    box(family=V6, ct=_TRACKED, fragment=_WHOLE_ONLY, proto=WHOLE[PROTO] - values(ICMP6)),
    _TRACKED_ICMP6,
    box(family=V6, ct=values(UNTRACKED), fragment=_WHOLE_ONLY, proto=values(ICMP6), icmp=_UNTRACKED_TYPES),
)
STATEFUL_PACKETS = PacketSet(tuple(filter(None, starmap(meet, product(_STATEFUL_BOXES, EVERYTHING.boxes)))))
"""Every possible packet at a filter with connection tracking."""

Nics = Mapping[str, tuple[str, ...]]  # fabric to the node's interfaces with an address on it


def node_input(
    declared: DeclaredIsolation, zones: Sequence[str], nics: Nics, interfaces: InterfaceNumbers, *, boots: bool
) -> PacketSet:
    """Packets that a node should accept; ``boots`` for the rules while it installs itself."""
    inner = [*_baseline(), *contacts(declared, zones, nics, interfaces, boots=boots, outbound=False)]
    taken = [box(iif=interfaces.of("lo"))]
    for version, family in ((4, V4), (6, V6)):
        sources = WHOLE[SRC] - dropped_sources(declared, version)
        foreign = box(family=family, origin=values(FOREIGN, UNREACHABLE), src=sources)
        taken += _meeting(inner, foreign)
    return PacketSet(tuple(taken)) & STATEFUL_PACKETS


def _meeting(boxes: Iterable[Box], limit: Box) -> list[Box]:
    """Parts of ``boxes`` within ``limit``; empty parts are left out."""
    parts = (meet(candidate, limit) for candidate in boxes)
    return [part for part in parts if part is not None]


def dropped_sources(declared: DeclaredIsolation, version: int) -> Ranges:
    """Sources dropped on every network; IPv4's link-local ones are among them unless a zone holds them."""
    if version == 6:
        return _NEVER_A_SOURCE[6]
    held = EMPTY
    for zone in declared.zones:
        for part in zone.parts:
            if part.version == 4:
                held |= part.addresses & _LINK_LOCAL
    return _NEVER_A_SOURCE[4] | (_LINK_LOCAL - held)


def node_output(
    declared: DeclaredIsolation, zones: Sequence[str], nics: Nics, interfaces: InterfaceNumbers, *, boots: bool
) -> PacketSet:
    """Packets that a node should send."""
    inner = [*_baseline(), *contacts(declared, zones, nics, interfaces, boots=boots, outbound=True)]

    before = [
        box(oif=interfaces.of("lo")),
        box(family=V6, proto=values(ICMP6), icmp=_NEIGHBOURS, hops=values(255)),
        box(family=V6, proto=values(ICMP6), icmp=_REPORTS),
    ]
    return PacketSet((*before, *_meeting(inner, box(origin=values(OWN))))) & STATEFUL_PACKETS


def edge_input(
    declared: DeclaredIsolation, fabric: str, subnet: Ranges, *, relays: bool, single_ports: bool = False
) -> PacketSet | None:
    """Permitted packets from hosts behind a switch into a fabric; None for a fabric without zones.

    With ``relays``, hosts also ask for addresses and routers, from the addresses they have before. With
    ``single_ports`` the switch has no port ranges and compares TCP flags as a whole: flows with a long range pass with
    every port, and replies with the flags sent by TCP.
    """
    if not any(zone.on(fabric) for zone in declared.zones):
        return None
    version = declared.fabric[fabric].version
    boxes = _link(version)
    if relays:
        boxes += _asking(version)
    everybody = EMPTY
    for zone in declared.zones:
        local = EMPTY
        for part in zone.parts:
            if part.fabric == fabric:
                local |= part.addresses & subnet
        if not local:
            continue
        everybody |= local
        for flow in declared.flows:
            boxes += _sent(declared, flow, zone.name, fabric, local, single_ports=single_ports)
            if flow.target == zone.name:
                boxes += _relayed(declared, flow, fabric, local, reply=True)
    if everybody:
        boxes.append(_icmp(version, _ERRORS[version], src=everybody))
    return PacketSet(tuple(boxes)) & EVERYTHING


def _sent(
    declared: DeclaredIsolation, flow: DeclaredFlow, zone: str, fabric: str, local: Ranges, *, single_ports: bool
) -> Iterator[Box]:
    """Packets of a flow from a zone's hosts at the addresses ``local``: requests, or replies to them."""
    version = declared.fabric[fabric].version
    for mine, other, reply in ((flow.source, flow.target, False), (flow.target, flow.source, True)):
        if mine != zone or not _may_ride(declared, flow, fabric):
            continue
        if reply and flow.is_rdma:
            continue
        targets = declared.peers(mine, other, fabric, version)
        for packets in _stateless(flow, version, local, targets, reply=reply):
            yield _coarse(packets, flow) if single_ports else packets


def management_input(declared: DeclaredIsolation, fabric: str, *, is_stateful: bool = False) -> PacketSet | None:
    """Packets permitted at a switch's management port; None without a zone of the fabric's management ports.

    With ``is_stateful`` replies over TCP are established connections, and long ranges pass with every port.
    """
    holders = declared.port_zones(fabric)
    if not holders:
        return None
    version = declared.fabric[fabric].version
    packets = [*_link(version)]
    for holder in holders:
        for flow in declared.flows:
            for mine, other, reply in ((flow.target, flow.source, False), (flow.source, flow.target, True)):
                if mine != holder:
                    continue
                sources = declared.peers(mine, other, fabric, version)
                boxes = _stateless(flow, version, sources, WHOLE[DST], reply=reply)
                packets += [_tracked(box, flow) for box in boxes] if is_stateful else boxes
    packets.append(_icmp(version, _ERRORS[version]))
    return PacketSet(tuple(packets)) & EVERYTHING


def carried(declared: DeclaredIsolation, fabric: str) -> PacketSet:
    """Packets possibly carried by any port of a fabric's switches: flows, both ways, and sessions of switches.

    Everything for a fabric without zones.
    """
    known_fabric = declared.fabric.get(fabric)
    relays = any(edge.relays for edge in declared.edges if edge.fabric == fabric)
    inside = edge_input(declared, fabric, known_fabric.pool, relays=relays) if known_fabric is not None else None
    if known_fabric is None or inside is None:
        return EVERYTHING
    family = V4 if known_fabric.version == 4 else V6
    near = declared.known[known_fabric.version]
    session = box(family=family, proto=values(TCP), src=near, dst=near, fragment=_NOT_LATER)
    watch = box(family=family, proto=values(UDP), src=near, dst=near, dport=_BFD, fragment=_NOT_LATER)
    sessions = (_with(session, {DPORT: _BGP}), _with(session, {SPORT: _BGP}), watch)
    passed = [inside, PacketSet(sessions)]
    for border in declared.borders:
        if border.fabric == fabric:
            passed += [border_passes(declared, border, outward=outward) for outward in (False, True)]
    return union(passed)


def border_passes(declared: DeclaredIsolation, border: DeclaredBorder, *, outward: bool) -> PacketSet:
    """Packets permitted at a border's port: its session, flows with zones behind it, replies, and ICMP errors."""
    version = border.version
    family = V4 if version == 4 else V6
    local, neighbour = values(border.switch_address), values(border.neighbour)
    source, target = (local, neighbour) if outward else (neighbour, local)
    session = box(family=family, proto=values(TCP), src=source, dst=target, fragment=_NOT_LATER)
    boxes = [*_link(version), _with(session, {DPORT: _BGP}), _with(session, {SPORT: _BGP, FLAGS: _ACK_OR_RST})]
    behind = EMPTY
    for name in border.zones:
        outer = _part(declared, name, OUTSIDE, version)
        behind |= outer
        for flow in declared.flows:
            for outside, inside, begins in ((flow.source, flow.target, True), (flow.target, flow.source, False)):
                if outside == name and not flow.is_rdma:
                    inner = _part(declared, inside, border.fabric, version)
                    ends = (inner, outer) if outward else (outer, inner)
                    boxes += _stateless(flow, version, *ends, reply=begins is outward)
    if behind:
        boxes.append(_icmp(version, _ERRORS[version], **{"dst" if outward else "src": behind}))
    return PacketSet(tuple(boxes)) & EVERYTHING


def _part(declared: DeclaredIsolation, zone: str, fabric: str, version: int) -> Ranges:
    addresses = EMPTY
    for part in declared.zone[zone].parts:
        if (part.fabric, part.version) == (fabric, version):
            addresses |= part.addresses
    return addresses


def _with(packets: Box, changed: Mapping[int, Ranges]) -> Box:
    return tuple(changed.get(index, field) for index, field in enumerate(packets))


def _baseline() -> Iterator[Box]:
    """Packets accepted in addition to flows: established connections, neighbour discovery, errors."""
    yield box(ct=KNOWN)
    yield box(ct=_FRESH, family=V6, proto=values(ICMP6), icmp=_NEIGHBOURS, hops=values(255))
    yield from errors(_FRESH)


def errors(states: Ranges) -> Iterator[Box]:
    """ICMP errors of both IP versions in these states of their connections."""
    for version in (4, 6):
        yield _icmp(version, _ERRORS[version], ct=states)


def contacts(
    declared: DeclaredIsolation,
    zones: Sequence[str],
    nics: Nics,
    interfaces: InterfaceNumbers,
    *,
    boots: bool,
    outbound: bool,
) -> Iterator[Box]:
    """Flows of a node's zones, on the interfaces of the fabrics shared with the other zone."""
    for flow in declared.flows:
        mine, other = (flow.source, flow.target) if outbound else (flow.target, flow.source)
        # A flow towards a zone of kind boot is for a node that installs itself; boot servers run all the time.
        if mine not in zones or (declared.zone[other].kind == BOOT) is not boots:
            continue
        for fabric, names in nics.items():
            if not declared.zone[mine].on(fabric) or not _may_ride(declared, flow, fabric):
                continue
            if not outbound:
                side = box(ct=_FRESH, iif=interfaces.of(*names))
                yield from _meeting(_relayed(declared, flow, fabric, WHOLE[DST], reply=False), side)
            for version in (4, 6):
                far = declared.peers(mine, other, fabric, version)
                if not far:
                    continue
                number = interfaces.of(*names)
                side = box(ct=_FRESH, oif=number) if outbound else box(ct=_FRESH, iif=number)
                source, target = (WHOLE[SRC], far) if outbound else (far, WHOLE[DST])
                yield from _meeting(_stateless(flow, version, source, target, reply=False), side)


def _may_ride(declared: DeclaredIsolation, flow: DeclaredFlow, fabric: str) -> bool:
    return not flow.is_rdma or declared.fabric[fabric].technology == "roce"


def _stateless(flow: DeclaredFlow, version: int, source: Ranges, target: Ranges, *, reply: bool) -> list[Box]:
    """Packets of a flow in its own direction, or those of its replies, between these addresses."""
    if not source or not target:
        return []
    family = V4 if version == 4 else V6
    if flow.protocol == "icmp":
        if flow.ports is not None:
            return []  # no echo has a port
        return [_icmp(version, (_ECHO_REPLY if reply else _ECHO_REQUEST)[version], src=source, dst=target)]
    if flow.protocol not in WITH_PORTS and flow.ports is None:
        return [box(family=family, src=source, dst=target)]
    numbers = [number for name, number in _NUMBERS.items() if flow.protocol in (name, "any")]
    return [_ported(flow, number, family, source, target, reply=reply) for number in numbers]


def _ported(flow: DeclaredFlow, number: int, family: Ranges, source: Ranges, target: Ranges, *, reply: bool) -> Box:
    """Packets of a flow over TCP or UDP; ports of a flow with any protocol belong to these two."""
    fields = {"family": family, "proto": values(number), "src": source, "dst": target}
    if flow.ports is not None:
        port_field = "sport" if reply else "dport"
        fields |= {port_field: flow.ports, "fragment": _NOT_LATER}
    if reply and number == TCP:
        fields |= {"flags": _ACK_OR_RST, "fragment": _NOT_LATER}
    return box(**fields)


def _coarse(packets: Box, flow: DeclaredFlow) -> Box:
    """Packets of a flow as passed by a chip without port ranges and flag masks."""
    fields = list(packets)
    if flow.has_long_range:
        fields[DPORT], fields[SPORT] = WHOLE[DPORT], WHOLE[SPORT]
        if packets[FLAGS] is WHOLE[FLAGS]:
            fields[FRAGMENT] = WHOLE[FRAGMENT]
    if packets[FLAGS] is not WHOLE[FLAGS]:
        fields[FLAGS] = _SENT_FLAGS
    return tuple(fields)


def _tracked(packets: Box, flow: DeclaredFlow) -> Box:
    """Packets of a flow as passed by a filter with connection tracking and without port ranges."""
    changed: dict[int, Ranges] = {}
    if packets[FLAGS] is not WHOLE[FLAGS]:
        changed |= {FLAGS: WHOLE[FLAGS], CT: values(ESTABLISHED)}
    if flow.has_long_range:
        changed |= {DPORT: WHOLE[DPORT], SPORT: WHOLE[SPORT]}
    if packets[FLAGS] is not WHOLE[FLAGS] or flow.has_long_range:
        has_ports = any(changed.get(field, packets[field]) is not WHOLE[field] for field in (DPORT, SPORT))
        if not has_ports:
            changed[FRAGMENT] = WHOLE[FRAGMENT]
    return _with(packets, changed)


def _link(version: int) -> list[Box]:
    return [_icmp(6, _ON_LINK)] if version == 6 else []


def _relayed(
    declared: DeclaredIsolation, flow: DeclaredFlow, fabric: str, servers: Ranges, *, reply: bool
) -> list[Box]:
    """Packets of DHCP relays to boot servers by a flow, or the answers; empty without a relay or flow."""
    version, relays = declared.fabric[fabric].version, declared.relays(fabric)
    port = _DHCP[version][2]
    opens = flow.protocol in ("udp", "any") and (flow.ports is None or not port - flow.ports)
    if not relays or not opens or declared.zone[flow.target].kind != BOOT:
        return []
    ends = {"src": servers, "dst": relays, "sport": port} if reply else {"src": relays, "dst": servers, "dport": port}
    family = V4 if version == 4 else V6
    return [box(family=family, proto=values(UDP), fragment=_NOT_LATER, **ends)]


def _asking(version: int) -> list[Box]:
    """DHCP requests, with addresses from RFC 2131 and RFC 8415, and router solicitations."""
    source, target, port = _DHCP[version]
    family = V4 if version == 4 else V6
    request = box(family=family, proto=values(UDP), src=source, dst=target, dport=port, fragment=_NOT_LATER)
    return [request] if version == 4 else [request, _icmp(6, _SOLICITATION)]


def _icmp(version: int, types: Ranges, **fields: Ranges) -> Box:
    family, protocol = (V4, ICMP4) if version == 4 else (V6, ICMP6)
    return box(family=family, proto=values(protocol), icmp=types, fragment=_NOT_LATER, **fields)
