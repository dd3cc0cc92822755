"""The BGP sessions of a switch, with the expected number of routes from each neighbour.

The number of routes from a neighbour follows from the plan, so a session that brings more is a leak or a mistake: from
above every prefix of the fabric, from below the prefixes of the switches under that neighbour. Every switch warns when
they are exceeded by a tenth, and ends the session at twice as many, before tables overflow.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from clusterwright.intent.borders import learnt_at
from clusterwright.intent.per_plan import per_plan
from clusterwright.intent.switch_links import link_over
from clusterwright.plan.model import fabric_of, format_address
from clusterwright.spec.hardware.systems import system_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from clusterwright.intent.switch_links import Link
    from clusterwright.plan.model import Device, Plan
    from clusterwright.spec.ethernet import SessionAuthentication

# A session between two ports of one cable ends with the link too: BFD adds the case of light without packets.
BFD_INTERVAL_MS = 300
BFD_MULTIPLIER = 3
KEEPALIVE_S = 10
HOLD_TIME_S = 30
# How long neighbours keep forwarding over a switch whose BGP restarts (RFC 4724): a daemon's restart, not a reload.
GRACEFUL_RESTART_S = 120


class PlannedSession(NamedTuple):
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
    """The sessions over working links, in the order of the links."""
    version = plan.address_version(device.fabric)
    unwatched, above = _unwatched(plan, device.fabric), _prefixes(plan, device.fabric)
    sessions = []
    for link, local, remote, remote_as in _routed(device, links):
        routes = _prefixes_below(plan, link.peer_device.name) if link.port.side == "down" else above
        session = PlannedSession(
            side=link.port.side,
            local=local,
            remote=format_address(remote, version),
            remote_as=remote_as,
            neighbour=link.peer_device.name,
            description=link.far_end,
            routes=routes,
            bfd=(device.name, link.port.side) not in unwatched,
            authentication=_authentication(link),
        )
        sessions.append(session)
    return tuple(sessions)


def _routed(device: Device, links: Iterable[Link]) -> Iterator[tuple[Link, str, int, int]]:
    """The links with a session, each with both addresses, its own as text, and the far end's AS number."""
    if device.asn is None:
        return
    for link in links:
        if not link.is_to_switch or not link.is_up:
            continue
        local, remote, remote_as = link.address, link.peer.address, link.peer_device.asn
        if local is not None and remote is not None and remote_as is not None:
            yield link, local, remote, remote_as


def _authentication(link: Link) -> SessionAuthentication | None:
    """Authentication of sessions over a link, set by the tier under it for its uplinks."""
    up = link.lower_tier.up if link.lower_tier is not None else None
    return None if up is None else up.authentication


@per_plan
def _unwatched(plan: Plan, fabric: str) -> frozenset[tuple[str, str]]:
    """The peer groups of a fabric, by switch and side, with sessions but without BFD.

    A switch's sessions of one side are one peer group, with BFD on all sessions or on none. So a switch without BFD
    excludes it from every group of its sessions, and from the groups at the far ends of those groups' other sessions.
    """
    roles_with_bfd = _roles_with_bfd(plan, fabric)
    switches = [device for device in plan.devices if device.kind == "switch" and device.fabric == fabric]
    unvisited: list[tuple[str, str]] = []
    for device in switches:
        if device.role not in roles_with_bfd:
            unvisited += [(device.name, "down"), (device.name, "up")]
    groups = set(unvisited)
    while unvisited:
        name, side = unvisited.pop()
        for cable in plan.cables_of[name]:
            near, far = (cable.a, cable.b) if cable.a.device == name else (cable.b, cable.a)
            group = far.device, far.side
            if near.side != side or cable.a.side != "up" or group in groups:
                continue
            if any(_routed(plan.by_name[name], (link_over(plan, cable, near, far),))):
                groups.add(group)
                unvisited.append(group)
    return frozenset(groups)


def _roles_with_bfd(plan: Plan, fabric: str) -> set[str]:
    """The roles of the tiers whose system speaks BFD."""
    roles = set()
    for tier in fabric_of(plan, fabric).tiers:
        system = system_of(tier.model)
        if system is not None and system.has_bfd:
            roles.add(tier.role)
    return roles


def route_limit(sessions: Sequence[PlannedSession]) -> RouteLimit:
    """One limit for neighbours of a kind, by the largest announcement. Expects at least one session."""
    most = max(session.routes for session in sessions)
    return RouteLimit(most + most // 10 + 1, 2 * most + 1)


@per_plan
def _own_prefixes(plan: Plan, fabric: str) -> dict[str, int]:
    """The number of prefixes that each switch of a fabric originates: loopback, host subnet, and those of borders."""
    prefixes: dict[str, int] = {}
    for device in plan.devices:
        if device.kind == "switch" and device.fabric == fabric:
            has_host_subnet = (fabric, device.name) in plan.host_subnet_of
            prefixes[device.name] = int(device.loopback is not None) + int(has_host_subnet)
    for border in plan.spec.borders:
        if border.device in prefixes:
            prefixes[border.device] += len(learnt_at(plan, border))
    return prefixes


@per_plan
def _prefixes(plan: Plan, fabric: str) -> int:
    return sum(_own_prefixes(plan, fabric).values())


@per_plan
def _prefixes_below(plan: Plan, name: str) -> int:
    """The prefixes of a switch and of all switches under it."""
    fabric = plan.by_name[name].fabric
    return _own_prefixes(plan, fabric)[name] + _prefixes_under(plan, fabric, _right_under(plan, name))


@per_plan
def _prefixes_under(plan: Plan, fabric: str, names: frozenset[str]) -> int:
    """The prefixes of these switches and of all under them; cached, since neighbouring switches share those below."""
    prefixes = _own_prefixes(plan, fabric)
    return sum(prefixes[switch] for switch in _with_all_under(plan, names))


@per_plan
def _with_all_under(plan: Plan, names: frozenset[str]) -> frozenset[str]:
    """These switches and all reachable from them downwards."""
    below = {_right_under(plan, name) for name in names}
    return names.union(*(_with_all_under(plan, group) for group in below if group))


@per_plan
def _right_under(plan: Plan, name: str) -> frozenset[str]:
    """The switches with uplinks to a switch."""
    uplinks = (cable for cable in plan.cables_of[name] if cable.a.side == "up")
    return frozenset(cable.a.device for cable in uplinks if cable.b.device == name)
