"""Pieces of a fabric: all devices of a fabric of the spec reach each other, within each declared plane.

A device is attached by the peers in the descriptions of switches' ports, so that devices without files count too. A
node with files is attached only by NICs with an address in them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import islice, starmap

from clusterwright.facts.router import Port, Router, apply_policy
from clusterwright.hosts.linux.reader.network import NETWORKS
from clusterwright.plan.meeting import Wiring, wiring_of_ends
from clusterwright.proofs.check import Counterexample, Fact, example
from clusterwright.proofs.ethernet.declared import declared
from clusterwright.proofs.ethernet.network import RoutedFabric, network_of_tree
from clusterwright.proofs.tree import RenderedTree

_NAMED = 8  # names of NICs in a label
_PAIRS = 10  # reported pairs of pieces


def label(fabric: RoutedFabric, fabrics: tuple[RoutedFabric, ...]) -> str:
    """The fabric's name, with the names of its NICs if several fabrics have that name, as planes do."""
    if sum(other.name == fabric.name for other in fabrics) < 2:
        return fabric.name
    names = sorted({nic.name for nic, _ in fabric.nics})
    if not names:
        return f"{fabric.name} ({fabric.routers[0].device})"
    shown_names = names[:_NAMED]
    if len(names) > _NAMED:
        shown_names.append("...")
    return f"{fabric.name} ({', '.join(shown_names)})"


@lru_cache(maxsize=2)
def wirings(tree: RenderedTree) -> Mapping[str, Wiring]:
    """The wiring of each fabric of the spec by name, without switches and devices out of service.

    In a tree without a spec, parts are one fabric if their tiers have the same names and accept each other's routes.
    """
    network = network_of_tree(tree)
    stopped = tree.declaration.stopped if tree.declaration is not None else frozenset[str]()
    parts: dict[str, list[RoutedFabric]] = {}
    for fabric in network.fabrics:
        parts.setdefault(_name(tree, fabric, parts), []).append(fabric)
    devices_with_files = tree.devices_below(NETWORKS)
    return {name: _wiring(fabrics, stopped, devices_with_files) for name, fabrics in parts.items()}


def _name(tree: RenderedTree, fabric: RoutedFabric, parts: Mapping[str, list[RoutedFabric]]) -> str:
    planned = declared(tree, fabric)
    if planned is not None:
        return planned.name
    for name, others in parts.items():
        if others[0].name == fabric.name and _accepts_routes(fabric, others[0]):
            return name
    if fabric.name in parts:
        return f"{fabric.name} of {fabric.routers[0].device}"
    return fabric.name


def _accepts_routes(part: RoutedFabric, other: RoutedFabric) -> bool:
    """True for a switch of one part accepting the other's routes."""
    prefix = next(other.prefixes, None)
    if prefix is None or not part.routers or not part.routers[0].sessions:
        return False
    router = part.routers[0]
    policy = router.policy(router.sessions[0].into)
    return apply_policy(policy, prefix, frozenset()) is not None


def _wiring(parts: list[RoutedFabric], stopped: frozenset[str], devices_with_files: frozenset[str]) -> Wiring:
    uppers: dict[str, set[str]] = {}
    ends: list[tuple[str, str, str]] = []
    for part in parts:
        idle = {index for index, router in enumerate(part.routers) if router.device in stopped}
        idle |= {index for index, is_silent in enumerate(part.silent) if is_silent}
        for lower, upper in _uplinks(part, idle):
            uppers.setdefault(lower, set()).add(upper)
        nics = {(nic.device, nic.name) for nic, _ in part.nics}
        for router, port in _host_ports(part, idle):
            device, _, name = port.peer.partition(" ")
            is_configured = device not in devices_with_files or (device, name) in nics
            if name and is_configured and device not in stopped:
                ends.append((device, name, router.device))
    return wiring_of_ends(uppers, ends)


def _uplinks(part: RoutedFabric, idle: set[int]) -> Iterator[tuple[str, str]]:
    """Lower and upper switch of each pair of cabled switches in service, by name."""
    rank = part.rank.tolist()
    for a, b in dict.fromkeys(map(tuple, part.ends.tolist())):
        if rank[a] == rank[b] or a in idle or b in idle:
            continue
        lower, upper = (a, b) if rank[a] < rank[b] else (b, a)
        yield part.routers[lower].device, part.routers[upper].device


