"""CW436 to CW438: several NCCL profiles, and what their nodes share."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.finding import Severity
from clusterwright.intent.traffic_classes import data_levels
from clusterwright.rules.rule import Problem, Subject, rule
from clusterwright.rules.spec.references import named_twice


@rule(
    code="CW436",
    severity=Severity.ERROR,
    title="nodes of two NCCL profiles",
    why="A node has one nccl.conf: one of the two profiles would be written for nobody.",
    mend="Name each node group in one profile.",
)
def nodes_of_two(subject: Subject) -> Iterator[Problem]:
    """Node groups that two profiles name."""
    for name, path in named_twice(subject.spec, subject.spec.nccl_profiles):
        yield Problem(path, f"Another NCCL profile is for {name} already.", "Name it in one of them.")


@rule(
    code="CW437",
    severity=Severity.ERROR,
    title="partition whose nodes have different NCCL profiles",
    why="A job may get nodes of both: its ranks then load two releases of NCCL, or settings that differ, and hang or"
    " fail.",
    mend="Give the groups of a partition one profile, or a partition each.",
    docs="Slurm gives a job any nodes of its partition. Groups with profiles of their own go into partitions of their"
    " own, which is what `scheduler` makes where no `partitions` are written.",
)
def mixed_partition(subject: Subject) -> Iterator[Problem]:
    """Slurm's partitions whose node groups do not all have the same NCCL profile, or none."""
    spec = subject.spec
    for part in (part for scheduler in spec.schedulers for part in scheduler.partitions):
        profiles = [spec.nccl(name) for name in part.nodes]
        if any(each != profiles[0] for each in profiles):
            message = f"A job in {part.name} may get nodes of {' and '.join(part.nodes)}, whose NCCL is told otherwise."
            yield Problem((*part.path, "nodes"), message, "Give them one profile, or a partition each.")


@rule(
    code="CW438",
    severity=Severity.ERROR,
    title="SHARP for data of several service levels",
    why="The aggregation manager gives sums one service level: those of the other profiles travel outside their class.",
    mend="Give all profiles on the fabric one `data_class`, or take `sharp` away.",
)
def sums_of_several_levels(subject: Subject) -> Iterator[Problem]:
    """Profiles on one InfiniBand fabric with SHARP whose data travels in different service levels."""
    spec = subject.spec
    for fabric in spec.fabrics:
        manager = fabric.subnet_manager
        if manager is not None and manager.sharp and len(levels := data_levels(spec, fabric)) > 1:
            told = " and ".join(map(str, levels))
            message = f"NCCL's data on {fabric.name} travels in service levels {told}, and SHARP's sums in one."
            yield Problem((*manager.path, "sharp"), message, "Give the profiles one `data_class`.")
