"""CW427: the InfiniBand partition of a profile's data, for nodes in several partitions."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.finding import Severity
from clusterwright.rules.rule import Problem, Subject, rule
from clusterwright.rules.spec.references import unknown
from clusterwright.spec.fabric import Fabric
from clusterwright.spec.job import NcclProfile
from clusterwright.spec.model import ClusterSpec
from clusterwright.spec.zone_reach import data_partitions, memberships_of


@rule("CW427", Severity.ERROR)
def partition_of_data(subject: Subject) -> Iterator[Problem]:
    """Profiles with an unknown or limited partition, or without one though their nodes are in several."""
    for nccl in subject.spec.nccl_profiles:
        fabric = subject.spec.fabric(nccl.fabric)
        if fabric is None:
            continue
        names = [partition.name for partition in fabric.partitions]
        if nccl.partition is None:
            yield from _undecided(subject.spec, nccl, fabric)
        elif nccl.partition not in names:
            yield unknown("partition", nccl.partition, names, (*nccl.path, "partition"), fabric.name)
        else:
            yield from _not_full(subject.spec, nccl, fabric)


def _undecided(spec: ClusterSpec, nccl: NcclProfile, fabric: Fabric) -> Iterator[Problem]:
    for nodes in nccl.nodes:
        partitions = [data_partition.name for data_partition in data_partitions(spec, nccl, nodes)]
        if len(partitions) > 1:
            message = f"{nodes} is a full member of {' and '.join(partitions)} on {fabric.name}: NCCL uses one of them."
            yield Problem(
                (*nccl.path, "fabric"), message, f"Name it under `partition`, such as `partition: {partitions[0]}`."
            )
            return


def _not_full(spec: ClusterSpec, nccl: NcclProfile, fabric: Fabric) -> Iterator[Problem]:
    partition = next(partition for partition in fabric.partitions if partition.name == nccl.partition)
    members = memberships_of(spec, partition)
    for nodes in nccl.nodes:
        if members.get(nodes) != "full":
            role = "a limited member" if nodes in members else "no member"
            message = f"{nodes} is {role} of {partition.name}: its nodes do not reach each other in it."
            yield Problem((*nccl.path, "partition"), message, "Name a partition with full membership of its zone.")
