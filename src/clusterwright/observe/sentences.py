"""Repairs in words: the cable to move, its source and target port, and the reason."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from clusterwright.observe.cabling import Edge, Move, Repair
from clusterwright.observe.difference import (
    DifferenceKind,
    ObservedDifference,
    Place,
    cable_to_move,
    missing_link,
    unexpected_link,
)
from clusterwright.observe.expected import ExpectedNode, ExpectedSubnet
from clusterwright.observe.identity import Identities
from clusterwright.observe.subnet import PORT_BITS, PORT_MASK, DiscoveredSubnet
from clusterwright.plan.model import format_guid


@dataclass(frozen=True, slots=True)
class CableSentences:
    """Describe repairs: planned ends by device and front-panel port, unknown nodes by GUID."""

    expected: ExpectedSubnet
    subnet: DiscoveredSubnet
    identities: Identities

    def site(self, end: int) -> ExpectedNode | None:
        """The planned site at an end; None for an unplanned node."""
        index = self.identities.site_at(end)
        return None if index is None else self.expected.sites[index]

    def place(self, end: int) -> Place:
        """The name of an end, with the rack and unit of a planned one."""
        index = self.identities.site_at(end)
        if index is not None:
            return self.expected.sites[index].place(end - self.identities.base[index])
        return Place(stranger_name(self.subnet, end >> PORT_BITS), f"port {end & PORT_MASK}")

    def cables(self, repair: Repair) -> Iterator[ObservedDifference]:
        """One difference for each cable to move, to add or to take out."""
        by_source = {move.source: move for move in repair.moves}
        for move in repair.moves:
            yield self._move(move, by_source)
        for edge in repair.missing:
            lower, upper = self._ordered(edge)
            yield missing_link(lower, upper, causes="cable missing, loose or dead")
        for edge in repair.unexpected:
            if self.site(edge[0]) is not None and self.site(edge[1]) is not None:
                lower, upper = self._ordered(edge)
                yield unexpected_link(lower, upper)

    def _move(self, move: Move, by_source: dict[int, Move]) -> ObservedDifference:
        keep, source, target = (self.place(end) for end in (move.keep, move.source, move.target))
        reasons = []
        if move.ring == 2:
            partner = by_source[move.target].keep
            crossed_rails = _crossed_rails(self.site(move.keep), self.site(partner))
            if crossed_rails:
                return cable_to_move(DifferenceKind.RAIL_CROSSED, keep, source, target, reasons=[crossed_rails])
            reasons.append(f"exchanged with {self.place(partner)}")
        source_rail, target_rail = self._rail(move.source), self._rail(move.target)
        if source_rail is not None and target_rail is not None and source_rail != target_rail:
            reasons.append(f"rail {target_rail} on a switch of rail {source_rail}")
        kind = DifferenceKind.SWAPPED if move.ring else DifferenceKind.WRONG_PORT
        return cable_to_move(kind, keep, source, target, reasons=reasons)

    def _rail(self, end: int) -> int | None:
        site = self.site(end)
        return None if site is None else site.rail

    def _ordered(self, edge: Edge) -> tuple[Place, Place]:
        """The lower end first: adapters before switches, then lower tiers before higher ones."""
        first, second = sorted(edge, key=self._height)
        return self.place(first), self.place(second)

    def _height(self, end: int) -> tuple[int, int]:
        site = self.site(end)
        return (site.device.tier if site else 1 << PORT_BITS, end)


def _crossed_rails(adapter: ExpectedNode | None, partner: ExpectedNode | None) -> str:
    """The reason of an exchange between two rails of one unit; "" for other exchanges."""
    if adapter is None or partner is None or adapter.unit != partner.unit:
        return ""
    rails = {site.rail for site in (adapter, partner) if not site.switch and site.rail is not None}
    if len(rails) != 2:
        return ""
    first, second = sorted(rails)
    return f"rails {first} and {second} are crossed on {adapter.unit}"


def stranger_name(subnet: DiscoveredSubnet, node: int) -> str:
    """The kind, GUID and description of an unplanned node."""
    stranger = subnet.nodes[node]
    description = f' "{stranger.description}"' if stranger.description else ""
    return f"{stranger.kind} {format_guid(stranger.guid)}{description}"
