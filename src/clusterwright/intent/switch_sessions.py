"""The BGP sessions of a switch, and what each neighbour may be expected to say.

The number of routes that a neighbour announces follows from the plan, so a session that brings more is a leak or a
mistake: from above every prefix of the fabric, from below the prefixes of the switches under that neighbour. Every
switch warns when they are exceeded by a tenth, and ends the session at twice as many, before tables overflow.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from clusterwright.intent.borders import learnt_at
from clusterwright.intent.per_plan import per_plan
from clusterwright.plan.model import fabric_of, format_address
from clusterwright.spec.hardware.systems import system_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from clusterwright.intent.switch_links import Link
    from clusterwright.plan.model import Device, Plan
    from clusterwright.spec.authentication import SessionAuthentication

# A session between two ports of one cable ends with the link too: BFD adds the case of light without packets.
BFD_INTERVAL_MS = 300
BFD_MULTIPLIER = 3
KEEPALIVE_S = 10
HOLD_TIME_S = 30
# How long neighbours keep forwarding over a switch whose BGP restarts (RFC 4724): a daemon's restart, not a reload.
GRACEFUL_RESTART_S = 120


@dataclass(frozen=True, slots=True)
class PlannedSession:
    """An eBGP session over one link: addresses as text, the neighbour's AS number, and ``side`` up or down.

    ``routes`` is how many prefixes the neighbour announces by the plan, ``bfd`` whether both ends speak BFD.
    ``authentication`` is that of the lower end's uplinks, None where the session has none.
    """

    side: str
    local: str
    remote: str
    remote_as: int
    neighbour: str
    description: str
    routes: int
    bfd: bool
    authentication: SessionAuthentication | None


@dataclass(frozen=True, slots=True)
class RouteLimit:
    """How many routes from one neighbour make a switch warn, and at how many it ends the session."""

    warning: int
    maximum: int


def sessions_of(plan: Plan, device: Device, links: Iterable[Link]) -> tuple[PlannedSession, ...]:
    """The sessions over the links that are up, in the order of the links."""
    version = plan.address_version(device.fabric)
    found = []
    for link in links:
        peer = link.peer_device
        if device.asn is None or peer.asn is None or not (link.is_to_switch and link.is_up):
            continue
        if link.port.address is None or link.peer.address is None:
            continue
        found.append(
            PlannedSession(
                side=link.port.side,
                local=format_address(link.port.address, version),
                remote=format_address(link.peer.address, version),
                remote_as=peer.asn,
                neighbour=peer.name,
                description=link.far_end,
                routes=_prefixes_below(plan, peer.name) if link.port.side == "down" else _prefixes(plan, device.fabric),
                bfd=link.lower_tier is not None
                and (link.lower_tier.role, link.cable.tier) in _watched(plan, device.fabric),
                authentication=_authentication(link),
            )
        )
    return tuple(found)


def _authentication(link: Link) -> SessionAuthentication | None:
    """What the tier under a link says of the sessions over its uplinks."""
    up = link.lower_tier.up if link.lower_tier is not None else None
    return None if up is None else up.authentication


@per_plan
def _watched(plan: Plan, name: str) -> frozenset[tuple[str, int]]:
    """The pairs of tiers of a fabric, the lower's role and the upper's index, whose sessions BFD watches.

    A switch's sessions of one side are one peer group, which has BFD or has not. So a tier that cannot speak it takes
    it from all that share a group with it, at either end, and from those that share one with these.
    """
    fabric = fabric_of(plan, name)
    pairs = {
        (tier.role, cable.tier)
        for cable in plan.cables
        if cable.fabric == name and (tier := plan.lower_tier(cable)) is not None
    }
    able = {tier.role for tier in fabric.tiers if (system := system_of(tier.model)) is not None and system.has_bfd}
    left = {pair for pair in pairs if {pair[0], fabric.tiers[pair[1]].role} <= able}
    while bare := {pair for pair in left for other in pairs - left if pair[0] == other[0] or pair[1] == other[1]}:
        left -= bare
    return frozenset(left)


def route_limit(sessions: Sequence[PlannedSession]) -> RouteLimit:
    """One limit for neighbours of a kind: that of the one which announces most. Expects at least one session."""
    most = max(session.routes for session in sessions)
    return RouteLimit(most + most // 10 + 1, 2 * most + 1)


@per_plan
def _own_prefixes(plan: Plan, fabric: str) -> dict[str, int]:
    """How many prefixes each switch of a fabric brings in: its loopback, its host subnet, and those of its borders."""
    outside = Counter[str]()
    for border in plan.spec.borders:
        outside[border.device] += len(learnt_at(plan, border))
    return {
        device.name: (device.loopback is not None)
        + ((fabric, device.name) in plan.host_subnet_of)
        + outside[device.name]
        for device in plan.devices
        if device.kind == "switch" and device.fabric == fabric
    }


@per_plan
def _prefixes(plan: Plan, fabric: str) -> int:
    return sum(_own_prefixes(plan, fabric).values())


@per_plan
def _prefixes_below(plan: Plan, name: str) -> int:
    """The prefixes of a switch and of all switches under it."""
    own = _own_prefixes(plan, plan.by_name[name].fabric)
    return sum(own[each] for each in _under(plan, name))


@per_plan
def _under(plan: Plan, name: str) -> frozenset[str]:
    """A switch and all switches that it reaches going down."""
    found = {name}
    for cable in plan.cables_of[name]:
        if cable.b.device == name and cable.a.side == "up":
            found |= _under(plan, cable.a.device)
    return frozenset(found)
