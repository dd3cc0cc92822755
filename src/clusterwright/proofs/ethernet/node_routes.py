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
    owners: dict[bytes, ConfiguredNic] = {}
    addresses = cache(lambda switch: _addresses(fabric.routers[switch]))
    ports = cache(lambda switch: _ports(fabric.routers[switch]))
    is_announced = cache(lambda switch, subnet: _is_announced(fabric.routers[switch], subnet))
    unplugged = tree.declaration.unplugged if tree.declaration is not None else frozenset[tuple[str, str]]()
    yield from _absent(tree, fabric)
    for nic, switch in fabric.nics:
        for mark, message in nic.faults:
            yield example(tree, nic.device, nic.file, mark, message)
        router = fabric.routers[switch]
        owner = owners.setdefault(nic.address, nic)
        if owner is not nic and not _share_bond(nic, owner):
            message = f"{shown(nic.address)} is {owner.device} {owner.name}'s too"
            yield example(tree, nic.device, nic.file, nic.mark, message)
        port = ports(switch).get(nic.peer)
        if port is None and (nic.device, nic.name) in unplugged:
            continue  # the spec takes its cable out of service, and the switch's port is shut down
        fault = _attachment_fault(nic, port)
        if fault or port is None:
            yield example(tree, nic.device, nic.file, ("Description=",), f"{nic.peer} {fault}")
            continue
        subnet, subnets = network_of(nic.address, nic.length), addresses(switch)
        if subnet not in subnets or port.subnet != subnet:
            message = f"{shown(nic.address)}/{nic.length} is in no subnet of {nic.peer}"
            yield example(tree, nic.device, nic.file, nic.mark, message)
        elif not is_announced(switch, subnet):
            message = f"{shown_prefix(subnet)} is in no prefix that {router.device} announces"
            yield example(tree, nic.device, nic.file, nic.mark, message)
        for mark in _undeclared_defaults(tree, nic):
            yield example(tree, nic.device, nic.file, mark, "a default route leads out of the fabric")
        for mark, message in _route_faults(nic, router, (subnet, subnets.get(subnet, ())), uncovered):
            yield example(tree, nic.device, nic.file, mark, message)


def _attachment_fault(nic: ConfiguredNic, port: Port | None) -> str:
    """The fault of the switch's port at a NIC, None for a port out of service; "" for none."""
    if port is None:
        return "is not in service"
    if port.peer != f"{nic.device} {nic.name}":
        return f"is cabled to {port.peer or 'nothing'}"
    return ""


def _share_bond(nic: ConfiguredNic, other: ConfiguredNic) -> bool:
    """True for members of one bond, with one file and address."""
    return bool(nic.aggregate) and (nic.device, nic.file) == (other.device, other.file)


def _first_uncovered(hosts: list[Prefix], reached: frozenset[Prefix]) -> Prefix | None:
    """The first host prefix not covered by a NIC's routes."""
    for host in hosts:
        if not any(covers(route, host) for route in reached):
            return host
    return None


def _undeclared_defaults(tree: RenderedTree, nic: ConfiguredNic) -> Sequence[Mark]:
    """A NIC's default routes on a node without a flow to the internet; the isolation claim checks the others."""
    isolation = tree.declaration.isolation if tree.declaration is not None else None
    if isolation is not None and nic.device in isolation.default_gateways:
        return ()
    return nic.defaults


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
            message = f"no gateway to {shown_prefix(prefix)}: the node looks for its hosts on the link"
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
    switches = {router.device for router in fabric.routers}
    nodes = {nic.device for nic, _ in fabric.nics} - switches
    for router, port in fabric.ports:
        if port.subnet is None or port.peer in configured:
            continue
        device, _, name = port.peer.partition(" ")
        if device not in nodes:
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
