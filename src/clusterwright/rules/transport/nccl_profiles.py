"""CW436 to CW438: several NCCL profiles, and what their nodes share."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.finding import Severity
from clusterwright.intent.traffic_classes import data_levels
from clusterwright.rules.rule import Problem, Subject, rule
from clusterwright.rules.spec.references import named_twice


@rule("CW436", Severity.ERROR)
def nodes_of_two(subject: Subject) -> Iterator[Problem]:
    """Node groups that two profiles name."""
    for name, path in named_twice(subject.spec, subject.spec.nccl_profiles):
        yield Problem(path, f"Another NCCL profile is for {name} already.", "Name it in one of them.")


@rule("CW437", Severity.ERROR)
def mixed_partition(subject: Subject) -> Iterator[Problem]:
    """Slurm's partitions whose node groups do not all have the same NCCL profile, or none."""
    spec = subject.spec
    for part in (part for scheduler in spec.schedulers for part in scheduler.partitions):
        profiles = [spec.nccl(name) for name in part.nodes]
        if any(each != profiles[0] for each in profiles):
            message = f"A job in {part.name} may get nodes of {' and '.join(part.nodes)}, whose NCCL is told otherwise."
            yield Problem((*part.path, "nodes"), message, "Give them one profile, or a partition each.")


@rule("CW438", Severity.ERROR)
def sums_of_several_levels(subject: Subject) -> Iterator[Problem]:
    """Profiles on one InfiniBand fabric with SHARP whose data travels in different service levels."""
    spec = subject.spec
    for fabric in spec.fabrics:
        manager = fabric.subnet_manager
        if manager is not None and manager.sharp and len(levels := data_levels(spec, fabric)) > 1:
            told = " and ".join(map(str, levels))
            message = f"NCCL's data on {fabric.name} travels in service levels {told}, and SHARP's sums in one."
            yield Problem((*manager.path, "sharp"), message, "Give the profiles one `data_class`.")
