"""Requests of switches to servers and of monitoring to switches: request and answer, with routes and filters.

A request leaves from the system's source address, named in the text; the answer has to reach that address.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from clusterwright.facts.reader import EAPI, GNMI, LOGINS, LOGS, NAMES, SNMP, SSH, TIME, SystemReader
from clusterwright.packets.boxes import TCP, UDP
from clusterwright.packets.phrases import address, count
from clusterwright.packets.ranges import Ranges, values
from clusterwright.proofs.check import Cases, Counterexample, Fact, ProofCheck, Verdict
from clusterwright.proofs.ethernet.network import NETWORK_INTENT, has_network, network_of_tree
from clusterwright.proofs.isolation.declared import DeclaredIsolation
from clusterwright.proofs.isolation.managed import NamedServer, line_at, managed
from clusterwright.proofs.isolation.services import declared_sources
from clusterwright.proofs.isolation.switches import filtered_groups, routes_noted, switches_read
from clusterwright.proofs.operation.declared_exchanges import PlannedEnds
from clusterwright.proofs.operation.exchange import Exchange, numbered
from clusterwright.proofs.operation.exchange_filters import filter_faults
from clusterwright.proofs.operation.exchange_routes import ExchangeRoutes
from clusterwright.proofs.operation.exchange_servers import server_faults, server_notes
from clusterwright.proofs.operation.exchange_services import service_faults
from clusterwright.proofs.reading import reader_by_switch
from clusterwright.proofs.tree import RenderedTree
from clusterwright.spec.hardware.systems import systems
from clusterwright.switches.readers import READERS

_NUMBERS = {"tcp": TCP, "udp": UDP}
_PORTS = {NAMES: (UDP, 53), TIME: (UDP, 123), LOGS: (UDP, 514)}
"""RFC 1035, RFC 5905 and RFC 5426."""
_SERVICE_PORTS = {SSH: (TCP, 22), EAPI: (TCP, 443), SNMP: (UDP, 161)}
_SPEC_ONLY = "the addresses of switches, servers and monitoring"
_Asked = dict[tuple[str, str, int, int], set[int]]
"""Source addresses as numbers, by fabric, kind of server, IP version and server."""


@dataclass(frozen=True, slots=True)
class _Requests:
    """Requests of switches: exchanges, faults of source addresses, and notes on undetermined ones."""

    exchanges: tuple[Exchange, ...]
    faults: tuple[Counterexample, ...]
    notes: tuple[str, ...]
    count: int


def _check(tree: RenderedTree) -> Verdict:
    declared = None if tree.declaration is None else tree.declaration.isolation
    switches = sum(len(tree.devices_with(reader.file)) for reader in READERS)
    if declared is None:
        return Verdict(
            facts=(Fact("switches", switches),),
            counterexamples=(),
            cases=Cases("switches", switches),
            unjudged=f"not checked: only a spec sets {_SPEC_ONLY}",
        )
    ends = PlannedEnds(declared, _idle(tree, declared))
    requests = _requests(tree, ends)
    visits, unwatched = _visits(tree, ends)
    exchanges = (*requests.exchanges, *visits)
    network = network_of_tree(tree) if has_network(tree) else None
    routes = ExchangeRoutes(tree, ends, network, routes_noted(tree, declared))
    by_fabric: dict[str, tuple[Exchange, ...]] = {}
    for exchange in exchanges:
        by_fabric[exchange.fabric] = (*by_fabric.get(exchange.fabric, ()), exchange)
    faults = (
        *requests.faults,
        *unwatched,
        *filter_faults(filtered_groups(tree, declared), by_fabric, ends),
        *service_faults(tree, ends, exchanges),
        *routes.faults(exchanges),
        *server_faults(tree, ends, exchanges, network),
    )
    visit_count = sum(exchange.switches.size() for exchange in visits)
    return Verdict(
        facts=(
            Fact("requests of switches to servers, with their answers", requests.count),
            Fact("services of switches that are asked from outside, with their answers", visit_count),
        ),
        counterexamples=faults,
        cases=Cases("exchanges of switches", requests.count + visit_count),
        notes=(*requests.notes, *server_notes(tree, ends, exchanges)),
    )


def _idle(tree: RenderedTree, declared: DeclaredIsolation) -> frozenset[str]:
    """Switches without a file, or with an unplugged management port."""
    declaration = tree.declaration
    switches_with_file = reader_by_switch(tree).keys()
    planned = {device for device, _ in declared.managed_ends} | declared.fabric_sources.keys()
    unplugged_ends = declared.managed_ends.keys() & declaration.unplugged if declaration is not None else set()
    unplugged = {device for device, _ in unplugged_ends}
    return frozenset(planned - switches_with_file | unplugged)


def _requests(tree: RenderedTree, ends: PlannedEnds) -> _Requests:
    """Requests of switches to servers, from the source addresses in their texts."""
    reader_of = reader_by_switch(tree)
    own_addresses = _host_addresses(tree)
    asked: _Asked = {}
    faults: list[Counterexample] = []
    without_source: dict[tuple[str, str], set[str]] = {}
    total = 0
    for part in managed(tree):
        for named in part.servers:
            server, reader = named.server, reader_of.get(named.device)
            is_request = server.is_asked and not named.is_relay and _is_known(server.what)
            if reader is None or not is_request:
                continue
            peer = numbered(server.address)
            if peer is None or named.device not in ends.source:
                continue  # isolation reports a server's name; other switches are out of service
            source = server.source or own_addresses.get((named.device, peer[0]), "")
            fabric = ends.fabric_of(named.device)
            # Without a planned route to the server, no route decides the source address either.
            is_open = server.what not in reader.names_sources or ends.is_outside(fabric, *peer)
            if not source and is_open:
                without_source.setdefault((reader.system, server.what), set()).add(named.device)
                continue
            total += 1
            if numbered(source) != ends.source[named.device]:
                faults.append(_source_fault(tree, named, source, ends))
                continue
            key = (fabric, server.what, *peer)
            asked.setdefault(key, set()).add(ends.source[named.device][1])
    exchanges = tuple(_exchange(ends.declared, key, values(*sources)) for key, sources in sorted(asked.items()))
    return _Requests(exchanges=exchanges, faults=tuple(faults), notes=tuple(_source_notes(without_source)), count=total)


def _is_known(service: str) -> bool:
    return service in _PORTS or service == LOGINS


def _exchange(declared: DeclaredIsolation, key: tuple[str, str, int, int], sources: Ranges) -> Exchange:
    fabric, service, version, server = key
    login_protocol, login_port = declared.login_service
    protocol, port = _PORTS.get(service, (_NUMBERS[login_protocol], login_port))
    return Exchange(
        service=service,
        fabric=fabric,
        version=version,
        protocol=protocol,
        port=port,
        is_request=True,
        switches=sources,
        peers=values(server),
    )


def _source_fault(tree: RenderedTree, named: NamedServer, source: str, ends: PlannedEnds) -> Counterexample:
    server = named.server
    expected = address(*ends.source[named.device])
    source_phrase = source or "the address of whichever port leads there"
    message = f"{server.address} ({server.what}) is asked from {source_phrase}, and answers come to {expected} alone"
    line = line_at(tree, named.device, named.file, server.at)
    return Counterexample(device=named.device, file=named.file, line=line, message=message)


def _host_addresses(tree: RenderedTree) -> Mapping[tuple[str, int], str]:
    """Address of each management port configured in the Linux below, by switch and IP version."""
    addresses: dict[tuple[str, int], str] = {}
    for reader in READERS:
        for file, read in reader.host_addresses.items():
            for device in tree.devices_with(file):
                for text in read(tree.text(device, file) or ""):
                    addresses[device, 6 if ":" in text else 4] = text
    return addresses


def _source_notes(without_source: Mapping[tuple[str, str], set[str]]) -> Iterator[str]:
    for (system, service), devices in sorted(without_source.items()):
        subject = f"{count(len(devices), 'switch')} with {systems()[system].title}, as {min(devices)}"
        yield f"not checked for {subject}: nothing sets the source address of requests to servers for {service}."


def _visits(tree: RenderedTree, ends: PlannedEnds) -> tuple[tuple[Exchange, ...], tuple[Counterexample, ...]]:
    """Requests to switches permitted by flows, and required services without a flow."""
    declared = ends.declared
    asked: dict[tuple[str, int, str, int, int], set[int]] = {}
    examples: dict[tuple[str, int, str, int, int], tuple[str, str]] = {}
    for reader in READERS:
        services = tuple(_wanted_services(declared, reader))
        for device in tree.devices_with(reader.file):
            fabric = ends.fabric_of(device)
            if device not in ends.source or not declared.port_zones(fabric):
                continue
            version, number = ends.source[device]
            for name, protocol, port in services:
                key = (fabric, version, name, protocol, port)
                asked.setdefault(key, set()).add(number)
                examples.setdefault(key, (device, reader.file))
    exchanges: list[Exchange] = []
    faults: list[Counterexample] = []
    name_of_protocol = {number: name for name, number in _NUMBERS.items()}
    for key, switches in sorted(asked.items()):
        fabric, version, name, protocol, port = key
        peers = declared_sources(declared, fabric, version, name_of_protocol[protocol], port)
        if not peers:
            device, file = examples[key]
            message = f"no flow permits {name} to the management port at port {port}"
            faults.append(Counterexample(device=device, file=file, line=0, message=message))
            continue
        exchanges.append(
            Exchange(
                service=name,
                fabric=fabric,
                version=version,
                protocol=protocol,
                port=port,
                is_request=False,
                switches=values(*switches),
                peers=peers,
            )
        )
    return tuple(exchanges), tuple(faults)


def _wanted_services(declared: DeclaredIsolation, reader: SystemReader) -> Iterator[tuple[str, int, int]]:
    """Names, protocols and ports of the services used in a system."""
    names: list[str] = []
    if declared.logins:
        names.append(SSH)
        names += [EAPI] if EAPI in reader.manages else []
    if declared.managed[reader.system].snmp_users and SNMP in reader.manages:
        names.append(SNMP)
    for name in names:
        yield name, *_SERVICE_PORTS[name]
    if declared.collecting is not None and GNMI in reader.manages:
        yield GNMI, TCP, declared.collecting


EXCHANGES = ProofCheck(
    name="exchanges",
    claim=(
        "Requests of switches to servers and requests to switches pass routes and filters, and so do the answers to"
        " the address that sent them."
    ),
    kinds=frozenset({"nftables", "node-network"}).union(*(reader.kinds for reader in READERS)),
    intent=NETWORK_INTENT | {"isolation", "unplugged"},
    applies=lambda tree: any(tree.devices_with(reader.file) for reader in READERS),
    check=_check,
    spec_only=_SPEC_ONLY,
    readings=switches_read,
    rests_on=frozenset({"isolation", "management"}),
)
