"""Repairs in words: which cable to move from where to where, and why."""

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
    """Describes repairs; planned ends by device and port on the panel, unknown nodes by GUID."""

    expected: ExpectedSubnet
    subnet: DiscoveredSubnet
    identities: Identities

    def site(self, end: int) -> ExpectedNode | None:
        """The planned site at an end, None for a stranger's."""
        index = self.identities.site_at(end)
        return None if index is None else self.expected.sites[index]

    def place(self, end: int) -> Place:
        """An end by name, with rack and unit where it is planned."""
        index = self.identities.site_at(end)
        if index is not None:
            return self.expected.sites[index].place(end - self.identities.base[index])
        return Place(stranger_name(self.subnet, end >> PORT_BITS), f"port {end & PORT_MASK}")

    def cables(self, repair: Repair) -> Iterator[ObservedDifference]:
        """One statement for each cable to move, to add or to take out."""
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
        lower, left, right = self.site(move.keep), self.site(move.source), self.site(move.target)
        if move.ring == 2:
            partner = by_source[move.target].keep
            other = self.site(partner)
            rails = {site.rail for site in (lower, other) if site and not site.switch and site.rail is not None}
            if lower and other and lower.unit == other.unit and len(rails) == 2:
                first, second = sorted(rails)
                reason = f"rails {first} and {second} are crossed on {lower.unit}"
                return cable_to_move(DifferenceKind.RAIL_CROSSED, keep, source, target, reasons=[reason])
            reasons.append(f"exchanged with {self.place(partner)}")
        if left and right and None not in {left.rail, right.rail} and left.rail != right.rail:
            reasons.append(f"rail {right.rail} on a switch of rail {left.rail}")
        kind = DifferenceKind.SWAPPED if move.ring else DifferenceKind.WRONG_PORT
        return cable_to_move(kind, keep, source, target, reasons=reasons)

    def _ordered(self, edge: Edge) -> tuple[Place, Place]:
        """The lower end first: adapters before switches, then lower tiers before higher ones."""
        first, second = sorted(edge, key=self._height)
        return self.place(first), self.place(second)

    def _height(self, end: int) -> tuple[int, int]:
        site = self.site(end)
        return (site.device.tier if site else 1 << PORT_BITS, end)


def stranger_name(subnet: DiscoveredSubnet, node: int) -> str:
    """A node that the plan does not know: its kind, GUID and description."""
    stranger = subnet.nodes[node]
    description = f' "{stranger.description}"' if stranger.description else ""
    return f"{stranger.kind} {format_guid(stranger.guid)}{description}"
