"""CW509 to CW512: InfiniBand partitions, compared with the zones they isolate."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, combinations

from clusterwright.finding import Severity
from clusterwright.rules.rule import Problem, Subject, rule
from clusterwright.spec.fabric import Fabric
from clusterwright.spec.model import ClusterSpec
from clusterwright.spec.zone_reach import memberships_of, zones_of


def _zones_on(spec: ClusterSpec, fabric: Fabric) -> dict[str, list[str]]:
    """The node groups attached to a fabric, by zone, in the spec's order."""
    attached = {attach.nodes for attach in fabric.attach}
    zones: dict[str, list[str]] = {}
    for group in spec.node_groups:
        if group.name in attached:
            for zone in zones_of(spec, group.name):
                zones.setdefault(zone, []).append(group.name)
    return zones


@rule("CW509", Severity.ERROR)
def open_default(subject: Subject) -> Iterator[Problem]:
    """Full default membership on fabrics with partitions or nodes of several zones."""
    for fabric in subject.spec.fabrics:
        manager = fabric.subnet_manager
        if manager is None or manager.default_membership != "full":
            continue
        zones = list(_zones_on(subject.spec, fabric))
        if fabric.partitions:
            yield Problem(
                (*manager.path, "default_membership"),
                f"Every port of {fabric.name} is a full member of the default partition; its partitions separate"
                " no ports.",
                "Remove `default_membership: full`.",
            )
        elif len(zones) > 1:
            yield Problem(
                (*fabric.path, "technology"),
                f"{fabric.name} has no partitions, and carries the zones {' and '.join(zones)}: nothing separates"
                " them.",
                "Give each zone a partition.",
            )


@rule("CW510", Severity.ERROR)
def joined_without_flow(subject: Subject) -> Iterator[Problem]:
    """Pairs of zones joined by a partition without a flow between them."""
    flows = {frozenset((flow.source, flow.target)) for flow in subject.spec.flows}
    for fabric in subject.spec.fabrics:
        for partition in fabric.partitions:
            for pair in combinations(partition.zones, 2):
                are_limited = all(partition.membership_of(zone) == "limited" for zone in pair)
                if are_limited or frozenset(pair) in flows:
                    continue
                first, second = pair
                yield Problem(
                    (*partition.path, "zones", partition.zones.index(second)),
                    f"Partition {partition.name} joins {first} and {second}, between which no flow is allowed.",
                    f"Move {second} to a partition of its own, or make both of them limited.",
                )


@rule("CW511", Severity.ERROR)
def without_full_member(subject: Subject) -> Iterator[Problem]:
    """Partitions of limited members alone, and `limited` zones missing in their partition."""
    for fabric in subject.spec.fabrics:
        for partition in fabric.partitions:
            if partition.zones and all(partition.membership_of(zone) == "limited" for zone in partition.zones):
                message = f"All members of partition {partition.name} are limited: none reaches another."
                hint = "Write `membership: full`, and list those that stay limited under `limited`."
                yield Problem((*partition.path, "membership"), message, hint)
            for index, zone in enumerate(partition.limited):
                if zone not in partition.zones:
                    message = f"{zone} is not among the zones of partition {partition.name}."
                    yield Problem((*partition.path, "limited", index), message, "List it under `zones` as well.")


@rule("CW512", Severity.WARNING)
def outside_partitions(subject: Subject) -> Iterator[Problem]:
    """Node groups without a partition, on a fabric with limited default membership."""
    spec = subject.spec
    for fabric in spec.fabrics:
        manager = fabric.subnet_manager
        if manager is None or manager.default_membership != "limited":
            continue
        inside = set(chain.from_iterable(memberships_of(spec, partition) for partition in fabric.partitions))
        for attach in fabric.attach:
            group = attach.nodes or ""
            if group != manager.nodes and group not in inside:
                message = f"{group} is in no partition of {fabric.name}, and reaches its subnet manager alone."
                yield Problem((*attach.path, "nodes"), message, "Add its zone to a partition.")
