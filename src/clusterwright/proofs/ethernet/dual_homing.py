"""Nodes at several rack switches: one of them less leaves ways to all that the node has ways to.

A NIC whose switch is gone has no carrier: the kernel leaves out its routes, and its hops of routes over several.
Sockets that name no source take the main table; what stands in other tables belongs to one NIC and goes with it.
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
    """The NICs in service of each node that has them at several switches, with these."""
    unplugged = tree.declaration.unplugged if tree.declaration is not None else frozenset[tuple[str, str]]()
    nodes: Homes = {}
    for nic, at in fabric.nics:
        if (nic.device, nic.name) not in unplugged:
            nodes.setdefault(nic.device, []).append((nic, at))
    return {device: own for device, own in nodes.items() if len({at for _, at in own}) > 1}


def homing_faults(tree: RenderedTree, fabric: RoutedFabric, homes: Homes) -> Iterator[Counterexample]:
    """Nodes that lose the way to hosts though another of their rack switches is still there; one of each shape."""
    told: set[object] = set()
    for device, nics in sorted(homes.items()):
        routes = [route for nic, _ in nics for route in _ways(tree, device, nic)]
        shape = (frozenset(routes), frozenset((nic.link, at) for nic, at in nics))
        if shape in told:
            continue
        told.add(shape)
        for gone in sorted({at for _, at in nics}):
            left = {nic.link for nic, at in nics if at != gone}
            alive = [route for route in routes if route.nics & left]
            lost = next((route for route in routes if not any(covers(way.prefix, route.prefix) for way in alive)), None)
            if lost is not None:
                first = next(nic for nic, _ in nics if nic.link in left)
                message = (
                    f"when {fabric.routers[gone].device} fails, no route leads to {shown_prefix(lost.prefix)} by"
                    f" {', '.join(sorted(left))}, which are still there"
                )
                yield example(tree, device, first.file, ("Destination=",), message)
                break


def gpu_faults(tree: RenderedTree, fabrics: Iterable[RoutedFabric]) -> Iterator[Counterexample]:
    """GPUs to whose ports the spec gives several switches of a fabric, and the text one or none."""
    wanted = tree.declaration.gpu_ports if tree.declaration is not None else {}
    ends: dict[tuple[str, str], tuple[ConfiguredNic, str]] = {}
    if wanted:
        for fabric in fabrics:
            ends |= {(nic.device, nic.name): (nic, fabric.routers[at].device) for nic, at in fabric.nics}
    for (name, device, gpu), ports in wanted.items():
        own = [ends[device, port] for port in sorted(ports) if (device, port) in ends]
        if len({switch for _, switch in own}) <= 1:
            where = f"at {own[0][1]} alone, by {', '.join(nic.name for nic, _ in own)}" if own else "at no switch"
            message = f"GPU {gpu} is {where}, and the spec has its ports on {name} at several switches"
            yield example(tree, device, own[0][0].file if own else "", (), message)


def _ways(tree: RenderedTree, device: str, nic: ConfiguredNic) -> Iterator[MainRoute]:
    """A NIC's routes of the main table, but for that to its own subnet, which goes with it."""
    own = network_of(nic.address, nic.length)
    yield from (route for route in main_routes(nic, tree.text(device, nic.file) or "") if route.prefix != own)
