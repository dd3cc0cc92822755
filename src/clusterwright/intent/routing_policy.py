"""Routing policy: the routes accepted, marked and announced on each side, free of any system's words.

Routes climb and then descend. A route from below bears a mark, and only such routes and the switch's own are announced
upwards. A drained switch announces nothing and learns as before.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

FROM_BELOW_COMMUNITY = "64512:1"
"""The mark of a route that came from below. It is never sent to a neighbour."""


class Direction(StrEnum):
    """Direction of routes through a policy, as seen by the switch."""

    INCOMING = "incoming"
    OUTGOING = "outgoing"


class RouteSet(StrEnum):
    """A set of routes for a term to match."""

    OWN = "own"
    """Prefixes that the switch announces itself."""
    FABRIC = "fabric"
    """Host prefixes and loopbacks of the fabric, at exactly their lengths."""
    FROM_BELOW = "from-below"
    """Routes with the mark."""
    BORDER = "border"
    """Prefixes that the two sides of a border agreed upon for this direction."""
    ALL = "all"


class Mark(StrEnum):
    """The mark of a route after a term: it bears the community, or no longer does."""

    FROM_BELOW = "from-below"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class PolicyTerm:
    """One term of a policy: the first term with matching ``routes`` decides; an unmatched route is refused."""

    name: str
    routes: RouteSet
    is_permitted: bool = True
    mark: Mark | None = None
    """None leaves the mark as it was."""


@dataclass(frozen=True, slots=True)
class RoutePolicy:
    """Terms for one direction of the sessions with one group of neighbours."""

    group: str
    """``UP``, ``DOWN``, or the label of a border."""
    direction: Direction
    terms: tuple[PolicyTerm, ...]

    @property
    def name(self) -> str:
        """``FROM-UP`` or ``TO-UP``, the same on every system."""
        return f"{'FROM' if self.direction is Direction.INCOMING else 'TO'}-{self.group}"


DRAINED_TERMS = (PolicyTerm(name="drained", routes=RouteSet.ALL, is_permitted=False),)
OWN_TERM = PolicyTerm(name="own", routes=RouteSet.OWN)


def side_policies(side: str, *, is_drained: bool) -> tuple[RoutePolicy, RoutePolicy]:
    """The incoming and the outgoing policy of the neighbours above (``up``) or below (``down``) a switch."""
    if side == "down":
        incoming = PolicyTerm(name="fabric", routes=RouteSet.FABRIC, mark=Mark.FROM_BELOW)
        outgoing = (OWN_TERM, PolicyTerm(name="fabric", routes=RouteSet.FABRIC))
    else:
        incoming = PolicyTerm(name="fabric", routes=RouteSet.FABRIC, mark=Mark.NONE)
        outgoing = (OWN_TERM, PolicyTerm(name="from-below", routes=RouteSet.FROM_BELOW))
    return _policies(side.upper(), incoming, outgoing, is_drained=is_drained)


def border_policies(group: str, *, is_drained: bool) -> tuple[RoutePolicy, RoutePolicy]:
    """The incoming and the outgoing policy of a border. Routes from it go everywhere, like those from below."""
    incoming = PolicyTerm(name="border", routes=RouteSet.BORDER, mark=Mark.FROM_BELOW)
    outgoing = (PolicyTerm(name="border", routes=RouteSet.BORDER),)
    return _policies(group, incoming, outgoing, is_drained=is_drained)


def _policies(
    group: str, incoming: PolicyTerm, outgoing: tuple[PolicyTerm, ...], *, is_drained: bool
) -> tuple[RoutePolicy, RoutePolicy]:
    return (
        RoutePolicy(group, Direction.INCOMING, (incoming,)),
        RoutePolicy(group, Direction.OUTGOING, DRAINED_TERMS if is_drained else outgoing),
    )
