"""Permitted traffic before and after: the matrix of zones, their members, and InfiniBand partitions.

Flows are compared by the traffic they permit, not by their notation: a range split into two flows changes nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, product

from clusterwright.compare.changes import AccessChange, IsolationChanges, MembershipChange, TermsChange
from clusterwright.spec.isolation import WITH_PORTS, Flow, joined
from clusterwright.spec.model import ClusterSpec
from clusterwright.spec.zone_reach import members_of

Range = tuple[int, int]
Cell = tuple[str, str, str]  # source zone, target zone, protocol

ALL_PORTS: Range = (0, 65535)


def isolation_changes(before: ClusterSpec, after: ClusterSpec) -> IsolationChanges:
    """Opened and closed traffic between two specs, the opened first."""
    old, new = _matrix(before), _matrix(after)
    access = [*_only_in(new, old, opened=True), *_only_in(old, new, opened=False)]
    old_members, new_members = set(_members(before)), set(_members(after))
    membership = []
    for owner, what in sorted(new_members - old_members):
        membership.append(MembershipChange(owner=owner, what=what, added=True))
    for owner, what in sorted(old_members - new_members):
        membership.append(MembershipChange(owner=owner, what=what, added=False))
    return IsolationChanges(tuple(access), tuple(_terms(before, after)), tuple(membership))


def _terms(before: ClusterSpec, after: ClusterSpec) -> Iterator[TermsChange]:
    """Changed owners and expiry dates of flows of both specs, longer openings first."""
    old_flows = {flow.name: flow for flow in before.flows}
    terms = []
    for flow in after.flows:
        old = old_flows.get(flow.name)
        if old is None:
            continue
        if old.expires != flow.expires:
            longer = old.expires is not None and (flow.expires is None or flow.expires > old.expires)
            terms.append(
                TermsChange(
                    flow=flow.name,
                    term="expires",
                    before=str(old.expires or ""),
                    after=str(flow.expires or ""),
                    longer=longer,
                )
            )
        if old.owner != flow.owner:
            terms.append(
                TermsChange(flow=flow.name, term="owner", before=old.owner or "", after=flow.owner or "", longer=False)
            )
    yield from sorted(terms, key=lambda change: (not change.longer, change.flow, change.term))


def _matrix(spec: ClusterSpec) -> Mapping[Cell, tuple[Flow, ...]]:
    cells: dict[Cell, list[Flow]] = defaultdict(list)
    for flow in spec.flows:
        cells[flow.source, flow.target, flow.protocol].append(flow)
    return {cell: tuple(flows) for cell, flows in cells.items()}


def _only_in(
    cells: Mapping[Cell, tuple[Flow, ...]], other_cells: Mapping[Cell, tuple[Flow, ...]], *, opened: bool
) -> Iterator[AccessChange]:
    for cell, flows in sorted(cells.items()):
        source, target, protocol = cell
        ports = subtract(_ports(flows), _ports(other_cells.get(cell, ())))
        if ports:
            causes = tuple(flow.name for flow in flows if _passes_any(flow, ports))
            traffic = _traffic(protocol, ports)
            yield AccessChange(source=source, target=target, opened=opened, traffic=traffic, flows=causes)


def _traffic(protocol: str, ports: Iterable[Range]) -> str:
    if protocol not in WITH_PORTS:
        return protocol
    return f"{protocol} {', '.join(map(_range_text, ports))}"


def _range_text(ports: Range) -> str:
    first, last = ports
    if ports == ALL_PORTS:
        return "all ports"
    return str(first) if first == last else f"{first}-{last}"


def _flow_ports(flow: Flow) -> tuple[Range, ...]:
    return flow.ports or (ALL_PORTS,)


def _overlap(first: Range, second: Range) -> bool:
    return first[0] <= second[1] and second[0] <= first[1]


def _passes_any(flow: Flow, ranges: Iterable[Range]) -> bool:
    """Whether a flow has a port or type in one of ``ranges``."""
    return any(_overlap(*pair) for pair in product(_flow_ports(flow), ranges))


def _ports(flows: Iterable[Flow]) -> tuple[Range, ...]:
    return joined(chain.from_iterable(map(_flow_ports, flows)))


def subtract(ranges: Iterable[Range], taken: Iterable[Range]) -> tuple[Range, ...]:
    """The parts of ``ranges`` outside ``taken``; both are inclusive, ordered and without overlap."""
    remaining = list(ranges)
    for first, last in taken:
        parts: list[Range] = []
        for low, high in remaining:
            parts += [(low, min(high, first - 1)), (max(low, last + 1), high)]
        remaining = [(low, high) for low, high in parts if low <= high]
    return tuple(remaining)


def _members(spec: ClusterSpec) -> Iterator[tuple[str, str]]:
    """Owner and member of each zone, border and partition, in words."""
    for zone in spec.zones:
        owner = f"zone {zone.name}"
        yield owner, "is defined"
        yield owner, f"is of kind {zone.kind}"
        if zone.isolated:
            yield owner, "is isolated"
        yield from ((owner, f"holds the nodes {name}") for name in members_of(spec, zone))
        yield from ((owner, f"is on the fabric {name}") for name in zone.fabrics)
        yield from ((owner, f"holds {network}") for network in zone.prefixes)
    for border in spec.borders:
        owner = f"border {border.name}"
        yield owner, f"is at {border.device} {border.port}, with {border.neighbour} of AS {border.asn}"
        yield from ((owner, f"leads to zone {zone}") for zone in border.zones)
    for fabric in spec.fabrics:
        for partition in fabric.partitions:
            owner = f"partition {partition.name} of {fabric.name}"
            yield owner, f"has P_Key {partition.pkey:#06x}"
            yield from (
                (owner, f"has {partition.membership_of(zone)} members from zone {zone}") for zone in partition.zones
            )
