"""The servers' end of an exchange: nodes of the cluster with their filter and routes, and peers outside it."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.facts.router import covers, network_of
from clusterwright.packets.boxes import FOREIGN, OWN
from clusterwright.packets.filters import InterfaceNumbers, Ruleset
from clusterwright.packets.nft_file import read_nft
from clusterwright.packets.passage import decide, passing
from clusterwright.packets.phrases import address
from clusterwright.packets.ranges import values
from clusterwright.packets.tokens import Unreadable
from clusterwright.proofs.check import Counterexample, example
from clusterwright.proofs.ethernet.network import RoutedNetwork
from clusterwright.proofs.isolation.nodes import RUNNING, stages
from clusterwright.proofs.operation.declared_exchanges import PlannedEnds
from clusterwright.proofs.operation.exchange import Exchange, packets_of
from clusterwright.proofs.tree import RenderedTree


def server_faults(
    tree: RenderedTree, ends: PlannedEnds, exchanges: tuple[Exchange, ...], network: RoutedNetwork | None
) -> Iterator[Counterexample]:
    """Servers on nodes with a filter that stops a request or its answer, or without a route back."""
    for exchange in exchanges:
        if not exchange.is_request:
            continue
        number = exchange.peers.bounds[0][0]
        node, port = ends.declared.addresses.get((exchange.version, number), ("", ""))
        if node and (node, RUNNING) in tree.files:
            yield from _filter_faults(tree, exchange, node, port)
        if node and network is not None:
            yield from _route_faults(tree, exchange, node, network)


def server_notes(tree: RenderedTree, ends: PlannedEnds, exchanges: tuple[Exchange, ...]) -> Iterator[str]:
    """Notes on servers and monitoring clients without text to check."""
    unread: set[str] = set()
    beyond: dict[str, set[str]] = {}
    is_behind_border = False
    for exchange in exchanges:
        for low, _ in exchange.peers.bounds:
            node, _ = ends.declared.addresses.get((exchange.version, low), ("", ""))
            if node:
                unread |= set() if (node, RUNNING) in tree.files else {node}
            elif ends.borders_to(exchange.fabric, exchange.version, low):
                is_behind_border = True
            else:
                zone = ends.declared.zone_at(exchange.version, low)
                beyond.setdefault(exchange.fabric, set()).add(zone)
    if unread:
        yield f"no filter of {', '.join(sorted(unread))} is rendered: whether requests pass there was not checked."
    for fabric, zones in sorted(beyond.items()):
        yield (
            f"no border of {fabric} leads to {', '.join(sorted(zones))}: whether requests of switches come there, and"
            " answers back, the spec does not say."
        )
    if is_behind_border:
        yield "routes and filters of the site behind borders are in no file: there an exchange is taken to pass."


def _filter_faults(tree: RenderedTree, exchange: Exchange, node: str, port: str) -> Iterator[Counterexample]:
    """Packets of an exchange stopped by a node's filter."""
    interfaces = InterfaceNumbers()
    try:
        ruleset = read_nft(tree.text(node, RUNNING) or "", interfaces)
    except Unreadable:
        return  # isolation reports it
    interface = interfaces.of(port)
    taken = packets_of(exchange.from_switches(iif=interface, origin=values(FOREIGN)))
    sent = packets_of(exchange.to_switches(oif=interface, origin=values(OWN)))
    for hook, wanted, half in (("input", taken, "the request"), ("output", sent, "the answer")):
        passed = wanted
        for stage in stages(ruleset, hook):
            passed = passing(ruleset, stage, passed).packets
        stopped = wanted - passed
        if stopped:
            line = _line(ruleset, hook, stopped.witness())
            message = f"{exchange.title}, and {hook} ({port}) stops {half}"
            yield Counterexample(device=node, file=RUNNING, line=line, message=message)


def _line(ruleset: Ruleset, hook: str, packet: tuple[int, ...]) -> int:
    return decide(ruleset, hook, packet).line


def _route_faults(
    tree: RenderedTree, exchange: Exchange, node: str, network: RoutedNetwork
) -> Iterator[Counterexample]:
    """Fault of a node without a route back to a switch."""
    size = 4 if exchange.version == 4 else 16
    peer = exchange.peers.bounds[0][0].to_bytes(size, "big")
    for fabric in network.fabrics:
        for nic, _ in fabric.nics:
            if nic.device != node or nic.address != peer:
                continue
            prefixes = [network_of(nic.address, nic.length), *(prefix for prefix, _ in nic.routes)]
            for low, high in exchange.switches.bounds:
                for number in (low, high):
                    host = number.to_bytes(size, "big")
                    if not any(covers(prefix, (host, 8 * size)) for prefix in prefixes):
                        message = f"{exchange.title}, and no route leads back to {address(exchange.version, number)}"
                        yield example(tree, nic.device, nic.file, ("Destination=",), message)
                        return
