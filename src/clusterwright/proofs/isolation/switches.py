"""All that is judged of switches' files, some switches at a time: their text is read once for all who ask for it."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain

from clusterwright.platforms.readers import READERS
from clusterwright.proofs.check import Counterexample
from clusterwright.proofs.isolation.declared import DeclaredIsolation
from clusterwright.proofs.isolation.edges import PortGroup, port_groups
from clusterwright.proofs.isolation.ends import NotedEnds, management_faults
from clusterwright.proofs.isolation.host_firewall import firewall_faults
from clusterwright.proofs.isolation.logins import login_faults
from clusterwright.proofs.isolation.openings import opening_faults, server_faults
from clusterwright.proofs.isolation.routes import route_faults
from clusterwright.proofs.isolation.services import service_faults
from clusterwright.proofs.tree import RenderedTree

_AT_ONCE = 128  # switches: as many as readers remember the text of


@dataclass(frozen=True, slots=True)
class FilteredSwitches:
    """The filtered ports of all switches, each group with its shape, and what is wrong beside their filters."""

    ports: tuple[tuple[PortGroup, object], ...]
    faults: tuple[Counterexample, ...]


def read_switches(tree: RenderedTree, declared: DeclaredIsolation) -> FilteredSwitches:
    """Some switches after others, then all other devices: what is read is asked for by several, and not kept.

    Raises VerifyError for text that does not read.
    """
    noted = NotedEnds(declared)
    names = frozenset(device for reader in READERS for device in tree.devices_with(reader.file))
    shapes: dict[object, object] = {}
    ports: list[tuple[PortGroup, object]] = []
    faults: tuple[list[Counterexample], ...] = ([], [], [], [], [], [])
    for part in tree.in_parts(names, _AT_ONCE):
        for group in port_groups(part, declared):
            shape = group.shape()
            ports.append((group, shapes.setdefault(shape, shape)))
        found = (
            service_faults(part, declared),
            firewall_faults(part, declared),
            route_faults(part, declared.known, declared.owner, noted.route),
            opening_faults(part, noted),
            server_faults(part, declared),
            login_faults(part, declared),
        )
        for every, own in zip(faults, found, strict=True):
            every.extend(own)
    ends = management_faults(tree, declared, noted)
    return FilteredSwitches(tuple(ports), (*chain.from_iterable(faults), *ends))
