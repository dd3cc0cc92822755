"""Packets and services bypassing the filters of switches, on any system."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from clusterwright.facts.reader import Planned, Server
from clusterwright.proofs.check import Counterexample
from clusterwright.proofs.isolation.declared import DeclaredIsolation
from clusterwright.proofs.isolation.edges import errors_leave_open
from clusterwright.proofs.isolation.managed import line_at, managed
from clusterwright.proofs.tree import RenderedTree
from clusterwright.switches.readers import READERS


def opening_faults(tree: RenderedTree, declared: Planned | None) -> Iterator[Counterexample]:
    """Text that takes packets past the lists of a switch, or opens its services; unread text is noted.

    Without ``declared`` (a folder), only faults under any matrix.
    """
    readers = chain.from_iterable(reader.openings.items() for reader in READERS)
    for file, read in readers:
        for device in tree.devices_with(file):
            text = tree.text(device, file) or ""
            with errors_leave_open(tree, device, file):
                for position, message in read(text, device, declared):
                    line = text.count("\n", 0, max(position, 0)) + 1
                    yield Counterexample(device=device, file=file, line=line, message=message)


def server_faults(tree: RenderedTree, declared: DeclaredIsolation) -> Iterator[Counterexample]:
    """Servers of a switch missing from the spec for that service. Raises VerifyError."""
    for part in managed(tree):
        for device, file, server, _ in part.servers:
            fault = _server_fault(server, device, declared)
            if fault:
                line = line_at(tree, device, file, server.at)
                yield Counterexample(device=device, file=file, line=line, message=fault)


def _server_fault(server: Server, device: str, declared: DeclaredIsolation) -> str:
    """Fault of a server; "" for a server of the spec for its service."""
    relies = f"the switch relies on {server.address} for {server.what}"
    try:
        if declared.serves(server.what, server.address, device):
            return ""
    except ValueError:
        return f"{relies}, a name: the server that answers decides where it leads"
    return f"{relies}, and the spec has no such server for that"
