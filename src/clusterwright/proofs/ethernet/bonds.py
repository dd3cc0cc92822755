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
    return any(port.aggregate is not None for _, port in fabric.ports) or any(
        nic.aggregate is not None for nic, _ in fabric.nics
    )


def bond_faults(tree: RenderedTree, fabric: RoutedFabric) -> Iterator[Counterexample]:
    """Ports bonded differently at both ends of a cable, and bonds without LACP."""
    wanted = {} if tree.declaration is None else tree.declaration.bonds
    if not wanted and not _has_bonds(fabric):
        return  # no bond is configured, and none is planned
    link_of: dict[tuple[str, str], Link] = {}
    for (device, link), ports in wanted.items():
        link_of.update(((device, port), (device, link)) for port in ports)
    nics = {(nic.device, nic.name): nic for nic, _ in fabric.nics}
    groups: dict[Link, set[Link]] = {}  # links of switches: the far ends of their ports
    ends: dict[Link, End] = {}
    for router, port in fabric.ports:
        far, _, name = port.peer.partition(" ")
        ends[far, name] = router, port
        if port.aggregate is not None:
            groups.setdefault((router.device, port.aggregate.name), set()).add((far, name))
    filed = tree.devices_below(NETWORKS) if link_of else frozenset()
    for (device, name), (router, port) in ends.items():
        nic, planned = nics.get((device, name)), link_of.get((device, name))
        fault = _end_fault(port.aggregate, nic, planned, f"{device} makes {name}" if device in filed else "")
        if fault:
            yield example(tree, router.device, router.ports_file, _mark(port), f"{router.device} {port.name}: {fault}")
        if nic is not None and tree.declaration is not None and (nic.aggregate is None) != (planned is None):
            joined = nic.aggregate.name if nic.aggregate is not None else "nothing"
            message = f"{name} is a part of {joined}, and of {planned[1] if planned else 'nothing'} by the spec"
            yield example(tree, device, nic.file, nic.mark, message)

    def link_at(end: Link) -> Link:
        """The link of a host's port by its own file, or by the spec for a host without files."""
        nic = nics.get(end)
        if nic is None:
            return link_of.get(end, (end[0], ""))
        return end[0], nic.aggregate.name if nic.aggregate is not None else ""

    yield from _members(tree, groups, ends, link_at)


def _end_fault(aggregate: Aggregate | None, nic: ConfiguredNic | None, planned: Link | None, filed: str) -> str:
    """The fault of a switch's port and the far end of its cable as members of one link; "" for none.

    ``filed`` names a port of a node with files of its network, and is empty for other hosts.
    """
    if nic is not None:
        return _unlike(aggregate, nic.aggregate)
    if planned is not None and filed:
        return f"no file of {filed} a part of {planned[1]}"
    return _single(aggregate, planned)


def _mark(port: Port) -> tuple[str, ...]:
    return port.start if port.aggregate is None else port.aggregate.mark


def _unlike(near: Aggregate | None, far: Aggregate | None) -> str:
    """The fault of a switch's port and a node's as members of one link; "" for none."""
    if near is None:
        return "" if far is None else f"one end is a part of {far.name}, and the other of nothing"
    if far is None:
        return f"one end is a part of {near.name}, and the other of nothing"
    if not near.mode == far.mode == _ASKS:
        return f"LACP is {near.mode} here and {far.mode} at the node, and both are to ask"
    return "" if near.rate == far.rate else f"LACP is {near.rate} here, and {far.rate} at the node"


def _single(aggregate: Aggregate | None, wanted: Link | None) -> str:
    """The fault of a switch's port against the spec, for a host without files; "" for none."""
    if wanted is None:
        return "" if aggregate is None else f"it is a part of {aggregate.name}, and of nothing by the spec"
    if aggregate is None:
        return f"it is a part of nothing, and of {wanted[1]} of {wanted[0]} by the spec"
    return "" if aggregate.mode == _ASKS else f"LACP is {aggregate.mode}, and it is to ask"


def _members(
    tree: RenderedTree,
    groups: Mapping[Link, set[Link]],
    ends: Mapping[Link, End],
    link_of: Callable[[Link], Link],
) -> Iterator[Counterexample]:
    """Bonds of a switch with members of several far links, and bonds of hosts ending in several."""
    of_host: dict[Link, set[Link]] = {}
    for (device, link), far in groups.items():
        hosts = set(map(link_of, far))
        for host in hosts:
            of_host.setdefault(host, set()).add((device, link))
        if len(hosts) > 1:
            router, port = ends[min(far)]
            named = " and ".join(f"{name or 'a port'} of {host}" for host, name in sorted(hosts))
            yield example(tree, device, router.ports_file, _mark(port), f"{link} of {device} joins {named}")
    for host, links in of_host.items():
        if len(links) > 1 and host[1]:
            router, port = next(ends[end] for end in sorted(ends) if link_of(end) == host)
            message = f"{host[1]} of {host[0]} ends in " + " and ".join(f"{name} of {at}" for at, name in sorted(links))
            yield example(tree, router.device, router.ports_file, _mark(port), message)
