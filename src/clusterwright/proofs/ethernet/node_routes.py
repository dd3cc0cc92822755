"""Nodes: every NIC has an address in an announced subnet and a route to every host prefix of its fabric."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache

from clusterwright.facts.router import Mark, Port, Prefix, Router, covers, network_of, shown, shown_prefix
from clusterwright.hosts.linux.reader.network import NETWORKS, ConfiguredNic
from clusterwright.proofs.check import Counterexample, example
from clusterwright.proofs.ethernet.network import RoutedFabric
from clusterwright.proofs.tree import RenderedTree

Fault = tuple[Mark, str]
"""The mark of a line, and its mistake."""


def node_faults(tree: RenderedTree, fabric: RoutedFabric) -> Iterator[Counterexample]:
    """NICs unable to reach the hosts of their fabric, or to be reached, with the reason."""
    hosts = [(network, length) for network, length in fabric.prefixes if length < 8 * len(network)]
    uncovered = cache(lambda reached: _first_uncovered(hosts, reached))
    taken: dict[bytes, ConfiguredNic] = {}
    addresses = cache(lambda at: _addresses(fabric.routers[at]))
    ports = cache(lambda at: _ports(fabric.routers[at]))
    is_announced = cache(lambda at, subnet: _is_announced(fabric.routers[at], subnet))
    unplugged = tree.declaration.unplugged if tree.declaration is not None else frozenset[tuple[str, str]]()
    yield from _absent(tree, fabric)
    for nic, at in fabric.nics:
        for mark, message in nic.faults:
            yield example(tree, nic.device, nic.file, mark, message)
        router = fabric.routers[at]
        first = taken.setdefault(nic.address, nic)
        if first is not nic and not (nic.aggregate and first.file == nic.file and first.device == nic.device):
            message = f"{shown(nic.address)} is {first.device} {first.name}'s too"
            yield example(tree, nic.device, nic.file, nic.mark, message)
        port = ports(at).get(nic.peer)
        if port is None and (nic.device, nic.name) in unplugged:
            continue  # the spec takes its cable out of service, and the switch's port is shut down
        if port is None or port.peer != f"{nic.device} {nic.name}":
            what = "is not in service" if port is None else f"is cabled to {port.peer or 'nothing'}"
            yield example(tree, nic.device, nic.file, ("Description=",), f"{nic.peer} {what}")
            continue
        subnet, subnets = network_of(nic.address, nic.length), addresses(at)
        if subnet not in subnets or port.subnet != subnet:
            message = f"{shown(nic.address)}/{nic.length} is in no subnet of {nic.peer}"
            yield example(tree, nic.device, nic.file, nic.mark, message)
        elif not is_announced(at, subnet):
            message = f"{shown_prefix(subnet)} is in no prefix that {router.device} announces"
            yield example(tree, nic.device, nic.file, nic.mark, message)
        for mark in _undeclared_defaults(tree, nic):
            yield example(tree, nic.device, nic.file, mark, "a default route leads out of the fabric")
        for mark, message in _route_faults(nic, router, (subnet, subnets.get(subnet, ())), uncovered):
            yield example(tree, nic.device, nic.file, mark, message)


def _first_uncovered(hosts: list[Prefix], reached: frozenset[Prefix]) -> Prefix | None:
    """The first host prefix not covered by a NIC's routes."""
    for host in hosts:
        if not any(covers(route, host) for route in reached):
            return host
    return None


def _undeclared_defaults(tree: RenderedTree, nic: ConfiguredNic) -> Sequence[Mark]:
    """A NIC's default routes on a node without a flow to the internet; the isolation claim checks the others."""
    declaration = tree.declaration
    isolation = declaration.isolation if declaration is not None else None
    is_joined = isolation is not None and nic.device in isolation.default_gateways
    return () if is_joined else nic.defaults


def _is_announced(router: Router, subnet: Prefix) -> bool:
    """Whether a subnet is announced; a switch without sessions need not announce any."""
    return not router.sessions or any(covers(prefix, subnet) for prefix, _ in router.networks)


def _route_faults(
    nic: ConfiguredNic,
    router: Router,
    on_link: tuple[Prefix, Sequence[bytes]],
    uncovered: Callable[[frozenset[Prefix]], Prefix | None],
) -> Iterator[Fault]:
    """Faults of a NIC's routes; ``uncovered`` gives the first host prefix beyond those reached.

    ``on_link`` is the NIC's subnet, with the addresses of its switch there.
    """
    subnet, gateways = on_link
    for prefix, gateway in nic.routes:
        if gateway is None and not covers(subnet, prefix):
            message = f"no gateway to {shown_prefix(prefix)}: packets for it are told to find their host on the link"
            yield (f"Destination={shown_prefix(prefix)}\n",), message
        if gateway is not None and gateway not in gateways:
            message = f"the gateway {shown(gateway)} to {shown_prefix(prefix)} is not an address of {router.device}"
            yield (f"={shown(gateway)}",), message
    missing = uncovered(frozenset(prefix for prefix, gateway in nic.routes if gateway in gateways))
    if missing is not None:
        yield ("Destination=",), f"no route leads to {shown_prefix(missing)}, hosts of the same fabric"


def _absent(tree: RenderedTree, fabric: RoutedFabric) -> Iterator[Counterexample]:
    """NICs at a switch's subnet without an address in their node's files."""
    configured = {f"{nic.device} {nic.name}" for nic, _ in fabric.nics}
    routers = {router.device for router in fabric.routers}
    nodes = {nic.device for nic, _ in fabric.nics}
    for router in fabric.routers:
        for port in router.ports:
            if port.subnet is None or port.peer in configured:
                continue
            device, _, name = port.peer.partition(" ")
            if device in routers or device not in nodes:
                continue
            file = f"{NETWORKS}{name}.network"
            message = f"{name} is cabled to {router.device} {port.name}, but no file gives it an address there"
            yield example(tree, device, file, (), message)


def _addresses(router: Router) -> Mapping[Prefix, Sequence[bytes]]:
    """The switch's own addresses by subnet."""
    addresses: dict[Prefix, list[bytes]] = {}
    for subnet, address in router.own_addresses:
        addresses.setdefault(subnet, []).append(address)
    return addresses


def _ports(router: Router) -> Mapping[str, Port]:
    """The switch's ports by their name in descriptions; of several with one name the first."""
    return {f"{router.device} {port.name}": port for port in reversed(router.ports)}
