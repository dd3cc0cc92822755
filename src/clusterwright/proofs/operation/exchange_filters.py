"""Filters of switches on the path of an exchange: stopped packets of a request, or of its answer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from clusterwright.facts.reader import IN, OUT
from clusterwright.packets.boxes import Box
from clusterwright.packets.passage import decide, passing
from clusterwright.packets.ranges import EMPTY, Ranges, ranges, values
from clusterwright.packets.tokens import Unreadable
from clusterwright.proofs.check import Counterexample
from clusterwright.proofs.isolation.edges import (
    BORDER_IN,
    BORDER_OUT,
    HOSTS,
    MANAGEMENT,
    OTHERS,
    OUTWARDS,
    PortGroup,
    behaviour,
)
from clusterwright.proofs.operation.declared_exchanges import PlannedEnds
from clusterwright.proofs.operation.exchange import Exchange, packets_of

Exchanges = Mapping[str, tuple[Exchange, ...]]
"""Exchanges by the fabric they cross."""


@dataclass(slots=True)
class _FilteredEnds:
    """Ports with the same filter: those of ``group`` stand for all. ``switches`` and ``peers`` are behind them."""

    group: PortGroup
    switches: set[int] = field(default_factory=set)
    peers: set[int] = field(default_factory=set)


def filter_faults(
    groups: Iterable[tuple[PortGroup, object]], exchanges: Exchanges, ends: PlannedEnds
) -> Iterator[Counterexample]:
    """Filters that stop a request or an answer, with the first such packet. Unreadable ones are left open."""
    places: dict[object, _FilteredEnds] = {}
    for group, shape in groups:
        if group.fabric in exchanges:
            _add(places, group, shape, exchanges[group.fabric], ends)
    for place in places.values():
        yield from _faults(place, exchanges[place.group.fabric])


def _add(
    places: dict[object, _FilteredEnds],
    group: PortGroup,
    shape: object,
    exchanges: tuple[Exchange, ...],
    ends: PlannedEnds,
) -> None:
    """Record the addresses behind a group's ports; groups with equal filters are one entry."""
    if group.kind == MANAGEMENT and group.device in ends.source:
        place = places.setdefault((MANAGEMENT, shape), _FilteredEnds(group))
        place.switches.add(ends.source[group.device][1])
    elif group.kind == HOSTS:
        _add_hosts(places, group, shape, exchanges, ends)
    elif group.kind not in {MANAGEMENT, HOSTS}:
        places[group.device, group.kind, group.ports] = _FilteredEnds(group)


def _add_hosts(
    places: dict[object, _FilteredEnds],
    group: PortGroup,
    shape: object,
    exchanges: tuple[Exchange, ...],
    ends: PlannedEnds,
) -> None:
    """Record management ports of switches, and peers of exchanges, behind the ports of a group."""
    edge = ends.edges.get((group.device, group.fabric))
    if edge is None:
        return
    asking = {port: ends.source[edge.ports[port][0]][1] for port in group.ports if edge.ports[port][0] in ends.source}
    serving: dict[str, int] = {}
    for exchange in exchanges:
        for low, high in (exchange.peers & edge.subnet).bounds:
            for peer in range(low, high + 1):
                end = ends.declared.addresses.get((exchange.version, peer))
                serving |= {port: peer for port in group.ports if edge.ports[port] == end}
    if asking or serving:
        key = (HOSTS, shape, tuple(asking), tuple(serving))
        if key not in places:
            places[key] = _FilteredEnds(group, set(asking.values()), set(serving.values()))


def _faults(place: _FilteredEnds, exchanges: tuple[Exchange, ...]) -> Iterator[Counterexample]:
    group = place.group
    direction = OUT if group.kind in OUTWARDS else IN
    checked: list[object] = []
    for port in group.ports:
        try:
            ruleset = group.lists.at(port, direction)
        except Unreadable:
            continue  # isolation reports it
        if behaviour(ruleset) in checked:
            continue
        checked.append(behaviour(ruleset))
        for exchange in exchanges:
            wanted = packets_of(_wanted(place, exchange))
            stopped = wanted - passing(ruleset, direction, wanted).packets if wanted else wanted
            if stopped:
                decision = decide(ruleset, direction, stopped.witness())
                message = f"{exchange.title}, and {group.kind} {port} stops {_which(exchange, stopped.boxes)}"
                yield Counterexample(device=group.device, file=group.file, line=decision.line, message=message)


def _which(exchange: Exchange, stopped: tuple[Box, ...]) -> str:
    """Half of an exchange, by its stopped packets."""
    sent = packets_of(exchange.from_switches())
    is_from_switches = bool(packets_of(stopped) & sent)
    return "the request" if is_from_switches is exchange.is_request else "the answer"


def _wanted(place: _FilteredEnds, exchange: Exchange) -> Iterator[Box]:
    """Packets of an exchange permitted at ports."""
    group = place.group
    if group.kind == MANAGEMENT:
        yield from exchange.of(values(*place.switches), exchange.peers).to_switches()
    elif group.kind == HOSTS:
        yield from exchange.of(values(*place.switches), exchange.peers).from_switches()
        yield from exchange.of(exchange.switches, values(*place.peers)).to_switches()
    elif group.kind in {BORDER_IN, BORDER_OUT} and group.border is not None:
        bits = 32 if exchange.version == 4 else 128
        outside = _behind(group.border.prefixes, bits) if group.border.version == exchange.version else EMPTY
        crossing = exchange.of(exchange.switches, outside)
        yield from crossing.from_switches() if group.kind == BORDER_OUT else crossing.to_switches()
    elif group.kind in OTHERS:
        yield from (*exchange.from_switches(), *exchange.to_switches())


def _behind(prefixes: Iterable[tuple[int, int]], bits: int) -> Ranges:
    return ranges((low, low + (1 << bits - length) - 1) for low, length in prefixes)
