"""Planes on nodes: a packet to a host leaves by a NIC in a plane of this host.

A socket without a source address takes the longest and then cheapest route of the main table. A source address selects
the routes of other tables, so the program itself chose that plane.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from clusterwright.facts.router import Prefix, Router, covers, leads_outside, network_of, prefix_of, shown_prefix
from clusterwright.hosts.linux.reader.network import ConfiguredNic
from clusterwright.proofs.check import Counterexample, example
from clusterwright.proofs.ethernet.declared import declared
from clusterwright.proofs.ethernet.network import RoutedFabric
from clusterwright.proofs.tree import RenderedTree

_DESTINATION = re.compile(r"^Destination=(\S+)$", re.M)
_METRIC = re.compile(r"^Metric=(\d+)$", re.M)
_HOP = re.compile(r"^MultiPathRoute=\S+@(\S+)$", re.M)


class MainRoute(NamedTuple):
    """A route of the main table: to a prefix, over any of some interfaces."""

    prefix: Prefix
    metric: int
    nics: frozenset[str]


def plane_faults(tree: RenderedTree, fabrics: tuple[RoutedFabric, ...]) -> Iterator[Counterexample]:
    """Routes into a part of a fabric without the destination, on nodes with NICs in several parts."""
    parts: dict[str, list[RoutedFabric]] = {}
    for fabric in fabrics:
        planned = declared(tree, fabric)
        parts.setdefault(planned.name if planned is not None else fabric.name, []).append(fabric)
    for part in parts.values():
        if len(part) > 1:
            yield from _faults(tree, part)


def _faults(tree: RenderedTree, parts: list[RoutedFabric]) -> Iterator[Counterexample]:
    """Nodes sending packets to a host by a plane without it; one for each set of routes.

    A device out of service is no destination, and routes over links that are down do not count.
    """
    unplugged = tree.declaration.unplugged if tree.declaration is not None else frozenset[tuple[str, str]]()
    hosts_of_plane = [_hosts(tree, part) for part in parts]
    all_hosts = sorted(set().union(*hosts_of_plane))
    nics_by_node: dict[str, list[tuple[int, ConfiguredNic]]] = {}
    for plane, part in enumerate(parts):
        for nic, _ in part.nics:
            if (nic.device, nic.name) not in unplugged:
                nics_by_node.setdefault(nic.device, []).append((plane, nic))
    shapes: set[object] = set()
    for device, nics in sorted(nics_by_node.items()):
        routes: list[MainRoute] = []
        for _, nic in nics:
            routes += main_routes(nic, tree.text(device, nic.file) or "")
        shape = (frozenset(routes), tuple((plane, nic.link) for plane, nic in nics))
        if shape in shapes:
            continue
        shapes.add(shape)
        hosts_by_link = {nic.link: hosts_of_plane[plane] for plane, nic in nics}
        file_by_link = {nic.link: nic.file for _, nic in reversed(nics)}
        for prefix, link in _misrouted(all_hosts, routes, hosts_by_link):
            if (device, link) in unplugged:
                continue
            file = file_by_link.get(link, nics[0][1].file)
            message = f"packets to {shown_prefix(prefix)} leave by {link}, whose plane does not have these hosts"
            yield example(tree, device, file, (f"@{link}",), message)
            break


def _misrouted(
    prefixes: list[Prefix], routes: list[MainRoute], hosts_by_link: Mapping[str, frozenset[Prefix]]
) -> Iterator[tuple[Prefix, str]]:
    """Prefixes with an outgoing link into a plane without them."""
    for prefix in prefixes:
        for link in sorted(_used(routes, prefix)):
            if prefix not in hosts_by_link.get(link, ()):
                yield prefix, link


def _hosts(tree: RenderedTree, part: RoutedFabric) -> frozenset[Prefix]:
    """The host prefixes of a plane, its own and those learned at its borders."""
    stopped = tree.declaration.stopped if tree.declaration is not None else frozenset[str]()
    devices = tree.devices
    prefixes: set[Prefix] = set()
    for router in part.routers:
        if router.device not in stopped:
            prefixes.update(prefix for prefix, _ in router.networks)
            prefixes.update(_learned(router, devices))
    return frozenset(prefix for prefix in prefixes if prefix[1] < 8 * len(prefix[0]))


def _learned(router: Router, devices: frozenset[str]) -> Iterator[Prefix]:
    """Prefixes accepted by a switch from networks outside the tree."""
    for session in router.sessions:
        if not session.into or not leads_outside(router, session, devices):
            continue
        for term in router.policy(session.into):
            if term.permit:
                yield from (rule.within for rule in term.prefixes or () if rule.permit)


def main_routes(nic: ConfiguredNic, text: str) -> Iterator[MainRoute]:
    """A NIC's routes in the main table, with the kernel's route to its own subnet."""
    yield MainRoute(network_of(nic.address, nic.length), 0, frozenset({nic.link}))
    for section in text.split("\n[Route]")[1:]:
        body = section.split("\n[", 1)[0]
        destination = _DESTINATION.search(body)
        if destination is None or "\nTable=" in body:
            continue
        match = _METRIC.search(body)
        metric = int(match[1]) if match is not None else 0
        links = frozenset(_HOP.findall(body)) or frozenset({nic.link})
        yield MainRoute(prefix_of(destination[1]), metric, links)


def _used(routes: list[MainRoute], prefix: Prefix) -> frozenset[str]:
    """The possible outgoing NICs of packets to a prefix: those of the longest, then cheapest route."""
    matching = [route for route in routes if covers(route.prefix, prefix)]
    if not matching:
        return frozenset()
    return min(matching, key=lambda route: (-route.prefix[1], route.metric)).nics
