"""Hosts that boot over the network: their rack switch passes requests on, and over IPv6 tells them their router."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.packets.ranges import Ranges
from clusterwright.platforms.router import Mark, Prefix, Router, shown_prefix
from clusterwright.proofs.check import Counterexample, Fact, example
from clusterwright.proofs.ethernet.network import RoutedFabric
from clusterwright.proofs.tree import RenderedTree


def netboot_facts(tree: RenderedTree, fabric: RoutedFabric, name: str) -> Iterator[Fact]:
    """How many switches hosts of a fabric boot behind; nothing where none does."""
    count = len(list(_booted(tree, fabric)))
    if count:
        yield Fact(f"{name}: switches that hosts boot behind, which give them a gateway", count)


def netboot_faults(tree: RenderedTree, fabric: RoutedFabric) -> Iterator[Counterexample]:
    """Switches behind which hosts boot that pass no request on, or leave hosts of IPv6 without a gateway."""
    for router, subnet in _booted(tree, fabric):
        behind = f"hosts boot from servers elsewhere behind {shown_prefix(subnet)}"
        if subnet not in router.relayed:
            message = f"{behind}, and nothing passes their requests for addresses on"
            yield example(tree, router.device, router.ports_file, _mark(router, subnet), message)
        if len(subnet[0]) == 16 and subnet not in router.advertised:
            message = f"{behind}, and no router advertisement sends them to DHCPv6: they find no gateway"
            yield example(tree, router.device, router.ports_file, _mark(router, subnet), message)


def _booted(tree: RenderedTree, fabric: RoutedFabric) -> Iterator[tuple[Router, Prefix]]:
    declared = tree.declaration.isolation if tree.declaration is not None else None
    routers = {router.device: router for router in fabric.routers}
    for edge in declared.edges if declared is not None else ():
        if edge.relays and edge.switch in routers and declared is not None:
            yield routers[edge.switch], _prefix(edge.subnet, declared.fabric[edge.fabric].version)


def _prefix(subnet: Ranges, version: int) -> Prefix:
    low, high = subnet.bounds[0]
    size = 4 if version == 4 else 16
    return low.to_bytes(size, "big"), 8 * size - (high - low).bit_length()


def _mark(router: Router, subnet: Prefix) -> Mark:
    """The first port behind which the hosts are."""
    return next((port.mark for port in router.ports if port.subnet == subnet), ())
