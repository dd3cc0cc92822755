"""Access to the services of a switch: the lists of SSH, eAPI, SNMP and gNMI against flows to management ports."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from clusterwright.facts.reader import SwitchService
from clusterwright.packets.boxes import FAMILY, SRC, V4, V6, WHOLE
from clusterwright.packets.filters import ACCEPT, Rule
from clusterwright.packets.phrases import address
from clusterwright.packets.ranges import EMPTY, Ranges
from clusterwright.packets.values import everywhere
from clusterwright.proofs.check import Counterexample
from clusterwright.proofs.isolation.declared import DeclaredIsolation
from clusterwright.proofs.isolation.managed import managed
from clusterwright.proofs.tree import RenderedTree

_FAMILIES = {4: V4, 6: V6}
_SHOWN = 3  # zones for each list and direction


def service_faults(tree: RenderedTree, declared: DeclaredIsolation) -> Iterator[Counterexample]:
    """Differences between the sources reaching a switch's services and the flows. Raises VerifyError."""
    clean: set[object] = set()
    for part in managed(tree):
        for (device, file), (services, _) in part.answers.items():
            fabric = declared.management.get(device, "")
            if not declared.port_zones(fabric):
                continue  # without a management port the filters of the fabric's ports protect it
            key = (fabric, tuple((s.name, s.port, s.version, service_behaviour(s)) for s in services))
            if key in clean:
                continue
            faults = list(chain.from_iterable(_faults(declared, fabric, service) for service in services))
            if not faults:
                clean.add(key)
            for line, message in faults:
                yield Counterexample(device=device, file=file, line=line, message=message)


def declared_sources(declared: DeclaredIsolation, fabric: str, version: int, protocol: str, port: int) -> Ranges:
    """Sources permitted by flows at a port of the switches' management ports."""
    sources = EMPTY
    if version != declared.fabric[fabric].version:
        return sources
    zones = declared.port_zones(fabric)
    for flow in declared.flows:
        if flow.target not in zones:
            continue
        has_protocol = flow.protocol in {protocol, "any"}
        has_port = flow.ports is None or port in flow.ports
        if has_protocol and has_port:
            sources |= declared.peers(flow.target, flow.source, fabric, version)
    return sources


def service_behaviour(service: SwitchService) -> object:
    """Key equal for services with lists of the same effect."""
    return None if service.rules is None else tuple((rule.matches, rule.verdict) for rule in service.rules)


def _faults(declared: DeclaredIsolation, fabric: str, service: SwitchService) -> Iterator[tuple[int, str]]:
    wanted = declared_sources(declared, fabric, service.version, service.protocol, service.port)
    name = f"{service.name} ({service.protocol.upper()} {service.port})"
    passes, idle = passing_sources(service)
    yield from ((line, f"{name}: this entry decides about no source.") for line in idle)
    missing_list = "" if service.rules is not None else " It has no list of sources."
    for sources, verb, reason in (
        (passes - wanted, "reaches it", "no flow allows it"),
        (wanted - passes, "is refused", "it is declared"),
    ):
        for zone, number in _by_zone(declared, service.version, sources):
            source = address(service.version, number)
            yield _line(service, number), f"{name}: {source} {verb}, from {zone}: {reason}.{missing_list}"


def passing_sources(service: SwitchService) -> tuple[Ranges, list[int]]:
    """Sources accepted by a service, and the lines of entries that never decide."""
    if service.rules is None:
        return WHOLE[SRC] & everywhere(service.version), []
    undecided, passes, idle = everywhere(service.version), EMPTY, []
    for rule in service.rules:
        sources = _sources(rule, service.version)
        if not sources & undecided:
            idle.append(rule.line)
        if rule.verdict == ACCEPT:
            passes |= sources & undecided
        undecided = undecided - sources
    return passes, idle


def _sources(rule: Rule, version: int) -> Ranges:
    sources = EMPTY
    for match in rule.matches:
        if match[FAMILY] & _FAMILIES[version]:
            sources |= match[SRC]
    return sources & everywhere(version)


def _line(service: SwitchService, number: int) -> int:
    for rule in service.rules or ():
        if number in _sources(rule, service.version):
            return rule.line
    return service.line


def _by_zone(declared: DeclaredIsolation, version: int, remaining: Ranges) -> Iterator[tuple[str, int]]:
    """An address of each zone in a set, then one of none."""
    shown = 0
    for zone in declared.zones:
        for part in zone.parts:
            both = part.addresses & remaining if part.version == version else EMPTY
            if both and shown < _SHOWN:
                shown += 1
                remaining = remaining - part.addresses
                yield declared.zone_at(version, both.bounds[0][0]), both.bounds[0][0]
    if remaining and shown < _SHOWN:
        number = max(low for low, _ in remaining.bounds)
        yield declared.zone_at(version, number), number
