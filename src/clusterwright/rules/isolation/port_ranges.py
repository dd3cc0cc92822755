"""CW513 and CW693: port ranges not enforced by switch filters, and filters larger than the chip's tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from clusterwright.finding import Severity
from clusterwright.intent.edge_filters import TablesShort, too_full
from clusterwright.intent.filter_bound import surely_fit
from clusterwright.rules.rule import Problem, Subject, rule
from clusterwright.spec.attachment import attached_tier
from clusterwright.spec.fabric import Fabric, Tier
from clusterwright.spec.hardware.systems import system_of
from clusterwright.spec.isolation import Flow, Zone
from clusterwright.spec.model import ClusterSpec
from clusterwright.spec.zone_reach import lives_on, members_of

# The longest range listed port by port in filters without range matching.
MOST_PORTS = 64


@rule("CW513", Severity.ERROR)
def opened_whole(subject: Subject) -> Iterator[Problem]:
    """Flows with a long port range over switches without range matching, to or from hosts without an image."""
    spec = subject.spec
    for flow in spec.flows:
        if all(high - low < MOST_PORTS for low, high in flow.ports):
            continue
        for tier, group in _open(spec, flow):
            message = f"Flow {flow.name}: {tier} passes every port, and {group} has no filter of its own."
            yield Problem((*flow.path, "ports"), message, f"Give {group} an `image`, or write shorter ranges.")
            break


def _open(spec: ClusterSpec, flow: Flow) -> Iterator[tuple[str, str]]:
    """The tiers passing a flow or its replies with any port, each with a node group receiving them."""
    source, target = spec.zone(flow.source), spec.zone(flow.target)
    if source is None or target is None:
        return
    for sender, receiver in ((source, target), (target, source)):
        common = {fabric.name for fabric in lives_on(spec, receiver)}
        for fabric in lives_on(spec, sender):
            roles = [tier.role for tier in _edges(spec, sender, fabric) if not _has_ranges(tier)]
            if fabric.name not in common or not roles:
                continue
            for group in _unfiltered(spec, receiver, fabric):
                yield f"{roles[0]} of {fabric.name}", group


def _has_ranges(tier: Tier) -> bool:
    system = system_of(tier.model)
    return system is None or system.matches_ranges


def _edges(spec: ClusterSpec, zone: Zone, fabric: Fabric) -> Iterator[Tier]:
    """The tiers cabled to a zone's members; for a zone without members, to all hosts of the fabric."""
    members = members_of(spec, zone) or tuple(group.name for group in spec.node_groups)
    for attach in fabric.attach:
        for group in spec.node_groups:
            is_attached = attach.is_management or attach.nodes == group.name
            tier = attached_tier(fabric, attach, group) if is_attached and group.name in members else None
            if tier is not None:
                yield tier
        if attach.is_management:
            yield fabric.tiers[0]  # has the switches' management ports


def _unfiltered(spec: ClusterSpec, zone: Zone, fabric: Fabric) -> Iterator[str]:
    """The members of a zone on a fabric without a filter of their own; a management port never has one."""
    members = members_of(spec, zone) or tuple(group.name for group in spec.node_groups)
    attached_names = {attach.nodes for attach in fabric.attach}
    for group in spec.node_groups:
        is_attached_without_filter = group.name in attached_names and group.image is None
        if group.name in members and (fabric.is_management or is_attached_without_filter):
            yield group.name


@rule("CW693", Severity.ERROR)
def too_many_entries(subject: Subject) -> Iterator[Problem]:
    """Fabrics with more filter entries at a switch than its tables hold; one problem for each fabric."""
    spec = subject.spec
    if not _have_filter_tables(spec) or not spec.flows or not spec.zones or surely_fit(subject.filter_bound):
        return
    plan = subject.plan
    flows = {flow.name: flow for flow in spec.flows}
    fullest: dict[str, TablesShort] = {}
    count: Counter[str] = Counter()
    for shortage in too_full(plan):
        fabric = plan.by_name[shortage.switch].fabric
        count[fabric] += 1
        if fabric not in fullest or shortage.entries > fullest[fabric].entries:
            fullest[fabric] = shortage
    for fabric, shortage in fullest.items():
        largest = max(flows, key=lambda name: shortage.by_flow.get(name, 0))
        room, entries = shortage.room, shortage.by_flow.get(largest, 0)
        others = f" The same applies to {count[fabric] - 1:,} more switches of {fabric}." if count[fabric] > 1 else ""
        yield Problem(
            (*flows[largest].path, "name"),
            f"What hosts behind {shortage.switch} may send takes {shortage.entries:,} filter entries in"
            f" {shortage.tables - 1} tables beside that of the denies; {shortage.model} takes {room.tables}"
            f" tables of {room.entries:,} in all. Flow {largest} takes {entries:,} of the entries.{others}",
            "Name fewer ports, join flows, or put zones together.",
        )


def _have_filter_tables(spec: ClusterSpec) -> bool:
    """True if a switch of the spec has filter tables of known size."""
    for tier in spec.tiers:
        system = system_of(tier.model)
        if system is not None and system.filter_tables is not None:
            return True
    return False
