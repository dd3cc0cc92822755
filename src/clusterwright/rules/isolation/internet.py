"""CW514, CW515: internet flows opening an isolated zone, or without a path."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from clusterwright.finding import Severity
from clusterwright.rules.isolation.flows import promised
from clusterwright.rules.rule import Problem, Subject, rule
from clusterwright.spec.isolation import Zone
from clusterwright.spec.model import ClusterSpec
from clusterwright.spec.zone_reach import InternetFlow, internet_flows, lives_on, members_of


@rule("CW514", Severity.ERROR)
def opened_beside(subject: Subject) -> Iterator[Problem]:
    """Flows between the internet and a zone sharing machines with an isolated zone."""
    spec = subject.spec
    for internet in internet_flows(spec):
        if internet.zone.isolated:
            continue  # CW520
        isolated = _isolated_with_the_same_machines(spec, internet.zone)
        if isolated is not None:
            message = (
                f"Flow {internet.flow.name} opens {internet.zone.name} to the internet, "
                f"and machines of it are in the isolated zone {isolated.name} too."
            )
            hint = f"{promised(spec, 'no-internet')} Give the flow to a zone of other machines."
            yield Problem((*internet.flow.path, _other_key(internet)), message, hint)


@rule("CW515", Severity.ERROR)
def internet_not_carried(subject: Subject) -> Iterator[Problem]:
    """Flows between the internet and a zone without a default route to it."""
    for internet in internet_flows(subject.spec):
        reason = _why_not_carried(subject, internet)
        if reason is not None:
            missing, hint = reason
            message = f"Flow {internet.flow.name} has no path between {internet.zone.name} and the internet: {missing}."
            yield Problem((*internet.flow.path, internet.key), message, hint)


def _other_key(internet: InternetFlow) -> str:
    """The key of the flow with the cluster's zone."""
    return "from" if internet.is_outward else "to"


def _isolated_with_the_same_machines(spec: ClusterSpec, zone: Zone) -> Zone | None:
    members = set(members_of(spec, zone))
    fabrics = {fabric.name for fabric in lives_on(spec, zone)}
    for other in spec.zones:
        if not other.isolated or other.name == zone.name:
            continue
        other_members = members_of(spec, other)
        shares_machines = bool(members.intersection(other_members))
        holds_whole_fabric = not other_members or not members
        shares_fabric = any(fabric.name in fabrics for fabric in lives_on(spec, other))
        if shares_machines or (holds_whole_fabric and shares_fabric):
            return other
    return None


def _why_not_carried(subject: Subject, internet: InternetFlow) -> tuple[str, str] | None:
    """The missing condition and its remedy; None for a zone with a default route on its nodes."""
    spec = subject.spec
    members = members_of(spec, internet.zone)
    if not members:
        return (
            "it has no nodes, and switches get no default route",
            "Name a zone with `nodes`, and use a proxy on one of them for the switches.",
        )
    plain = [fabric for fabric in lives_on(spec, internet.zone) if fabric.technology == "ethernet"]
    if not plain:
        return "no plain Ethernet fabric of it has addresses", "Attach its nodes to a fabric of technology ethernet."
    border_by_fabric = _border_by_fabric(subject)
    for fabric in plain:
        if fabric.name in border_by_fabric:
            border = border_by_fabric[fabric.name]
            return (
                f"{fabric.name} learns its routes at border {border}, and no default route is accepted there",
                "List the destination networks in a zone with `prefixes` behind the border, or use a proxy there.",
            )
    return None


def _border_by_fabric(subject: Subject) -> Mapping[str, str]:
    """The first border of each fabric with borders."""
    fabric_by_switch: dict[str, str] = {}
    for skeleton in subject.skeleton.fabrics:
        fabric_by_switch.update((seat.name, skeleton.fabric.name) for seat in skeleton.seats)
    border_names: dict[str, str] = {}
    for border in subject.spec.borders:
        if border.device in fabric_by_switch:
            border_names.setdefault(fabric_by_switch[border.device], border.name)
    return border_names
