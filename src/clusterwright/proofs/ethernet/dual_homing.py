"""Nodes at several rack switches: without any one of them routes still lead wherever they led before.

A NIC whose switch is gone has no carrier: the kernel leaves out its routes, and its hops of routes over several.
Sockets that name no source take the main table; routes of other tables belong to one NIC and go with it.
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
    """The NICs in service of each node that has them at several switches, with these."""
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
    """Nodes that lose routes to hosts though another of their rack switches is still up; one of each shape."""
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
    """GPUs with ports at several switches of a fabric by the spec, and at one or none by the text."""
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
    """A NIC's routes of the main table, except the one to its own subnet, which goes with it."""
    subnet = network_of(nic.address, nic.length)
    yield from (route for route in main_routes(nic, tree.text(device, nic.file) or "") if route.prefix != subnet)
