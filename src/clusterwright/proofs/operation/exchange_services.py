"""Access lists of switches' own services, and of the firewall below them, on the path of an exchange."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.packets.phrases import address
from clusterwright.packets.tokens import Unreadable
from clusterwright.proofs.check import Counterexample
from clusterwright.proofs.isolation.host_firewall import zone_passes
from clusterwright.proofs.isolation.managed import managed
from clusterwright.proofs.isolation.nodes import ZONE_FILE
from clusterwright.proofs.isolation.services import passing_sources, service_behaviour
from clusterwright.proofs.operation.declared_exchanges import PlannedEnds
from clusterwright.proofs.operation.exchange import Exchange, packets_of
from clusterwright.proofs.tree import RenderedTree


def service_faults(tree: RenderedTree, ends: PlannedEnds, exchanges: tuple[Exchange, ...]) -> Iterator[Counterexample]:
    """Services refusing a permitted client, by their own list or by the firewall of the Linux below."""
    visits = tuple(exchange for exchange in exchanges if not exchange.is_request)
    yield from _list_faults(tree, ends, visits)
    yield from _firewall_faults(tree, ends, visits)


def _list_faults(tree: RenderedTree, ends: PlannedEnds, visits: tuple[Exchange, ...]) -> Iterator[Counterexample]:
    wanted = {(visit.service, visit.version, visit.fabric): visit for visit in visits}
    checked: set[object] = set()
    for part in managed(tree):
        for (device, file), answers in part.answers.items():
            if device not in ends.declared.management:
                continue  # its services have no lists
            for service in answers.services:
                visit = wanted.get((service.name, service.version, ends.fabric_of(device)))
                shape = (visit, service.port, service_behaviour(service))
                if visit is None or shape in checked:
                    continue
                checked.add(shape)
                refused = visit.peers - passing_sources(service)[0]
                if refused:
                    peer = address(visit.version, refused.bounds[0][0])
                    message = f"{peer} asks for {visit.service}, and the list of {visit.service} refuses it"
                    yield Counterexample(device=device, file=file, line=service.line, message=message)


def _firewall_faults(tree: RenderedTree, ends: PlannedEnds, visits: tuple[Exchange, ...]) -> Iterator[Counterexample]:
    """Requests stopped by the firewall's rules; answers pass as packets of known connections."""
    checked: set[tuple[str, str]] = set()
    for device in tree.devices_with(ZONE_FILE):
        fabric, text = ends.fabric_of(device), tree.text(device, ZONE_FILE) or ""
        if device not in ends.source or (fabric, text) in checked:
            continue
        checked.add((fabric, text))
        number = ends.source[device][1]
        try:
            passes = zone_passes(text)
        except Unreadable:
            continue  # isolation reports it
        for visit in visits:
            if visit.fabric == fabric and number in visit.switches and packets_of(visit.to_switches()) - passes:
                message = f"{visit.title}, and the firewall of the management port stops it"
                yield Counterexample(device=device, file=ZONE_FILE, line=0, message=message)
