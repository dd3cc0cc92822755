"""Sessions: both ends of every cable speak BGP with each other, and agree on addresses and AS numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from clusterwright.verify.check import Check, Fact, Verdict
from clusterwright.verify.ethernet.network import KINDS, Fabric, Network, has_network, network_of_tree
from clusterwright.verify.ethernet.router import (
    Mark,
    Port,
    Router,
    Session,
    example,
    leads_outside,
    shown,
    shown_prefix,
)
from clusterwright.verify.ethernet.routes import edges_of
from clusterwright.verify.tree import RenderedTree

_BORDER = "FROM-BORDER-"  # the policy of sessions with networks outside
_POINT_TO_POINT = {4: 31, 16: 127}  # RFC 3021, RFC 6164
_Owner = tuple[Router, Port]


def _run(tree: RenderedTree) -> Verdict:
    network = network_of_tree(tree)
    found = [
        example(tree, router.device, router.ports_file, port.cable_mark, f"{port.name}: {why}")
        for router, port, why in network.mismatches
    ]
    owners: dict[bytes, _Owner] = {}
    for router in network.routers.values():
        for port in router.ports:
            if port.address is None:
                continue
            before = owners.setdefault(port.address, (router, port))
            if before[1] is not port:
                message = f"{port.name} has {shown(port.address)}, which is {before[0].device} {before[1].name}'s"
                found.append(example(tree, router.device, router.ports_file, port.mark, message))
    sessions = {
        (router.device, session.peer): session for router in network.routers.values() for session in router.sessions
    }
    devices = frozenset(device for device, _ in tree.files)
    for router in network.routers.values():
        for session in router.sessions:
            for file, mark, fault in _faults(router, session, owners, sessions, devices):
                message = f"the session with {shown(session.peer)} cannot come up: {fault}"
                found.append(example(tree, router.device, file, mark, message))
    found += (example(tree, *place) for place in _misnumbered(network, owners))
    for fabric in network.fabrics:
        found += (example(tree, *place) for place in (*_silent(fabric, sessions), *_alike(fabric), *_watched(fabric)))
    return Verdict(tuple(_facts(network)), tuple(found))


def _facts(network: Network) -> Iterator[Fact]:
    for fabric in network.fabrics:
        yield Fact(f"{fabric.name}: sessions, each with both ends", sum(len(r.sessions) for r in fabric.routers) // 2)
        yield Fact(f"{fabric.name}: AS numbers", len({router.asn for router in fabric.routers}))


def _faults(
    router: Router,
    session: Session,
    owners: dict[bytes, _Owner],
    sessions: dict[tuple[str, bytes], Session],
    devices: frozenset[str],
) -> Iterator[tuple[str, Mark, str]]:
    """Why a session cannot come up, each with the file and the place; nothing when nothing speaks against it."""
    if session.peer not in owners and session.into.startswith(_BORDER):
        return  # its far end is no switch of ours: the proof of isolation judges what passes there
    if session.peer not in owners:
        if not leads_outside(router, session, devices):
            yield router.bgp_file, session.mark, "no switch has that address"
        elif not session.most_routes:
            yield router.bgp_file, session.group_mark, "nothing limits how many routes the outside may announce"
        return
    other, far = owners[session.peer]
    local = session.peer[:-1] + bytes((session.peer[-1] ^ 1,))
    if session.local is not None and session.local != local:
        fault = f"{shown(session.local)}, its own end, is not in one subnet with it"
        yield router.bgp_file, session.local_mark, fault
    own = owners.get(local)
    if own is None or own[0] is not router:
        cabled = next((port for port in router.ports if port.peer == f"{other.device} {far.name}"), None)
        fault = f"{router.device} has no interface in its subnet"
        yield (router.ports_file, cabled.mark, fault) if cabled else (router.bgp_file, session.mark, fault)
        return
    near = own[1]
    if near.length != _POINT_TO_POINT[len(session.peer)]:
        yield router.ports_file, near.mark, f"{near.name} has a /{near.length}, not a subnet of two addresses"
    if near.peer != f"{other.device} {far.name}":
        fault = f"the address is {other.device} {far.name}'s, but {near.name} is cabled to {near.peer or 'nothing'}"
        yield router.bgp_file, session.mark, fault
    if session.remote_as != other.asn:
        fault = f"remote AS {session.remote_as} is expected, {other.device} is AS {other.asn}"
        yield router.bgp_file, session.as_mark, fault
    if router.asn == other.asn:
        yield router.bgp_file, session.as_mark, f"both ends are AS {router.asn}, and would refuse each other's routes"
    if (other.device, local) not in sessions:
        yield router.bgp_file, session.mark, f"{other.device} has no neighbour {shown(local)}"


def _misnumbered(network: Network, owners: dict[bytes, _Owner]) -> Iterator[tuple[str, str, Mark, str]]:
    """Switches whose neighbours agree on another AS number than the one they have."""
    expected: dict[str, Counter[int]] = {}
    for router in network.routers.values():
        for session in router.sessions:
            if session.peer in owners:
                expected.setdefault(owners[session.peer][0].device, Counter())[session.remote_as] += 1
    for device, numbers in expected.items():
        router = network.routers[device]
        number, count = numbers.most_common(1)[0]
        if router.asn != number:
            yield (
                device,
                router.bgp_file,
                router.asn_mark,
                f"is AS {router.asn}, but {count} neighbours expect AS {number}",
            )


def _silent(fabric: Fabric, sessions: dict[tuple[str, bytes], Session]) -> Iterator[tuple[str, str, Mark, str]]:
    """Ends of cables between switches without a session."""
    for link in fabric.links:
        for at, port, other, far in (
            (link.a, link.a_port, link.b, link.b_port),
            (link.b, link.b_port, link.a, link.a_port),
        ):
            router, peer = fabric.routers[at], fabric.routers[other]
            if far.address is not None and (router.device, far.address) not in sessions:
                message = f"{port.name} is cabled to {peer.device} {far.name}, {shown(far.address)}, without a session"
                yield router.device, router.bgp_file, (), message


def _alike(fabric: Fabric) -> Iterator[tuple[str, str, Mark, str]]:
    """Router ids and originated prefixes that two switches of a fabric share."""
    ids: dict[str, Router] = {}
    prefixes: dict[object, Router] = {}
    for router in fabric.routers:
        if router.sessions and not router.router_id:
            message = "has no router id, and no IPv4 address to take one from: BGP does not start"
            yield router.device, router.bgp_file, router.router_id_mark, message
        first = ids.setdefault(router.router_id, router)
        if first is not router and router.router_id:
            message = f"router id {router.router_id} is {first.device}'s"
            yield router.device, router.bgp_file, router.router_id_mark, message
        told = {prefix for prefix, _ in router.networks}
        for subnet, address in router.own_addresses:
            if router.sessions and subnet[1] == 8 * len(subnet[0]) and subnet not in told:
                message = f"{shown(address)}, its loopback, is announced to nobody"
                yield router.device, router.bgp_file, (), message
        for prefix, place in router.networks:
            first = prefixes.setdefault(prefix, router)
            if first is not router:
                message = f"{shown_prefix(prefix)} is announced by {first.device} too"
                yield router.device, router.bgp_file, place, message
            if not router.has_route_for(prefix):
                message = f"{shown_prefix(prefix)} is announced, but is no subnet of this switch"
                yield router.device, router.bgp_file, place, message


def _watched(fabric: Fabric) -> Iterator[tuple[str, str, Mark, str]]:
    """Neighbours that BFD watches from one end only, and ends without it where both could have it."""
    system_bfd = {router.bgp_file for router in fabric.routers for session in router.sessions if session.has_bfd}
    for edge in edges_of(fabric):
        router, other = fabric.routers[edge.target], fabric.routers[edge.source]
        here, there = edge.target_session, edge.source_session
        both_can = {router.bgp_file, other.bgp_file} <= system_bfd
        if here.has_bfd == there.has_bfd and (here.has_bfd or not both_can):
            continue
        if not here.has_bfd:
            message = f"BFD does not watch {other.device}, {shown(here.peer)}"
            message += (
                ", though it watches this switch" if there.has_bfd else ", though both systems of this fabric can"
            )
            yield router.device, router.bgp_file, here.group_mark, message


SESSIONS = Check(
    "bgp-sessions",
    "Both ends of every cable between switches have a BGP session, and agree on addresses, AS numbers and BFD.",
    KINDS,
    has_network,
    _run,
)