def _host_ports(part: RoutedFabric, idle: set[int]) -> Iterator[tuple[Router, Port]]:
    """Ports of switches in service without those to other switches."""
    trunks = {(index, port.name) for index, port in part.link_ends}
    for index, router in enumerate(part.routers):
        if index in idle:
            continue
        for port in router.ports:
            if (index, port.name) not in trunks:
                yield router, port


def _planes(tree: RenderedTree, name: str) -> str:
    """The spec's declaration of a fabric's planes; "" without one, or without a spec."""
    if tree.declaration is None:
        return ""
    for fabric in tree.declaration.ethernet.values():
        if fabric.name == name:
            return fabric.planes
    return ""


def piece_faults(tree: RenderedTree) -> Iterator[Counterexample]:
    """Devices or ports of a plane without a path to each other, and pieces without declared planes.

    Without a spec, pieces are planes if every node with files is in all of them.
    """
    for name, wiring in wirings(tree).items():
        has_planes = bool(_planes(tree, name)) if tree.declaration is not None else _look_like_planes(tree, wiring)
        pairs = list(filter(None, (wiring.parted, wiring.torn(_joined(tree, name)))))
        if not has_planes:
            pairs += starmap(wiring.apart, islice(_pairs_of(wiring.piece_count), _PAIRS))
        reported: set[frozenset[int]] = set()
        for source, destination in pairs:
            pieces = frozenset((wiring.piece_of[source.switch], wiring.piece_of[destination.switch]))
            if pieces in reported:
                continue
            reported.add(pieces)
            reason = "no path up and then down joins them"
            if len(pieces) > 1:
                reason = f"{name} is in {wiring.piece_count} pieces, and no cable joins them"
            router = network_of_tree(tree).routers[source.switch]
            message = f"{source} does not reach {destination}: {reason}"
            yield example(tree, router.device, router.ports_file, (), message)


def _pairs_of(count: int) -> Iterator[tuple[int, int]]:
    """The pairs of ``count`` numbers: 0 1, 0 2, 1 2, 0 3, ..."""
    for later in range(count):
        for earlier in range(later):
            yield earlier, later


def _joined(tree: RenderedTree, name: str) -> Mapping[str, int]:
    """The planes of a fabric's switches with uplinks by the spec; without one, by cables."""
    if tree.declaration is not None:
        return tree.declaration.joined.get(name, {})
    plane_by_switch: dict[str, int] = {}
    for number, fabric in enumerate(network_of_tree(tree).fabrics):
        top = int(fabric.rank.max())
        for router, rank in zip(fabric.routers, fabric.rank.tolist(), strict=True):
            if rank < top:
                plane_by_switch[router.device] = number
    return plane_by_switch


def _look_like_planes(tree: RenderedTree, wiring: Wiring) -> bool:
    """True if every node with files is in all pieces."""
    devices_with_files = tree.devices_below(NETWORKS)
    members: set[frozenset[str]] = set()
    for piece in wiring.pieces:
        members.add(devices_with_files.intersection(end.device for end in piece))
    return len(members) == 1


def piece_facts(tree: RenderedTree) -> Iterator[Fact]:
    """The number of planes of each fabric proven plane by plane."""
    for name, wiring in wirings(tree).items():
        planes = _planes(tree, name)
        if planes and wiring.piece_count > 1 and wiring.parted is None:
            fact = f"{name}: planes by {planes}, which meet in the nodes alone; each is proven by itself"
            yield Fact(fact, wiring.piece_count)


def piece_notes(tree: RenderedTree) -> Iterator[str]:
    """Notes on pieces assumed to be planes in a tree without a spec, and on devices without a path to others."""
    for name, wiring in wirings(tree).items():
        if wiring.beside is not None:
            near, far = wiring.beside
            yield f"{name}: {near} does not reach {far}: both are at uppermost switches, and no way climbs again"
    if tree.declaration is not None:
        return
    for name, wiring in wirings(tree).items():
        if wiring.piece_count > 1 and wiring.parted is None and _look_like_planes(tree, wiring):
            yield f"{name} is in {wiring.piece_count} pieces with every node in all of them: taken for planes"
    single_switches = Counter(fabric.name for fabric in network_of_tree(tree).fabrics if len(fabric.routers) == 1)
    for name, count in single_switches.items():
        if count > 1:
            yield f"{count} {name} switches stand alone: whether they are one fabric, only the spec says"
