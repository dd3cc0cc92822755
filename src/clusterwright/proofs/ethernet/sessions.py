"""Sessions: both ends of every cable speak BGP with each other, and agree on addresses and AS numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import chain

from clusterwright.and_more import and_more
from clusterwright.facts.router import Mark, Port, Router, Session, leads_outside, shown, shown_prefix
from clusterwright.proofs.check import Cases, Counterexample, Fact, ProofCheck, Verdict, example
from clusterwright.proofs.ethernet.declared import declared, has_uplinks
from clusterwright.proofs.ethernet.edges import edges_of
from clusterwright.proofs.ethernet.network import (
    KINDS,
    NETWORK_INTENT,
    RoutedFabric,
    RoutedNetwork,
    has_network,
    network_of_tree,
    without_cables,
)
from clusterwright.proofs.ethernet.port_lists import list_faults
from clusterwright.proofs.session_authentication import authentication_fault
from clusterwright.proofs.tree import RenderedTree
from clusterwright.spec.ethernet import SessionAuthentication, asn_fault
from clusterwright.spec.hardware.systems import systems
from clusterwright.switches.readers import READERS

_BORDER = "FROM-BORDER-"  # the policy of sessions with networks outside
_POINT_TO_POINT = {4: 31, 16: 127}  # RFC 3021, RFC 6164
_Owner = tuple[Router, Port]
_Sessions = Mapping[str, Mapping[bytes, Session]]
"""By device and peer."""


def _run(tree: RenderedTree) -> Verdict:
    network = network_of_tree(tree)
    counterexamples: list[Counterexample] = []
    for router, port, mismatch in network.mismatches:
        message = f"{port.name}: {mismatch}"
        counterexamples.append(example(tree, router.device, router.ports_file, port.cable_mark, message))
    owners: dict[bytes, _Owner] = {}
    for router in network.routers.values():
        for port in router.ports:
            if port.address is None:
                continue
            owner, owned_port = owners.setdefault(port.address, (router, port))
            if owned_port is not port:
                message = f"{port.name} has {shown(port.address)}, which is {owner.device} {owned_port.name}'s"
                counterexamples.append(example(tree, router.device, router.ports_file, port.mark, message))
    sessions: dict[str, dict[bytes, Session]] = {}
    for device, router in network.routers.items():
        sessions[device] = {session.peer: session for session in router.sessions}
    devices = tree.devices
    for router in network.routers.values():
        for session, file, mark, fault in _faults(router, owners, sessions, devices):
            message = f"the session with {shown(session.peer)} cannot come up: {fault}"
            counterexamples.append(example(tree, router.device, file, mark, message))
    counterexamples += (example(tree, *fault) for fault in _wrong_as_numbers(network, owners))
    for fabric in network.fabrics:
        counterexamples += (example(tree, *fault) for fault in _of_fabric(fabric, sessions))
        counterexamples += (example(tree, *fault) for fault in _as_number_faults(fabric, owners))
        counterexamples += (example(tree, *fault) for fault in _unlike_spec(tree, fabric))
        counterexamples += list_faults(tree, fabric)
    cases = Cases("sessions or addresses", sum(map(len, sessions.values())) + len(owners))
    return Verdict(
        facts=tuple(_facts(network)), counterexamples=tuple(counterexamples), cases=cases, notes=tuple(_notes(network))
    )


def _notes(network: RoutedNetwork) -> Iterator[str]:
    """Notes on systems that announce routes before their chip has them."""
    for reader in READERS:
        system = systems()[reader.system]
        routers = [router for router in network.routers.values() if router.ports_file == reader.file]
        has_sessions = any(router.sessions for router in routers)
        if system.announces_at_once and has_sessions:
            yield f"{system.title}: switches announce a route before their chip has it, and drop packets in between"


def _facts(network: RoutedNetwork) -> Iterator[Fact]:
    for fabric in network.fabrics:
        yield Fact(f"{fabric.name}: sessions, each with both ends", sum(len(r.sessions) for r in fabric.routers) // 2)
        yield Fact(f"{fabric.name}: AS numbers", len({router.asn for router in fabric.routers}))
        if edges_of(fabric):
            yield Fact(f"{fabric.name}: graceful restart", _restart(_usual_restart_s(fabric)))


def _faults(
    router: Router, owners: Mapping[bytes, _Owner], sessions: _Sessions, devices: frozenset[str]
) -> Iterator[tuple[Session, str, Mark, str]]:
    """Sessions unable to come up, with file, place and reason."""
    for session in router.sessions:
        owner = owners.get(session.peer)
        if owner is None:
            # The far end is no switch of the tree: the isolation proof checks the routes of a border.
            if not session.into.startswith(_BORDER):
                yield from ((session, router.bgp_file, *fault) for fault in _outside_faults(router, session, devices))
            continue
        other, _ = owner
        local = session.peer[:-1] + bytes((session.peer[-1] ^ 1,))
        if session.local is not None and session.local != local:
            fault = f"{shown(session.local)}, its own end, is not in one subnet with it"
            yield session, router.bgp_file, session.local_mark, fault
        near = owners.get(local)
        if near is None or near[0] is not router:
            yield session, *_missing_interface(router, session, owner)
            continue
        yield from ((session, *fault) for fault in _link_faults(router, session, near[1], owner))
        if session.remote_as != other.asn:
            fault = f"remote AS {session.remote_as} is expected, {other.device} is AS {other.asn}"
            yield session, router.bgp_file, session.as_mark, fault
        if router.asn == other.asn:
            fault = f"both ends are AS {router.asn}, and would refuse each other's routes"
            yield session, router.bgp_file, session.as_mark, fault
        far_session = sessions[other.device].get(local)
        if far_session is None:
            fault = f"{other.device} has no neighbour {shown(local)}"
            yield session, router.bgp_file, session.mark, fault
        elif session.authentication != far_session.authentication:
            yield from ((session, *fault) for fault in _disagreement(router, session, other, far_session))


def _missing_interface(router: Router, session: Session, owner: _Owner) -> tuple[str, Mark, str]:
    """The fault of a switch without an interface in a session's subnet, at the port cabled to the peer."""
    other, far = owner
    fault = f"{router.device} has no interface in its subnet"
    for port in router.ports:
        if port.peer == f"{other.device} {far.name}":
            return router.ports_file, port.mark, fault
    return router.bgp_file, session.mark, fault


