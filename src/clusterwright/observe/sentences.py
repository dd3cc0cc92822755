"""Repairs in words: which cable to move from where to where, and why."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from clusterwright.observe.cabling import Edge, Move, Repair
from clusterwright.observe.difference import DifferenceKind, ObservedDifference, Place
from clusterwright.observe.expected import ExpectedNode, ExpectedSubnet
from clusterwright.observe.identity import Identities
from clusterwright.observe.subnet import PORT_BITS, PORT_MASK, DiscoveredSubnet
from clusterwright.plan.model import format_guid


@dataclass(frozen=True, slots=True)
class Speaker:
    """Knows the ends' names: planned ones by device and port on the panel, strangers' by GUID."""

    expected: ExpectedSubnet
    subnet: DiscoveredSubnet
    found: Identities

    def site(self, end: int) -> ExpectedNode | None:
        """The planned site at an end, None for a stranger's."""
        at = self.found.site_at(end)
        return None if at is None else self.expected.sites[at]

    def place(self, end: int) -> Place:
        """An end by name, with rack and unit where it is planned."""
        at = self.found.site_at(end)
        if at is not None:
            return self.expected.sites[at].place(end - self.found.base[at])
        return Place(stranger_name(self.subnet, end >> PORT_BITS), f"port {end & PORT_MASK}")

    def cables(self, repair: Repair) -> Iterator[ObservedDifference]:
        """One statement for each cable to move, to add or to take out."""
        by_source = {move.source: move for move in repair.moves}
        for move in repair.moves:
            yield self._move(move, by_source)
        for edge in repair.missing:
            one, other = self._ordered(edge)
            yield ObservedDifference(
                kind=DifferenceKind.MISSING_LINK,
                place=other,
                message=f"no link between {one} and {other}: cable missing, loose or dead",
                cable=one,
            )
        for edge in repair.unexpected:
            if self.site(edge[0]) is not None and self.site(edge[1]) is not None:
                one, other = self._ordered(edge)
                message = f"take out the cable between {one} and {other}: none is planned there"
                yield ObservedDifference(kind=DifferenceKind.UNEXPECTED_LINK, place=other, message=message, cable=one)

    def _move(self, move: Move, by_source: dict[int, Move]) -> ObservedDifference:
        keep, source, target = (self.place(end) for end in (move.keep, move.source, move.target))
        advice = f"move {keep} from {source} to {target}"
        lower, there, right = self.site(move.keep), self.site(move.source), self.site(move.target)
        if move.ring == 2:
            partner = by_source[move.target].keep
            other = self.site(partner)
            rails = {site.rail for site in (lower, other) if site and not site.switch and site.rail is not None}
            if lower and other and lower.unit == other.unit and len(rails) == 2:
                first, second = sorted(rails)
                reason = f"rails {first} and {second} are crossed on {lower.unit}"
                return ObservedDifference(
                    kind=DifferenceKind.RAIL_CROSSED,
                    place=source,
                    message=f"{advice} ({reason})",
                    cable=keep,
                    target=target,
                )
            advice += f" (exchanged with {self.place(partner)})"
        if there and right and None not in {there.rail, right.rail} and there.rail != right.rail:
            advice += f" (rail {right.rail} on a switch of rail {there.rail})"
        return ObservedDifference(
            kind=DifferenceKind.SWAPPED if move.ring else DifferenceKind.WRONG_PORT,
            place=source,
            message=advice,
            cable=keep,
            target=target,
        )

    def _ordered(self, edge: Edge) -> tuple[Place, Place]:
        """The lower end first: adapters before switches, then lower tiers before higher ones."""
        first, second = sorted(edge, key=self._height)
        return self.place(first), self.place(second)

    def _height(self, end: int) -> tuple[int, int]:
        site = self.site(end)
        return (site.device.tier if site else 1 << PORT_BITS, end)


def stranger_name(subnet: DiscoveredSubnet, node: int) -> str:
    """A node that the plan does not know: its kind, GUID and what it calls itself."""
    seen = subnet.nodes[node]
    called = f' "{seen.description}"' if seen.description else ""
    return f"{seen.kind} {format_guid(seen.guid)}{called}"
