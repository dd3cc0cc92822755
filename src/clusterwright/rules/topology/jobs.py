"""CW220: jobs against the machines that they are meant for."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.finding import Severity
from clusterwright.rules.rule import Problem, Subject, rule


@rule("CW220", Severity.ERROR)
def oversized_job(subject: Subject) -> Iterator[Problem]:
    """Each job's ranks against the GPUs of its node group."""
    for job in subject.spec.jobs:
        group = subject.spec.node_group(job.nodes)
        if group is None:
            continue
        gpus = group.model.gpus.count if group.model.gpus is not None else 0
        if not gpus:
            yield Problem((*job.path, "nodes"), f"{job.nodes} have no GPUs.", "Name nodes with GPUs.")
        elif job.ranks > gpus * group.count:
            message = f"{job.name} has {job.ranks:,} ranks, but {job.nodes} have {gpus * group.count:,} GPUs."
            yield Problem((*job.path, "axes"), message, "Shorten an axis.", key=True)
        elif job.ranks % gpus:
            message = f"{job.name} has {job.ranks:,} ranks, which are not whole nodes of {gpus} GPUs."
            yield Problem((*job.path, "axes"), message, f"Make the product of its axes a multiple of {gpus}.", key=True)
