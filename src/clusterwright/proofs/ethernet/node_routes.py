"""Nodes: every NIC lies in a subnet that its switch announces, and has a route to every host prefix of its fabric."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.platforms.linux.reader.network import NETWORKS, ConfiguredNic
from clusterwright.platforms.router import Prefix, Router, covers, network_of, shown, shown_prefix
from clusterwright.proofs.check import Counterexample, example
from clusterwright.proofs.ethernet.network import RoutedFabric
from clusterwright.proofs.tree import RenderedTree


def node_faults(tree: RenderedTree, fabric: RoutedFabric) -> Iterator[Counterexample]:
    """What keeps a NIC from reaching the hosts of its fabric, or from being reached."""
    hosts = [prefix for router in fabric.routers for prefix, _ in router.networks if prefix[1] < 8 * len(prefix[0])]
    uncovered: dict[frozenset[Prefix], Prefix | None] = {}
    taken: dict[bytes, ConfiguredNic] = {}
    addresses = [_addresses(router) for router in fabric.routers]
    unplugged = tree.declaration.unplugged if tree.declaration is not None else frozenset[tuple[str, str]]()
    yield from _absent(tree, fabric)
    for nic, at in fabric.nics:
        for mark, message in nic.faults:
            yield example(tree, nic.device, nic.file, mark, message)
        router = fabric.routers[at]
        first = taken.setdefault(nic.address, nic)
        if first is not nic:
            message = f"{shown(nic.address)} is {first.device} {first.name}'s too"
            yield example(tree, nic.device, nic.file, nic.mark, message)
        port = next((each for each in router.ports if f"{router.device} {each.name}" == nic.peer), None)
        if port is None and (nic.device, nic.name) in unplugged:
            continue  # the spec takes its cable out of service, and the switch's port is closed
        if port is None or port.peer != f"{nic.device} {nic.name}":
            what = "is not in service" if port is None else f"is cabled to {port.peer or 'nothing'}"
            yield example(tree, nic.device, nic.file, ("Description=",), f"{nic.peer} {what}")
            continue
        subnet = network_of(nic.address, nic.length)
        if subnet not in addresses[at] or port.subnet != subnet:
            message = f"{shown(nic.address)}/{nic.length} is in no subnet of {nic.peer}"
            yield example(tree, nic.device, nic.file, nic.mark, message)
        elif router.sessions and not any(covers(prefix, subnet) for prefix, _ in router.networks):
            message = f"{shown_prefix(subnet)} is in no prefix that {router.device} announces"
            yield example(tree, nic.device, nic.file, nic.mark, message)
        for mark in nic.defaults:
            yield example(tree, nic.device, nic.file, mark, "a default route leads out of the fabric")
        gateways = addresses[at].get(subnet, frozenset())
        for prefix, gateway in nic.routes:
            if gateway is not None and gateway not in gateways:
                message = f"the gateway {shown(gateway)} to {shown_prefix(prefix)} is not an address of {router.device}"
                yield example(tree, nic.device, nic.file, (f"={shown(gateway)}",), message)
        reached = frozenset(prefix for prefix, gateway in nic.routes if gateway in gateways)
        if reached not in uncovered:
            uncovered[reached] = next((h for h in hosts if not any(covers(each, h) for each in reached)), None)
        missing = uncovered[reached]
        if missing is not None:
            message = f"no route leads to {shown_prefix(missing)}, hosts of the same fabric"
            yield example(tree, nic.device, nic.file, ("Destination=",), message)


def _absent(tree: RenderedTree, fabric: RoutedFabric) -> Iterator[Counterexample]:
    """NICs that a switch has a subnet for, of nodes with files, whose own file gives them no address."""
    known = {f"{nic.device} {nic.name}" for nic, _ in fabric.nics}
    routers = {router.device for router in fabric.routers}
    nodes = {nic.device for nic, _ in fabric.nics}
    for router in fabric.routers:
        for port in router.ports:
            device, _, name = port.peer.partition(" ")
            if port.subnet is None or port.peer in known or device in routers or device not in nodes:
                continue
            file = f"{NETWORKS}{name}.network"
            message = f"{name} is cabled to {router.device} {port.name}, but no file gives it an address there"
            yield example(tree, device, file, (), message)


def _addresses(router: Router) -> dict[Prefix, frozenset[bytes]]:
    """The switch's own addresses by subnet."""
    found: dict[Prefix, frozenset[bytes]] = {}
    for subnet, address in router.own_addresses:
        found[subnet] = found.get(subnet, frozenset()) | {address}
    return found
