"""Flows with port ranges at switches without them: such a switch passes every port, so hosts must narrow them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache, partial

from clusterwright.proofs.check import Counterexample
from clusterwright.proofs.isolation.declared import DeclaredEdge, DeclaredIsolation
from clusterwright.proofs.reading import reader_by_switch
from clusterwright.proofs.tree import RenderedTree
from clusterwright.switches.readers import READERS


def unnarrowed_faults(tree: RenderedTree, declared: DeclaredIsolation) -> Iterator[Counterexample]:
    """Flows passed with every port by a chip without port ranges, to hosts without a filter to narrow them.

    Replies pass the same way back, from every port.
    """
    single_port_readers = [reader for reader in READERS if reader.single_ports]
    files = {device: reader.file for device, reader in reader_by_switch(tree, single_port_readers).items()}
    edges = [edge for edge in declared.edges if edge.switch in files]
    unfiltered_host = cache(partial(_unfiltered_host, declared))  # equal for all edges of a fabric
    for flow in declared.flows:
        if not flow.has_long_range:
            continue
        for source, target, direction in (
            (flow.source, flow.target, ""),
            (flow.target, flow.source, " for its replies"),
        ):
            local_edges = (edge for edge in edges if _has_zone(declared, edge, source))
            for edge, host in _unfiltered_ends(local_edges, target, unfiltered_host):
                message = (
                    f"flow {flow.name}{direction}: the switch knows no ranges and passes every port from {source} to "
                    f"{target}, where {host} has no filter to narrow that"
                )
                yield Counterexample(device=edge.switch, file=files[edge.switch], line=0, message=message)
                break


def _has_zone(declared: DeclaredIsolation, edge: DeclaredEdge, zone: str) -> bool:
    return any(part.addresses & edge.subnet for part in declared.zone[zone].parts)


def _unfiltered_ends(
    edges: Iterable[DeclaredEdge], zone: str, unfiltered_host: Callable[[str, str], str | None]
) -> Iterator[tuple[DeclaredEdge, str]]:
    """Edges with a host of a zone without a filter on their fabric."""
    for edge in edges:
        host = unfiltered_host(zone, edge.fabric)
        if host is not None:
            yield edge, host


def _unfiltered_host(declared: DeclaredIsolation, zone: str, fabric: str) -> str | None:
    """First host of a zone on a fabric without a filter: it has no image, or is a management port."""
    parts = [part for part in declared.zone[zone].parts if part.fabric == fabric]
    is_managed = fabric in declared.management.values()
    if not parts:
        return None
    hosts: set[str] = set()
    for (version, number), (device, _) in declared.addresses.items():
        if device in declared.imaged and not is_managed:
            continue
        if any(part.version == version and number in part.addresses for part in parts):
            hosts.add(device)
    return min(hosts, default=None)
