"""CW509 to CW512: InfiniBand partitions, against the zones whose isolation they carry."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from clusterwright.finding import Severity
from clusterwright.rules.rule import Problem, Subject, rule
from clusterwright.spec.fabric import Fabric
from clusterwright.spec.model import ClusterSpec
from clusterwright.spec.zone_reach import memberships_of, zones_of


def _zones_on(spec: ClusterSpec, fabric: Fabric) -> dict[str, list[str]]:
    """The node groups that a fabric attaches, by zone, in the spec's order."""
    attached = {attach.nodes for attach in fabric.attach}
    found: dict[str, list[str]] = {}
    for group in spec.node_groups:
        for zone in zones_of(spec, group.name) if group.name in attached else ():
            found.setdefault(zone, []).append(group.name)
    return found


@rule(
    code="CW509",
    severity=Severity.ERROR,
    title="default partition that joins all zones",
    why="Every port is in the default partition: full members of it reach each other, whatever other partitions say.",
    mend="Leave `default_membership` at limited, and put each zone into a partition.",
    docs="opensm makes everybody a full member when it has no partition file, and the SM alone when the file has no"
    " rule for the default partition. The file written here always has that rule. Limited members reach full ones only:"
    " the subnet managers. A fabric without `partitions` is one network, and its default membership is full.",
)
def open_default(subject: Subject) -> Iterator[Problem]:
    """Full default membership on fabrics that have partitions, or nodes of more than one zone."""
    for fabric in subject.spec.fabrics:
        manager = fabric.subnet_manager
        if manager is None or manager.default_membership != "full":
            continue
        zones = list(_zones_on(subject.spec, fabric))
        if fabric.partitions:
            yield Problem(
                (*manager.path, "default_membership"),
                f"Every port of {fabric.name} is a full member of the default partition; its partitions keep nobody"
                " apart.",
                "Take `default_membership: full` away.",
            )
        elif len(zones) > 1:
            yield Problem(
                (*fabric.path, "technology"),
                f"{fabric.name} has no partitions, and carries the zones {' and '.join(zones)}: nothing keeps them"
                " apart.",
                "Give each zone a partition.",
            )


@rule(
    code="CW510",
    severity=Severity.ERROR,
    title="partition that joins zones which no flow joins",
    why="Members of a partition reach each other with no packet filter between them.",
    mend="Put the zones into partitions of their own, list one under `limited`, or add the flow that allows it.",
    docs="Two members of a partition reach each other when at least one is a full member. Partitions are all the"
    " isolation there is on InfiniBand: packet filters on nodes see IP, and RDMA passes them by. Two limited"
    " zones in one partition, such as tenants that share a storage zone, do not reach each other.",
)
def joined_without_flow(subject: Subject) -> Iterator[Problem]:
    """Pairs of zones that a partition lets reach each other, and between which no flow is allowed."""
    flows = {frozenset((flow.source, flow.target)) for flow in subject.spec.flows}
    for fabric in subject.spec.fabrics:
        for partition in fabric.partitions:
            for one, other in combinations(partition.zones, 2):
                apart = partition.membership_of(one) == partition.membership_of(other) == "limited"
                if not apart and frozenset((one, other)) not in flows:
                    yield Problem(
                        (*partition.path, "zones", partition.zones.index(other)),
                        f"Partition {partition.name} joins {one} and {other}, between which no flow is allowed.",
                        f"Move {other} to a partition of its own, or make both of them limited.",
                    )


@rule(
    code="CW511",
    severity=Severity.ERROR,
    title="partition whose members cannot reach each other",
    why="Limited members reach full members only; without one, the partition carries nothing.",
    mend="Make one zone a full member, or take the partition away.",
)
def nobody_full(subject: Subject) -> Iterator[Problem]:
    """Partitions with limited members alone, and `limited` zones that are in no partition."""
    for fabric in subject.spec.fabrics:
        for partition in fabric.partitions:
            if partition.zones and all(partition.membership_of(zone) == "limited" for zone in partition.zones):
                message = f"All members of partition {partition.name} are limited: none reaches another."
                hint = "Write `membership: full`, and list those that stay limited under `limited`."
                yield Problem((*partition.path, "membership"), message, hint)
            for at, zone in enumerate(partition.limited):
                if zone not in partition.zones:
                    message = f"{zone} is not among the zones of partition {partition.name}."
                    yield Problem((*partition.path, "limited", at), message, "List it under `zones` as well.")


@rule(
    code="CW512",
    severity=Severity.WARNING,
    title="nodes in no partition",
    why="They are limited members of the default partition, and reach the subnet manager and nobody else.",
    mend="Add their zone to a partition, or detach them.",
)
def outside_partitions(subject: Subject) -> Iterator[Problem]:
    """Node groups on a fabric with limited default membership that no partition of it takes in."""
    spec = subject.spec
    for fabric in spec.fabrics:
        manager = fabric.subnet_manager
        if manager is None or manager.default_membership != "limited":
            continue
        inside = {group for partition in fabric.partitions for group in memberships_of(spec, partition)}
        for attach in fabric.attach:
            group = attach.nodes or ""
            if group != manager.nodes and group not in inside:
                message = f"{group} is in no partition of {fabric.name}, and reaches its subnet manager alone."
                yield Problem((*attach.path, "nodes"), message, "Add its zone to a partition.")
