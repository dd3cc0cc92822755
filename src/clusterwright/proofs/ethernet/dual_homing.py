"""Nodes at several rack switches: the failure of any one of them leaves a route to every former destination.

A NIC of a failed switch has no carrier: the kernel skips its routes, and its next hops of multipath routes. Sockets
without a source address use the main table; routes of other tables belong to one NIC and fail with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain

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
    nodes: Homes = {}
    for nic, at in fabric.nics:
        if (nic.device, nic.name) not in unplugged:
            nodes.setdefault(nic.device, []).append((nic, at))
    homes: Homes = {}
    for device, nics in nodes.items():
        if len({at for _, at in nics}) > 1:
            homes[device] = nics
    return homes


def homing_faults(tree: RenderedTree, fabric: RoutedFabric, homes: Homes) -> Iterator[Counterexample]:
    """Nodes losing routes to hosts with another of their rack switches up; one for each set of routes."""
    shapes: set[object] = set()
    for device, nics in sorted(homes.items()):
        routes = list(chain.from_iterable(_ways(tree, device, nic) for nic, _ in nics))
        shape = (frozenset(routes), frozenset((nic.link, at) for nic, at in nics))
        if shape in shapes:
            continue
        shapes.add(shape)
        for gone in sorted({at for _, at in nics}):
            left = {nic.link for nic, at in nics if at != gone}
            alive = [route for route in routes if route.nics & left]
            lost = next((route for route in routes if not _is_covered(route, alive)), None)
            if lost is not None:
                first = next(nic for nic, _ in nics if nic.link in left)
                message = (
                    f"when {fabric.routers[gone].device} fails, no route leads to {shown_prefix(lost.prefix)} by"
                    f" {', '.join(sorted(left))}, which are still there"
                )
                yield example(tree, device, first.file, ("Destination=",), message)
                break


def _is_covered(route: MainRoute, others: list[MainRoute]) -> bool:
    return any(covers(other.prefix, route.prefix) for other in others)


def gpu_faults(tree: RenderedTree, fabrics: Iterable[RoutedFabric]) -> Iterator[Counterexample]:
    """GPUs with ports at several switches of a fabric by the spec, but at one or none by the text."""
    wanted = tree.declaration.gpu_ports if tree.declaration is not None else {}
    ends: dict[tuple[str, str], tuple[ConfiguredNic, str]] = {}
    if wanted:
        for fabric in fabrics:
            ends |= {(nic.device, nic.name): (nic, fabric.routers[at].device) for nic, at in fabric.nics}
    for (name, device, gpu), ports in wanted.items():
        cabled = [ends[device, port] for port in sorted(ports) if (device, port) in ends]
        if len({switch for _, switch in cabled}) <= 1:
            where, file = "at no switch", ""
            if cabled:
                first, switch = cabled[0]
                where, file = f"at {switch} alone, by {', '.join(nic.name for nic, _ in cabled)}", first.file
            message = f"GPU {gpu} is {where}, and the spec has its ports on {name} at several switches"
            yield example(tree, device, file, (), message)


def _ways(tree: RenderedTree, device: str, nic: ConfiguredNic) -> Iterator[MainRoute]:
    """A NIC's routes of the main table without the one to its own subnet, lost together with it."""
    subnet = network_of(nic.address, nic.length)
    yield from (route for route in main_routes(nic, tree.text(device, nic.file) or "") if route.prefix != subnet)
