"""Nodes at several rack switches: the failure of any one of them leaves a route to every former destination.

A NIC of a failed switch has no carrier: the kernel skips its routes, and its next hops of multipath routes. Sockets
without a source address use the main table; routes of other tables belong to one NIC and fail with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from clusterwright.facts.router import covers, network_of, shown_prefix
from clusterwright.hosts.linux.reader.network import ConfiguredNic
from clusterwright.proofs.check import Counterexample, example
from clusterwright.proofs.ethernet.network import RoutedFabric
from clusterwright.proofs.ethernet.plane_routes import MainRoute, main_routes
from clusterwright.proofs.tree import RenderedTree

Homes = dict[str, list[tuple[ConfiguredNic, int]]]


def homes_of(tree: RenderedTree, fabric: RoutedFabric) -> Homes:
    """NICs in service of nodes at several switches, with the index of each NIC's switch."""
    unplugged = tree.declaration.unplugged if tree.declaration is not None else frozenset[tuple[str, str]]()
    nics_by_node: Homes = {}
    for nic, switch in fabric.nics:
        if (nic.device, nic.name) not in unplugged:
            nics_by_node.setdefault(nic.device, []).append((nic, switch))
    homes: Homes = {}
    for device, nics in nics_by_node.items():
        switches = {switch for _, switch in nics}
        if len(switches) > 1:
            homes[device] = nics
    return homes


def homing_faults(tree: RenderedTree, fabric: RoutedFabric, homes: Homes) -> Iterator[Counterexample]:
    """Nodes losing routes to hosts with another of their rack switches up; one for each set of routes."""
    shapes: set[object] = set()
    for device, nics in sorted(homes.items()):
        routes: list[MainRoute] = []
        for nic, _ in nics:
            routes += _remote_routes(tree, device, nic)
        shape = (frozenset(routes), frozenset((nic.link, switch) for nic, switch in nics))
        if shape in shapes:
            continue
        shapes.add(shape)
        switches = {switch for _, switch in nics}
        for failed_switch in sorted(switches):
            links = {nic.link for nic, switch in nics if switch != failed_switch}
            lost = _lost_route(routes, links)
            if lost is not None:
                first_nic = next(nic for nic, _ in nics if nic.link in links)
                message = (
                    f"when {fabric.routers[failed_switch].device} fails, no route leads to"
                    f" {shown_prefix(lost.prefix)} by {', '.join(sorted(links))}, which are still there"
                )
                yield example(tree, device, first_nic.file, ("Destination=",), message)
                break


def _remote_routes(tree: RenderedTree, device: str, nic: ConfiguredNic) -> Iterator[MainRoute]:
    """A NIC's routes of the main table without the one to its own subnet, lost together with it."""
    subnet = network_of(nic.address, nic.length)
    for route in main_routes(nic, tree.text(device, nic.file) or ""):
        if route.prefix != subnet:
            yield route


def _lost_route(routes: list[MainRoute], links: set[str]) -> MainRoute | None:
    """The first route with a destination not reached by any route over the remaining links."""
    remaining = [route.prefix for route in routes if route.nics & links]
    for route in routes:
        if not any(covers(prefix, route.prefix) for prefix in remaining):
            return route
    return None


def gpu_faults(tree: RenderedTree, fabrics: Iterable[RoutedFabric]) -> Iterator[Counterexample]:
    """GPUs with ports at several switches of a fabric by the spec, but at one or none by the text."""
    if tree.declaration is None or not tree.declaration.gpu_ports:
        return
    ends: dict[tuple[str, str], tuple[ConfiguredNic, str]] = {}
    for fabric in fabrics:
        for nic, switch in fabric.nics:
            ends[nic.device, nic.name] = nic, fabric.routers[switch].device
    for (fabric_name, device, gpu), ports in tree.declaration.gpu_ports.items():
        cabled = [ends[device, port] for port in sorted(ports) if (device, port) in ends]
        if len({switch for _, switch in cabled}) > 1:
            continue
        place, file = "at no switch", ""
        if cabled:
            nic, switch_name = cabled[0]
            names = ", ".join(nic.name for nic, _ in cabled)
            place, file = f"at {switch_name} alone, by {names}", nic.file
        message = f"GPU {gpu} is {place}, and the spec has its ports on {fabric_name} at several switches"
        yield example(tree, device, file, (), message)