def _link_faults(router: Router, session: Session, near: Port, owner: _Owner) -> Iterator[tuple[str, Mark, str]]:
    """Faults of the link of a session: its subnet, and the far end of its cable."""
    other, far = owner
    if near.length != _POINT_TO_POINT[len(session.peer)]:
        yield router.ports_file, near.mark, f"{near.name} has a /{near.length}, not a subnet of two addresses"
    if near.peer != f"{other.device} {far.name}":
        there = near.peer or "nothing"
        fault = f"the address is {other.device} {far.name}'s, but {near.name} is cabled to {there}"
        yield router.bgp_file, session.mark, fault


def _outside_faults(router: Router, session: Session, devices: frozenset[str]) -> Iterator[tuple[Mark, str]]:
    """Faults of a session with a peer outside the tree."""
    if not leads_outside(router, session, devices):
        yield session.mark, "no switch has that address"
    elif not session.most_routes:
        yield session.group_mark, "nothing limits how many routes the outside may announce"


def _disagreement(router: Router, session: Session, other: Router, end: Session) -> Iterator[tuple[str, Mark, str]]:
    """Different authentication of both ends, reported at an end without any, otherwise at both."""
    if not session.authentication:
        yield router.bgp_file, session.group_mark, f"{other.device} asks for {end.authentication}, this end has nothing"
    elif end.authentication:
        fault = f"this end has {session.authentication}, {other.device} has {end.authentication}"
        yield router.bgp_file, session.auth_mark, fault


def _wrong_as_numbers(network: RoutedNetwork, owners: dict[bytes, _Owner]) -> Iterator[tuple[str, str, Mark, str]]:
    """Switches with another AS number than most neighbours expect."""
    sessions = chain.from_iterable(router.sessions for router in network.routers.values())
    expectations = [(owners[session.peer][0], session.remote_as) for session in sessions if session.peer in owners]
    unexpected = dict.fromkeys(owner.device for owner, number in expectations if owner.asn != number)
    for device in unexpected:
        router = network.routers[device]
        votes = Counter(number for owner, number in expectations if owner is router)
        number, count = votes.most_common(1)[0]
        if router.asn != number:
            message = f"is AS {router.asn}, but {count} neighbours expect AS {number}"
            yield device, router.bgp_file, router.asn_mark, message


