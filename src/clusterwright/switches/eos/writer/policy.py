"""Route maps of an EOS switch, in EOS's words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from clusterwright.intent.routing_policy import FROM_BELOW_COMMUNITY, Direction, Mark, RouteSet

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from clusterwright.intent.routing_policy import PolicyTerm, RoutePolicy


@dataclass(frozen=True, slots=True)
class EosRouteMapTerm:
    """One entry of a route map with the lines below it."""

    name: str
    action: str
    number: int
    lines: tuple[str, ...]


def route_map_terms(policies: Iterable[RoutePolicy], ip: str) -> tuple[EosRouteMapTerm, ...]:
    """The entries of all policies in their order; ``ip`` is the command word ``ip`` or ``ipv6``."""
    entries = []
    for policy in policies:
        for number, term in enumerate(policy.terms, 1):
            entries.append(
                EosRouteMapTerm(
                    name=policy.name,
                    action="permit" if term.is_permitted else "deny",
                    number=10 * number,
                    lines=tuple(_lines(policy, term, ip)),
                )
            )
    return tuple(entries)


def _lines(policy: RoutePolicy, term: PolicyTerm, ip: str) -> Iterator[str]:
    """The lines of an entry: its match, then its change of communities."""
    match term.routes:
        case RouteSet.OWN:
            yield f"match {ip} address prefix-list OWN"
        case RouteSet.FABRIC:
            yield f"match {ip} address prefix-list FABRIC"
        case RouteSet.FROM_BELOW:
            yield "match community FROM-BELOW"
        case RouteSet.BORDER:
            yield f"match {ip} address prefix-list {border_list(policy.group, policy.direction)}"
        case RouteSet.ALL:
            yield f"description {term.name}"
    if term.mark is Mark.FROM_BELOW:
        yield f"set community {FROM_BELOW_COMMUNITY}"
    elif term.mark is not None:
        yield "set community none"


def border_list(group: str, direction: Direction) -> str:
    """The prefix list of a border's direction: ``BORDER-IN-<label>`` for the group ``BORDER-<label>``."""
    word = "IN" if direction is Direction.INCOMING else "OUT"
    return f"BORDER-{word}-{group.removeprefix('BORDER-')}"
