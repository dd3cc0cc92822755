"""Planes on nodes: a packet to a host leaves by a NIC in a plane that has this host, whatever its source.

A socket that names no source takes the main table's longest and then cheapest route; a source address chooses the
routes of other tables, so a program chose that plane itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import chain
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
    """Routes of nodes with NICs in several parts of a fabric that lead into a part without the destination."""
    parts: dict[str, list[RoutedFabric]] = {}
    for fabric in fabrics:
        planned = declared(tree, fabric)
        parts.setdefault(planned.name if planned is not None else fabric.name, []).append(fabric)
    for part in parts.values():
        if len(part) > 1:
            yield from _faults(tree, part)


def _faults(tree: RenderedTree, parts: list[RoutedFabric]) -> Iterator[Counterexample]:
    """Nodes that send packets to a host by a plane that does not have it; one of each shape.

    A device out of service is no destination, and links that are down take their routes along.
    """
    unplugged = tree.declaration.unplugged if tree.declaration is not None else frozenset[tuple[str, str]]()
    hosts = [_hosts(tree, part) for part in parts]
    every = sorted(set().union(*hosts))
    nodes: dict[str, list[tuple[int, ConfiguredNic]]] = {}
    for at, part in enumerate(parts):
        for nic, _ in part.nics:
            if (nic.device, nic.name) not in unplugged:
                nodes.setdefault(nic.device, []).append((at, nic))
    shapes: set[object] = set()
    for device, nics in sorted(nodes.items()):
        routes = list(chain.from_iterable(main_routes(nic, tree.text(device, nic.file) or "") for _, nic in nics))
        shape = (frozenset(routes), tuple((at, nic.link) for at, nic in nics))
        if shape in shapes:
            continue
        shapes.add(shape)
        hosts_by_link = {nic.link: hosts[at] for at, nic in nics}
        for prefix, link in _astray(every, routes, hosts_by_link):
            if (device, link) in unplugged:
                continue
            file = next((nic.file for _, nic in nics if nic.link == link), nics[0][1].file)
            message = f"packets to {shown_prefix(prefix)} leave by {link}, whose plane does not have these hosts"
            yield example(tree, device, file, (f"@{link}",), message)
            break


def _astray(
    prefixes: list[Prefix], routes: list[MainRoute], hosts_by_link: Mapping[str, frozenset[Prefix]]
) -> Iterator[tuple[Prefix, str]]:
    """Prefixes with a link that packets to them leave by, and whose plane does not have them."""
    for prefix in prefixes:
        for link in sorted(_used(routes, prefix)):
            if prefix not in hosts_by_link.get(link, ()):
                yield prefix, link


def _hosts(tree: RenderedTree, part: RoutedFabric) -> frozenset[Prefix]:
    """The prefixes of hosts that a plane has, its own and those that it learns at its borders."""
    stopped = tree.declaration.stopped if tree.declaration is not None else frozenset[str]()
    devices = tree.devices
    prefixes: set[Prefix] = set()
    for router in part.routers:
        if router.device not in stopped:
            prefixes.update(prefix for prefix, _ in router.networks)
            prefixes.update(_learnt(router, devices))
    return frozenset(prefix for prefix in prefixes if prefix[1] < 8 * len(prefix[0]))


def _learnt(router: Router, devices: frozenset[str]) -> Iterator[Prefix]:
    """Prefixes that a switch accepts from networks outside the tree."""
    for session in router.sessions:
        if session.into and leads_outside(router, session, devices):
            for term in router.policy(session.into):
                yield from (rule.within for rule in term.prefixes or () if term.permit and rule.permit)


def main_routes(nic: ConfiguredNic, text: str) -> Iterator[MainRoute]:
    """A NIC's routes in the main table, and the one to its own subnet that the kernel adds."""
    yield MainRoute(network_of(nic.address, nic.length), 0, frozenset({nic.link}))
    for section in text.split("\n[Route]")[1:]:
        body = section.split("\n[", 1)[0]
        destination, metric = _DESTINATION.search(body), _METRIC.search(body)
        if destination is not None and "\nTable=" not in body:
            hops = frozenset(_HOP.findall(body)) or frozenset({nic.link})
            yield MainRoute(prefix_of(destination[1]), int(metric[1]) if metric else 0, hops)


def _used(routes: list[MainRoute], prefix: Prefix) -> frozenset[str]:
    """The NICs that packets to a prefix may leave by: those of the longest, then cheapest route."""
    matching = [route for route in routes if covers(route.prefix, prefix)]
    best = min(matching, key=lambda route: (-route.prefix[1], route.metric), default=None)
    return best.nics if best is not None else frozenset()