def _of_fabric(fabric: RoutedFabric, sessions: _Sessions) -> Iterator[tuple[str, str, Mark, str]]:
    yield from _missing_sessions(fabric, sessions)
    yield from _identity_faults(fabric)
    yield from _bfd_faults(fabric)
    yield from _hold_time_faults(fabric)
    yield from _restart_faults(fabric)


def _unlike_spec(tree: RenderedTree, fabric: RoutedFabric) -> Iterator[tuple[str, str, Mark, str]]:
    """Ends with other authentication than the spec requires of the links above their tier."""
    planned = declared(tree, fabric)
    if planned is None:
        return
    required: dict[str, SessionAuthentication] = {}
    for tier in planned.tiers:
        if tier.up is not None and tier.up.authentication is not None:
            required[tier.role] = tier.up.authentication
    if not required:
        return
    for edge in edges_of(fabric):
        router, other, session = fabric.routers[edge.target], fabric.routers[edge.source], edge.target_session
        lower = router if fabric.rank[edge.target] < fabric.rank[edge.source] else other
        if lower.role not in required:
            continue
        fault = authentication_fault(session, required[lower.role])
        if fault:
            mark = session.auth_mark if session.authentication else session.group_mark
            yield router.device, router.bgp_file, mark, f"{other.device}, {shown(session.peer)}: {fault}"


def _missing_sessions(fabric: RoutedFabric, sessions: _Sessions) -> Iterator[tuple[str, str, Mark, str]]:
    """Ends of cables between switches without a session."""
    sessions_by_peer = [sessions[router.device] for router in fabric.routers]
    for link in fabric.links:
        near_end, far_end = link.both_ends
        for (near, port), (far, far_port) in ((near_end, far_end), (far_end, near_end)):
            if far_port.address is None or far_port.address in sessions_by_peer[near]:
                continue
            router = fabric.routers[near]
            neighbour = f"{fabric.routers[far].device} {far_port.name}, {shown(far_port.address)}"
            message = f"{port.name} is cabled to {neighbour}, without a session"
            yield router.device, router.bgp_file, (), message


def _as_number_faults(fabric: RoutedFabric, owners: Mapping[bytes, _Owner]) -> Iterator[tuple[str, str, Mark, str]]:
    """Impossible AS numbers of routers, and of neighbours outside the fabric."""
    for router in fabric.routers:
        if not router.sessions:
            continue
        reason = asn_fault(router.asn)
        if reason:
            yield router.device, router.bgp_file, router.asn_mark, f"AS {router.asn} is no router's: {reason}"
        for session in router.sessions:
            reason = asn_fault(session.remote_as)
            if reason and session.peer not in owners:
                message = f"{shown(session.peer)}, a neighbour outside, cannot be AS {session.remote_as}: {reason}"
                yield router.device, router.bgp_file, session.as_mark, message


def _identity_faults(fabric: RoutedFabric) -> Iterator[tuple[str, str, Mark, str]]:
    """Router ids and originated prefixes shared by two switches of a fabric, and missing ones."""
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
        announced = {prefix for prefix, _ in router.networks}
        for subnet, address in router.own_addresses:
            if router.sessions and subnet[1] == 8 * len(subnet[0]) and subnet not in announced:
                message = f"{shown(address)}, its loopback, is announced to no neighbour"
                yield router.device, router.bgp_file, (), message
        for prefix, place in router.networks:
            first = prefixes.setdefault(prefix, router)
            if first is not router:
                message = f"{shown_prefix(prefix)} is announced by {first.device} too"
                yield router.device, router.bgp_file, place, message
            if not router.has_route_for(prefix):
                message = f"{shown_prefix(prefix)} is announced, but is no subnet of this switch"
                yield router.device, router.bgp_file, place, message


