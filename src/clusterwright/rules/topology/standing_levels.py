"""CW709: invalid levels for the switches of a tier to stand at."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.finding import Severity
from clusterwright.rules.rule import Problem, Subject, rule
from clusterwright.spec.fabric import Fabric
from clusterwright.spec.model import CLUSTER, ClusterSpec, NodeGroup


@rule("CW709", Severity.ERROR)
def impossible_standing_level(subject: Subject) -> Iterator[Problem]:
    """`stands` levels other than the tier's own level or one around it."""
    spec = subject.spec
    for fabric in spec.fabrics:
        served = served_groups(spec, fabric)
        for tier in fabric.tiers:
            if tier.stands is None:
                continue
            for levels in _levels_from(tier.per, served):
                if tier.stands in levels:
                    continue
                yield Problem(
                    (*tier.path, "stands"),
                    f"{tier.role} switches serve a whole {tier.per}, which lies in no {tier.stands}.",
                    f"Name {' or '.join(levels)}, or leave out `stands`.",
                )
                break


def served_groups(spec: ClusterSpec, fabric: Fabric) -> list[NodeGroup]:
    """The node groups attached to a fabric."""
    names = {attach.nodes for attach in fabric.attach}
    return [group for group in spec.node_groups if group.name in names or None in names]


def _levels_from(level: str, groups: list[NodeGroup]) -> Iterator[list[str]]:
    """For each node group with a level, that level and those around it, smallest first."""
    if level == CLUSTER:
        yield [CLUSTER]
        return
    for group in groups:
        names = [candidate.name for candidate in group.levels]
        if level in names:
            yield [*names[names.index(level) :], CLUSTER]
