"""Default routes of nodes for flows to and from the internet."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.hosts.linux.reader.default_routes import MAIN_TABLE, default_routes
from clusterwright.hosts.linux.reader.network import NETWORKS
from clusterwright.packets.phrases import address
from clusterwright.proofs.check import Counterexample
from clusterwright.proofs.isolation.declared import DeclaredIsolation
from clusterwright.proofs.tree import RenderedTree


def default_route_faults(tree: RenderedTree, declared: DeclaredIsolation) -> Iterator[Counterexample]:
    """Missing default routes needed by internet flows."""
    configured = tree.devices_below(NETWORKS)
    for device, gateways in sorted(declared.default_gateways.items()):
        if device not in configured:
            continue
        for interface, gateway in sorted(gateways.items()):
            file = f"{NETWORKS}{interface}.network"
            hop = address(*gateway)
            tables = {table for table, hops in default_routes(tree.text(device, file) or "") if hop in hops}
            missing = []
            if MAIN_TABLE not in tables:
                missing.append("the main table")
            if not tables - {MAIN_TABLE}:
                missing.append("the interface's own table")
            for where in missing:
                message = f"no default route through {hop} in {where}, as the flows of the internet need"
                yield Counterexample(device=device, file=file, line=0, message=message)
