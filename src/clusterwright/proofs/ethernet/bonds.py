"""Bonds: members agree at both ends of each cable, run LACP, and follow the spec."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from clusterwright.facts.router import Aggregate, Port, Router
from clusterwright.hosts.linux.reader.network import NETWORKS, ConfiguredNic
from clusterwright.proofs.check import Counterexample, example
from clusterwright.proofs.ethernet.network import RoutedFabric
from clusterwright.proofs.tree import RenderedTree

_ASKS = "active"
End = tuple[Router, Port]
Link = tuple[str, str]
"""A device, and a port or a link of it."""


def bond_count(fabric: RoutedFabric) -> int:
    """The number of links of several cables."""
    return len({(router.device, port.aggregate.name) for router, port in fabric.ports if port.aggregate is not None})


def _has_bonds(fabric: RoutedFabric) -> bool:
    """Whether a switch or a node has a bond."""
    has_switch_bond = any(port.aggregate is not None for _, port in fabric.ports)
    return has_switch_bond or any(nic.aggregate is not None for nic, _ in fabric.nics)


def bond_faults(tree: RenderedTree, fabric: RoutedFabric) -> Iterator[Counterexample]:
    """Ports bonded differently at both ends of a cable, and bonds without LACP."""
    planned_link = _planned_links(tree)
    if not planned_link and not _has_bonds(fabric):
        return  # no bond is configured, and none is planned
    nics = {(nic.device, nic.name): nic for nic, _ in fabric.nics}
    groups: dict[Link, set[Link]] = {}  # links of switches: the far ends of their ports
    ends: dict[Link, End] = {}
    for router, port in fabric.ports:
        far_device, _, far_port = port.peer.partition(" ")
        ends[far_device, far_port] = router, port
        if port.aggregate is not None:
            groups.setdefault((router.device, port.aggregate.name), set()).add((far_device, far_port))
    devices_with_files = tree.devices_below(NETWORKS) if planned_link else frozenset()
    for (device, name), (router, port) in ends.items():
        nic, planned = nics.get((device, name)), planned_link.get((device, name))
        node_port = f"{device} makes {name}" if device in devices_with_files else ""
        fault = _end_fault(port.aggregate, nic, planned, node_port)
        if fault:
            yield example(tree, router.device, router.ports_file, _mark(port), f"{router.device} {port.name}: {fault}")
        if nic is not None and tree.declaration is not None:
            yield from _nic_faults(tree, nic, planned)

    def link_of(end: Link) -> Link:
        """The link of a host's port by its own file, or by the spec for a host without files."""
        nic = nics.get(end)
        if nic is None:
            return planned_link.get(end, (end[0], ""))
        return end[0], nic.aggregate.name if nic.aggregate is not None else ""

    yield from _members(tree, groups, ends, link_of)


def _planned_links(tree: RenderedTree) -> Mapping[Link, Link]:
    """The planned bond of each member port of a host."""
    if tree.declaration is None:
        return {}
    link_of: dict[Link, Link] = {}
    for (device, link), ports in tree.declaration.bonds.items():
        link_of.update(((device, port), (device, link)) for port in ports)
    return link_of


def _nic_faults(tree: RenderedTree, nic: ConfiguredNic, planned: Link | None) -> Iterator[Counterexample]:
    """A node's NIC bonded without a planned bond, or the other way round."""
    if (nic.aggregate is None) == (planned is None):
        return
    configured_name = nic.aggregate.name if nic.aggregate is not None else "nothing"
    planned_name = planned[1] if planned is not None else "nothing"
    message = f"{nic.name} is a part of {configured_name}, and of {planned_name} by the spec"
    yield example(tree, nic.device, nic.file, nic.mark, message)


def _end_fault(aggregate: Aggregate | None, nic: ConfiguredNic | None, planned: Link | None, node_port: str) -> str:
    """The fault of a switch's port and the far end of its cable as members of one link; "" for none.

    ``node_port`` is a port of a node with network files, and empty for other hosts.
    """
    if nic is not None:
        return _mismatch(aggregate, nic.aggregate)
    if planned is not None and node_port:
        return f"no file of {node_port} a part of {planned[1]}"
    return _planned_mismatch(aggregate, planned)


def _mark(port: Port) -> tuple[str, ...]:
    return port.start if port.aggregate is None else port.aggregate.mark


def _mismatch(near: Aggregate | None, far: Aggregate | None) -> str:
    """The fault of a switch's port and a node's as members of one link; "" for none."""
    if near is None and far is None:
        return ""
    if near is None or far is None:
        names = [aggregate.name for aggregate in (near, far) if aggregate is not None]
        return f"one end is a part of {names[0]}, and the other of nothing"
    if not near.mode == far.mode == _ASKS:
        return f"LACP is {near.mode} here and {far.mode} at the node, and both are to ask"
    if near.rate != far.rate:
        return f"LACP is {near.rate} here, and {far.rate} at the node"
    return ""


def _planned_mismatch(aggregate: Aggregate | None, planned: Link | None) -> str:
    """The fault of a switch's port against the spec, for a host without files; "" for none."""
    if planned is None:
        if aggregate is None:
            return ""
        return f"it is a part of {aggregate.name}, and of nothing by the spec"
    if aggregate is None:
        return f"it is a part of nothing, and of {planned[1]} of {planned[0]} by the spec"
    if aggregate.mode != _ASKS:
        return f"LACP is {aggregate.mode}, and it is to ask"
    return ""


def _members(
    tree: RenderedTree,
    groups: Mapping[Link, set[Link]],
    ends: Mapping[Link, End],
    link_of: Callable[[Link], Link],
) -> Iterator[Counterexample]:
    """Bonds of a switch with members of several far links, and bonds of hosts ending in several."""
    switch_links: dict[Link, set[Link]] = {}
    for (device, link), far_ends in groups.items():
        host_links = set(map(link_of, far_ends))
        for host_link in host_links:
            switch_links.setdefault(host_link, set()).add((device, link))
        if len(host_links) > 1:
            router, port = ends[min(far_ends)]
            joined = " and ".join(f"{name or 'a port'} of {host}" for host, name in sorted(host_links))
            yield example(tree, device, router.ports_file, _mark(port), f"{link} of {device} joins {joined}")
    for host_link, links in switch_links.items():
        host, bond = host_link
        if len(links) > 1 and bond:
            first_end = min(end for end in ends if link_of(end) == host_link)
            router, port = ends[first_end]
            joined = " and ".join(f"{name} of {switch}" for switch, name in sorted(links))
            yield example(tree, router.device, router.ports_file, _mark(port), f"{bond} of {host} ends in {joined}")
