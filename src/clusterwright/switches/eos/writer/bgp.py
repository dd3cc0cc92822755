"""BGP on an EOS switch: peer groups by tier, neighbours, and the policies of both directions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from clusterwright.intent.switch_sessions import (
    BFD_INTERVAL_MS,
    BFD_MULTIPLIER,
    GRACEFUL_RESTART_S,
    HOLD_TIME_S,
    KEEPALIVE_S,
    PlannedSession,
    RouteLimit,
    route_limit,
)
from clusterwright.switches.eos.writer.authentication import password_of
from clusterwright.switches.eos.writer.policy import EosRouteMapTerm, route_map_terms
from clusterwright.text.places import PLACE, as_format
from clusterwright.text.templates import template

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from clusterwright.intent.switch import SwitchView
    from clusterwright.switches.eos.writer.borders import EosBorder


@dataclass(frozen=True, slots=True)
class EosPeerGroup:
    """The neighbours of one tier; ``side`` is UP or DOWN and names the route maps; no ``limit`` without a session.

    ``password`` are the words after ``password``, None for sessions without authentication.
    """

    name: str
    side: str
    bfd: bool
    password: str | None
    limit: RouteLimit | None


@dataclass(frozen=True, slots=True)
class EosBgp:
    """The BGP process; ``networks`` are the switch's own prefixes, ``neighbours`` the lines of its sessions."""

    asn: int
    router_id: str
    paths: int
    marks_routes: bool
    """True if a neighbour above learns marked routes alone."""
    side_terms: tuple[EosRouteMapTerm, ...]
    """Entries of the route maps of neighbours in the fabric."""
    groups: tuple[EosPeerGroup, ...]
    neighbours: str
    networks: tuple[str, ...]
    keepalive_s: int = KEEPALIVE_S
    hold_time_s: int = HOLD_TIME_S
    restart_s: int = GRACEFUL_RESTART_S
    bfd_ms: int = BFD_INTERVAL_MS
    bfd_multiplier: int = BFD_MULTIPLIER


def eos_bgp(view: SwitchView, borders: tuple[EosBorder, ...]) -> EosBgp | None:
    """The BGP process of a switch, with the sessions of its borders; None without a neighbour."""
    if view.device.asn is None or view.router_id is None or not (view.bgp_sides or borders):
        return None
    role_by_peer = {link.peer.device: link.peer_device.role.upper() for link in view.links}
    return EosBgp(
        asn=view.device.asn,
        router_id=view.router_id,
        paths=view.ecmp_width,
        marks_routes="up" in view.bgp_sides,
        side_terms=route_map_terms(view.routing_policies, "ip" if view.version == 4 else "ipv6"),
        groups=(*_fabric_groups(view, role_by_peer), *(_border_group(border) for border in borders)),
        neighbours="".join(_neighbours(view, borders, role_by_peer)),
        networks=tuple(origin.text for origin in view.origins),
    )


def _fabric_groups(view: SwitchView, role_by_peer: Mapping[str, str]) -> Iterator[EosPeerGroup]:
    """A peer group for each role of neighbouring switches, by name."""
    side_by_role = {link.peer_device.role.upper(): link.port.side.upper() for link in view.links if link.is_to_switch}
    for role, side in sorted(side_by_role.items()):
        sessions = [session for session in view.sessions if role_by_peer[session.neighbour] == role]
        yield _group(role, side, sessions)


def _border_group(border: EosBorder) -> EosPeerGroup:
    return EosPeerGroup(
        name=border.group,
        side=border.group,
        bfd=False,
        password=border.password,
        limit=border.limit,
    )


def _neighbours(view: SwitchView, borders: Iterable[EosBorder], role_by_peer: Mapping[str, str]) -> Iterator[str]:
    """The lines of each session: those in the fabric, then those of borders."""
    for session in view.sessions:
        yield _neighbour(
            address=session.remote,
            group=role_by_peer[session.neighbour],
            remote_as=session.remote_as,
            description=session.description,
        )
    for border in borders:
        yield _neighbour(
            address=border.neighbour,
            group=border.group,
            remote_as=border.remote_as,
            description=f"border {border.name}",
        )


def _neighbour(*, address: str, group: str, remote_as: int, description: str) -> str:
    """The lines of a session."""
    return _neighbour_lines() % (address, group, address, remote_as, address, description)


@cache
def _neighbour_lines() -> str:
    """The template of a session's lines as a format string, rendered once for all sessions."""
    places = dict.fromkeys(("address", "group", "remote_as", "description"), PLACE)
    return as_format(template("eos/neighbour.j2").render(neighbour=places))


def _group(role: str, side: str, sessions: list[PlannedSession]) -> EosPeerGroup:
    return EosPeerGroup(
        name=role,
        side=side,
        bfd=bool(sessions) and all(session.bfd for session in sessions),
        password=password_of(role, sessions[0].authentication) if sessions else None,
        limit=route_limit(sessions) if sessions else None,
    )
