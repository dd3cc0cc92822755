"""Pieces of a fabric: all devices of a fabric of the spec reach each other, within each declared plane.

A device is attached by the peers in the descriptions of switches' ports, so that devices without files count too. A
node with files is attached only by NICs with an address in them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import islice, starmap

from clusterwright.facts.router import apply_policy
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
    return f"{fabric.name} ({', '.join(names[:_NAMED])}{', ...' if len(names) > _NAMED else ''})"


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
    filed = tree.devices_below(NETWORKS)
    return {name: _wiring(fabrics, stopped, filed) for name, fabrics in parts.items()}


def _name(tree: RenderedTree, fabric: RoutedFabric, parts: Mapping[str, list[RoutedFabric]]) -> str:
    planned = declared(tree, fabric)
    if planned is not None:
        return planned.name
    for name, others in parts.items():
        if others[0].name == fabric.name and _is_one(fabric, others[0]):
            return name
    return f"{fabric.name} of {fabric.routers[0].device}" if fabric.name in parts else fabric.name


def _is_one(part: RoutedFabric, other: RoutedFabric) -> bool:
    """True for a switch of one part accepting the other's routes."""
    prefix = next(other.prefixes, None)
    first_sessions = part.routers[0].sessions[:1] if part.routers else ()
    if prefix is None or not first_sessions:
        return False
    policy = part.routers[0].policy(first_sessions[0].into)
    return apply_policy(policy, prefix, frozenset()) is not None


def _wiring(parts: list[RoutedFabric], stopped: frozenset[str], filed: frozenset[str]) -> Wiring:
    above: dict[str, set[str]] = {}
    ends: list[tuple[str, str, str]] = []
    for part in parts:
        idle = {at for at, router in enumerate(part.routers) if router.device in stopped or part.silent[at]}
        trunks: list[set[str]] = [set() for _ in part.routers]
        for one, one_port, other, other_port in part.links:
            trunks[one].add(one_port.name)
            trunks[other].add(other_port.name)
        rank = part.rank.tolist()
        for a, b in dict.fromkeys(map(tuple, part.ends.tolist())):
            if rank[a] != rank[b] and a not in idle and b not in idle:
                lower, upper = (a, b) if rank[a] < rank[b] else (b, a)
                above.setdefault(part.routers[lower].device, set()).add(part.routers[upper].device)
        nics = {(nic.device, nic.name) for nic, _ in part.nics}
        for at, router in enumerate(part.routers):
            if at not in idle:
                for port in router.ports:
                    if port.name in trunks[at]:
                        continue
                    device, _, name = port.peer.partition(" ")
                    is_configured = device not in filed or (device, name) in nics
                    if name and is_configured and device not in stopped:
                        ends.append((device, name, router.device))
    return wiring_of_ends(above, ends)


def _planes(tree: RenderedTree, name: str) -> str:
    """The spec's declaration of a fabric's planes; "" without one, or without a spec."""
    planned = tree.declaration.ethernet.values() if tree.declaration is not None else ()
    return next((fabric.planes for fabric in planned if fabric.name == name), "")


def piece_faults(tree: RenderedTree) -> Iterator[Counterexample]:
    """Devices or ports of a plane without a path to each other, and pieces without declared planes.

    Without a spec, pieces are planes if every node with files is in all of them.
    """
    for name, wiring in wirings(tree).items():
        is_meant = bool(_planes(tree, name)) if tree.declaration is not None else _look_like_planes(tree, wiring)
        pairs = list(filter(None, (wiring.parted, wiring.torn(_joined(tree, name)))))
        if not is_meant:
            pairs += starmap(wiring.apart, islice(_pairs_of(wiring.piece_count), _PAIRS))
        reported: set[frozenset[int]] = set()
        for one, other in pairs:
            here, there = wiring.piece_of[one.switch], wiring.piece_of[other.switch]
            if frozenset((here, there)) in reported:
                continue
            reported.add(frozenset((here, there)))
            why = "no way up and then down joins them"
            if here != there:
                why = f"{name} is in {wiring.piece_count} pieces, and no cable joins them"
            router = network_of_tree(tree).routers[one.switch]
            message = f"{one} does not reach {other}: {why}"
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
    filed = tree.devices_below(NETWORKS)
    members = {frozenset(end.device for end in piece) & filed for piece in wiring.pieces}
    return len(members) == 1


def piece_facts(tree: RenderedTree) -> Iterator[Fact]:
    """The number of planes of each fabric proven plane by plane."""
    for name, wiring in wirings(tree).items():
        how = _planes(tree, name)
        if how and wiring.piece_count > 1 and wiring.parted is None:
            what = f"{name}: planes by {how}, which meet in the nodes alone; each is proven by itself"
            yield Fact(what, wiring.piece_count)


def piece_notes(tree: RenderedTree) -> Iterator[str]:
    """Notes on pieces assumed to be planes in a tree without a spec, and on devices without a path to others."""
    for name, wiring in wirings(tree).items():
        if wiring.beside is not None:
            one, other = wiring.beside
            yield f"{name}: {one} does not reach {other}: both are at uppermost switches, and no way climbs again"
    if tree.declaration is None:
        for name, wiring in wirings(tree).items():
            if wiring.piece_count > 1 and wiring.parted is None and _look_like_planes(tree, wiring):
                yield f"{name} is in {wiring.piece_count} pieces with every node in all of them: taken for planes"
        alone = [f for f in network_of_tree(tree).fabrics if len(f.routers) == 1]
        for fabric in alone:
            same = sum(other.name == fabric.name for other in alone)
            if same > 1 and fabric is next(other for other in alone if other.name == fabric.name):
                yield f"{same} {fabric.name} switches stand alone: whether they are one fabric, only the spec says"
