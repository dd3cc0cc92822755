"""Network boot: rack switches relay DHCP requests, replies reach them, and IPv6 hosts have a router."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.facts.router import Mark, Prefix, Router, covers, shown, shown_prefix
from clusterwright.packets.ranges import Ranges
from clusterwright.proofs.check import Counterexample, Fact, example
from clusterwright.proofs.ethernet.network import RoutedFabric
from clusterwright.proofs.isolation.declared import DeclaredEdge
from clusterwright.proofs.tree import RenderedTree
from clusterwright.spec.isolation import BOOT


def netboot_facts(tree: RenderedTree, fabric: RoutedFabric, name: str) -> Iterator[Fact]:
    """The number of switches with network-booting hosts; nothing for none."""
    count = len(list(_booted(tree, fabric)))
    if count:
        yield Fact(f"{name}: switches that hosts boot behind, which give them a gateway", count)


def netboot_faults(tree: RenderedTree, fabric: RoutedFabric) -> Iterator[Counterexample]:
    """Switches of network-booting hosts without a relay, a reply or a router for them; boot servers unable to reply."""
    sources: list[bytes] = []
    for router, subnet, edge in _booted(tree, fabric):
        behind = f"hosts boot from servers elsewhere behind {shown_prefix(subnet)}"
        if subnet not in router.relayed:
            message = f"{behind}, and nothing passes their requests for addresses on"
            yield example(tree, router.device, router.ports_file, _mark(router, subnet), message)
        elif reason := _unanswered(router, subnet, edge):
            message = f"{behind}, and their requests leave from {reason}"
            yield example(tree, router.device, router.ports_file, _mark(router, subnet), message)
        else:
            sources.append(router.relay_sources[subnet])
        if len(subnet[0]) == 16 and subnet not in router.advertised:
            message = f"{behind}, and no router advertisement sends them to DHCPv6: they find no gateway"
            yield example(tree, router.device, router.ports_file, _mark(router, subnet), message)
    yield from _server_faults(tree, fabric, sources)


def _unanswered(router: Router, subnet: Prefix, edge: DeclaredEdge) -> str:
    """The fault of the source address of a subnet's requests, "" if servers can reply to it."""
    source = router.relay_sources.get(subnet)
    if source is None:
        return "the address of the port that leads to the server, which the switch announces to no neighbour"
    if source not in {address for _, address in router.own_addresses}:
        return f"{shown(source)}, which is no address of the switch"
    host = (source, 8 * len(source))
    is_announced = any(covers(prefix, host) for prefix, _ in router.networks)
    if router.sessions and not is_announced:
        return f"{shown(source)}, which no prefix that the switch announces leads back to"
    if edge.relay_source != int.from_bytes(source, "big"):
        return f"{shown(source)}, which the filters of boot servers do not expect"
    return ""


def _server_faults(tree: RenderedTree, fabric: RoutedFabric, sources: list[bytes]) -> Iterator[Counterexample]:
    """NICs of boot servers without a route to the address of a relaying switch."""
    isolation = tree.declaration.isolation if tree.declaration is not None else None
    if isolation is None:
        return
    boot_zones = {zone.name for zone in isolation.zones if zone.kind == BOOT}
    for nic, _ in fabric.nics:
        if boot_zones.isdisjoint(isolation.zones_of.get(nic.device, ())):
            continue
        for source in sources:
            host = (source, 8 * len(source))
            if not any(covers(prefix, host) for prefix, _ in nic.routes):
                message = f"no route leads to {shown(source)}, from which a switch asks for hosts that boot"
                yield example(tree, nic.device, nic.file, ("Destination=",), message)
                break


def _booted(tree: RenderedTree, fabric: RoutedFabric) -> Iterator[tuple[Router, Prefix, DeclaredEdge]]:
    """Switches relaying requests of hosts, each with the hosts' subnet and planned edge."""
    isolation = tree.declaration.isolation if tree.declaration is not None else None
    if isolation is None:
        return
    routers = {router.device: router for router in fabric.routers}
    for edge in isolation.edges:
        if edge.relays and edge.switch in routers:
            yield routers[edge.switch], _prefix(edge.subnet, isolation.fabric[edge.fabric].version), edge


def _prefix(subnet: Ranges, version: int) -> Prefix:
    low, high = subnet.bounds[0]
    size = 4 if version == 4 else 16
    return low.to_bytes(size, "big"), 8 * size - (high - low).bit_length()


def _mark(router: Router, subnet: Prefix) -> Mark:
    """The place of the first port of the hosts' subnet."""
    for port in router.ports:
        if port.subnet == subnet:
            return port.mark
    return ()
