"""Borders on an EOS switch: the port, the session, its prefix lists and its access lists."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from clusterwright.finding import ClusterwrightError
from clusterwright.intent.borders import border_filter, borders_of
from clusterwright.intent.routing_policy import border_policies
from clusterwright.intent.switch_sessions import RouteLimit
from clusterwright.switches.eos.writer.authentication import password_of
from clusterwright.switches.eos.writer.filters import WORDS, AccessList, applied, both_versions
from clusterwright.switches.eos.writer.policy import EosRouteMapTerm, route_map_terms

if TYPE_CHECKING:
    from clusterwright.intent.switch import SwitchView
    from clusterwright.plan.model import Plan
    from clusterwright.spec.ethernet import SessionAuthentication
    from clusterwright.spec.isolation import Border

IN, OUT = "BORDER-IN-", "BORDER-OUT-"


class BorderError(ClusterwrightError):
    """A border at a port in use."""


@dataclass(frozen=True, slots=True)
class EosBorder:
    """A border; ``label`` is its name in lists and route maps, prefixes are entries of prefix lists."""

    name: str
    label: str
    port: str
    speed_gbps: int
    address: str
    neighbour: str
    remote_as: int
    filters: tuple[str, ...]
    lists: tuple[AccessList, ...]
    learnt: tuple[str, ...]
    announced: tuple[str, ...]
    limit: RouteLimit
    authentication: SessionAuthentication | None
    terms: tuple[EosRouteMapTerm, ...]
    """Entries of its two route maps."""

    @property
    def group(self) -> str:
        """The session's peer group, with its name in its route maps."""
        return group_of(self.label)

    @property
    def password(self) -> str | None:
        """The words behind the peer group's ``password``; None for a session without authentication."""
        return password_of(self.group, self.authentication)


def group_of(label: str) -> str:
    """The peer group of a border's session by the border's label."""
    return f"BORDER-{label}"


def eos_borders(plan: Plan, view: SwitchView) -> tuple[EosBorder, ...]:
    """The borders of one switch. Raises BorderError for a port with a planned cable."""
    return tuple(_border(plan, view, border) for border in borders_of(plan, view.device))


def _border(plan: Plan, view: SwitchView, border: Border) -> EosBorder:
    cabled = next((link for link in view.links if link.port.port == border.port), None)
    if cabled is not None:
        where = f"{border.device} {border.port}"
        raise BorderError(f"border {border.name}: {where} is cabled to {cabled.far_end}; name a port that is free")
    filter_of_border = border_filter(plan, border)
    label = border.name.upper()
    learnt = len(filter_of_border.learnt)
    policies = border_policies(group_of(label), is_drained=view.is_drained)
    return EosBorder(
        name=border.name,
        label=label,
        port=border.port,
        speed_gbps=border.speed_gbps,
        address=str(border.address),
        neighbour=str(border.neighbour),
        remote_as=border.asn,
        filters=(*applied(IN + label, "in"), *applied(OUT + label, "out")),
        lists=(
            *both_versions(IN + label, filter_of_border.incoming),
            *both_versions(OUT + label, filter_of_border.outgoing),
        ),
        learnt=tuple(f"{network} eq {network.prefixlen}" for network in filter_of_border.learnt),
        announced=tuple(f"{network} eq {length}" for network, length in filter_of_border.announced),
        limit=RouteLimit(learnt + 1, 2 * learnt + 1),
        authentication=border.authentication,
        terms=route_map_terms(policies, WORDS[view.version]),
    )
