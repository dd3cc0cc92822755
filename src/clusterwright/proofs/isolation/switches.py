"""Checks of switches' files sharing one reading."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import chain
from typing import Any

from clusterwright.proofs.check import Counterexample
from clusterwright.proofs.ethernet.network import routers_read
from clusterwright.proofs.isolation.declared import DeclaredIsolation
from clusterwright.proofs.isolation.edges import PortGroup, port_groups
from clusterwright.proofs.isolation.ends import NotedEnds, management_faults
from clusterwright.proofs.isolation.host_firewall import firewall_faults
from clusterwright.proofs.isolation.logins import login_faults
from clusterwright.proofs.isolation.managed import management_read
from clusterwright.proofs.isolation.openings import opening_faults, server_faults
from clusterwright.proofs.isolation.routes import route_faults
from clusterwright.proofs.isolation.services import service_faults
from clusterwright.proofs.reading import SwitchReading
from clusterwright.proofs.tree import RenderedTree


@dataclass(frozen=True, slots=True)
class FilteredSwitches:
    """Filtered ports of all switches, each group with its shape, and faults outside their filters."""

    ports: tuple[tuple[PortGroup, object], ...]
    faults: tuple[Counterexample, ...]


@dataclass(frozen=True, slots=True)
class _SwitchPart:
    """Filtered ports of some switches, and faults of the Linux below, of routes and outside the lists."""

    ports: tuple[tuple[PortGroup, object], ...]
    firewalls: tuple[Counterexample, ...]
    routes: tuple[Counterexample, ...]
    openings: tuple[Counterexample, ...]


def switches_read(tree: RenderedTree) -> tuple[SwitchReading[Any], ...]:
    """Readings of a tree's switches; empty without a spec."""
    declared = None if tree.declaration is None else tree.declaration.isolation
    if declared is None:
        return ()
    return (*routers_read(tree), *management_read(tree), _switches_read(tree, declared)[0])


@lru_cache(maxsize=2)
def _switches_read(tree: RenderedTree, declared: DeclaredIsolation) -> tuple[SwitchReading[_SwitchPart], NotedEnds]:
    noted = NotedEnds(declared)
    return SwitchReading(tree, partial(_part, noted, {})), noted


def _part(noted: NotedEnds, shapes: dict[object, object], part: RenderedTree) -> _SwitchPart:
    """Filtered ports and faults of some switches; of equal shapes one is kept in ``shapes``."""
    declared = noted.declared
    ports: list[tuple[PortGroup, object]] = []
    for group in port_groups(part, declared):
        shape = group.shape()
        ports.append((group, shapes.setdefault(shape, shape)))
    return _SwitchPart(
        ports=tuple(ports),
        firewalls=tuple(firewall_faults(part, declared)),
        routes=tuple(route_faults(part, declared.known, declared.owner, noted.route, declared.has_default_route)),
        openings=tuple(opening_faults(part, noted)),
    )


def filtered_groups(tree: RenderedTree, declared: DeclaredIsolation) -> tuple[tuple[PortGroup, object], ...]:
    """Filtered ports of all switches, each group with its shape."""
    reading, _ = _switches_read(tree, declared)
    return tuple(chain.from_iterable(part.ports for part in reading.parts))


def routes_noted(tree: RenderedTree, declared: DeclaredIsolation) -> Mapping[str, set[tuple[str, str]]]:
    """Destinations and next hops of the static routes in each switch's files."""
    reading, noted = _switches_read(tree, declared)
    return noted.routes if reading.parts else {}


def read_switches(tree: RenderedTree, declared: DeclaredIsolation) -> FilteredSwitches:
    """Ports and faults of all switches. Raises VerifyError for text that does not read."""
    reading, noted = _switches_read(tree, declared)
    parts = reading.parts
    faults = (
        *service_faults(tree, declared),
        *chain.from_iterable(part.firewalls for part in parts),
        *chain.from_iterable(part.routes for part in parts),
        *chain.from_iterable(part.openings for part in parts),
        *server_faults(tree, declared),
        *login_faults(tree, declared),
        *management_faults(tree, declared, noted),
    )
    return FilteredSwitches(filtered_groups(tree, declared), faults)