def _bfd_faults(fabric: RoutedFabric) -> Iterator[tuple[str, str, Mark, str]]:
    """Neighbours watched by BFD from one end only, and ends without BFD although both systems support it."""
    systems_with_bfd = {router.bgp_file for router, session in fabric.sessions if session.has_bfd}
    unable: set[tuple[int, Mark]] | None = None
    for source, target, _, _, there, here in edges_of(fabric):
        router, other = fabric.routers[target], fabric.routers[source]
        if here.has_bfd:
            if there.has_bfd and here.bfd_ms > there.bfd_ms:
                ends = f"{here.bfd_ms:,} ms for {other.device}, and {there.bfd_ms:,} ms there for this switch"
                yield router.device, router.bgp_file, here.group_mark, f"BFD waits {ends}"
            continue
        reason = "it watches this switch"
        if not there.has_bfd:
            if router.bgp_file not in systems_with_bfd:
                continue
            if unable is None:
                unable = _without_bfd(fabric, systems_with_bfd)
            if (target, here.group_mark) in unable:
                continue
            reason = "both systems of this fabric can"
        message = f"BFD does not watch {other.device}, {shown(here.peer)}, though {reason}"
        yield router.device, router.bgp_file, here.group_mark, message


def _without_bfd(fabric: RoutedFabric, systems_with_bfd: set[str]) -> set[tuple[int, Mark]]:
    """Peer groups unable to have BFD, by router and place.

    These are the groups of other systems than ``systems_with_bfd``, and groups with a session to such a group, since a
    group has BFD for all of its neighbours or for none.
    """
    neighbours: dict[tuple[int, Mark], set[tuple[int, Mark]]] = {}
    for source, target, _, _, there, here in edges_of(fabric):
        neighbours.setdefault((target, here.group_mark), set()).add((source, there.group_mark))
    unable = {group for group in neighbours if fabric.routers[group[0]].bgp_file not in systems_with_bfd}
    queue = list(unable)
    while queue:
        added = neighbours[queue.pop()] - unable
        unable |= added
        queue += added
    return unable


def _hold_time_faults(fabric: RoutedFabric) -> Iterator[tuple[str, str, Mark, str]]:
    """Sessions with a hold time unlike the neighbour's and the fabric's usual one."""
    usual = Counter(session.hold_time_s for _, session in fabric.sessions).most_common(1)
    for source, target, _, _, there, here in edges_of(fabric):
        if here.hold_time_s not in (there.hold_time_s, usual[0][0]):
            router, other = fabric.routers[target], fabric.routers[source]
            message = f"{other.device}, {shown(here.peer)}, may be silent for {here.hold_time_s} s, its end says"
            message += f" {there.hold_time_s} s: the shorter counts"
            yield router.device, router.bgp_file, here.hold_mark, message


def _usual_restart_s(fabric: RoutedFabric) -> int | None:
    votes = Counter([edge.target_session.restart_s for edge in edges_of(fabric)])
    if not votes:
        return 0
    return max(votes.items(), key=lambda item: item[1])[0]


def _restart_faults(fabric: RoutedFabric) -> Iterator[tuple[str, str, Mark, str]]:
    """Sessions with a restart time unlike the neighbour's and the usual one; each line once."""
    usual_s = _usual_restart_s(fabric)
    neighbours_by_line: dict[tuple[str, str, Mark, int | None, int | None], list[str]] = {}
    for edge in edges_of(fabric):
        here, there = edge.target_session, edge.source_session
        if here.restart_s not in (there.restart_s, usual_s):
            router, other = fabric.routers[edge.target], fabric.routers[edge.source]
            key = router.device, router.bgp_file, here.restart_mark, here.restart_s, there.restart_s
            neighbours_by_line.setdefault(key, []).append(other.device)
    for (device, file, mark, here_s, there_s), others in neighbours_by_line.items():
        message = f"graceful restart is {_restart(here_s)} here, {_restart(there_s)} at {and_more(others, 1)}"
        yield device, file, mark, message


def _restart(time_s: int | None) -> str:
    if time_s is None:
        return "of the system's own time"
    return f"{time_s} s" if time_s else "off"


SESSIONS = ProofCheck(
    name="bgp-sessions",
    claim=(
        "Both ends of every cable between switches have a session: addresses, AS numbers, BFD, timers"
        " and secrets agree."
    ),
    kinds=KINDS,
    intent=NETWORK_INTENT,
    applies=has_network,
    check=_run,
    spec_only="whether sessions, timers and authentication are those of the spec",
    concerns=has_uplinks,
    uncheckable=without_cables,
)
