"""CW338, CW616, CW617 and CW618: what a spec asks of a scheduler that is another one, or that nobody runs."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.finding import Severity
from clusterwright.rules.rule import Problem, Subject, rule
from clusterwright.spec.text.document import Path

_SLURM_KEYS: tuple[Path, ...] = (
    *((key,) for key in ("plugin", "leaf", "block_sizes", "partitions", "munge", "accounting")),
    *(("controllers", key) for key in ("state", "shared_by")),
)


@rule("CW616", Severity.ERROR)
def key_of_another_scheduler(subject: Subject) -> Iterator[Problem]:
    """Slurm's keys where Kueue alone places jobs."""
    for scheduler in (each for each in subject.spec.schedulers if each.slurm is None):
        for key in _SLURM_KEYS:
            path = (*scheduler.path, *key)
            if subject.spec.document.at(path) is not None:
                yield Problem(path, f"Kueue has no `{key[-1]}`, which is Slurm's.", subject.take_away(path), key=True)


@rule("CW617", Severity.ERROR)
def scheduler_without_a_controller(subject: Subject) -> Iterator[Problem]:
    """A scheduler in a spec that has no service machine."""
    spec = subject.spec
    for scheduler in spec.schedulers:
        name = "Slurm" if scheduler.slurm is not None else "Kueue"
        wanted = scheduler.controllers
        if wanted.nodes is None and not any(group.role == "service" for group in spec.node_groups):
            message = f"No machine runs {name}'s controller: no node group has the role `service`."
            yield Problem(scheduler.path, message, "Add a node group with `role: service`.")
        group = spec.node_group(wanted.nodes or "")
        if group is not None and group.count < wanted.count:
            message = f"{name} is to have {wanted.count} controllers, and {group.name} has {group.count} machines."
            yield Problem((*wanted.path, "count"), message, f"Write {group.count}, or add machines to {group.name}.")


@rule("CW618", Severity.ERROR)
def boots_without_slurm(subject: Subject) -> Iterator[Problem]:
    """`rollout.boots` where Slurm places no jobs."""
    spec = subject.spec
    if spec.rollout.boots is not None and all(each.slurm is None for each in spec.schedulers):
        message = "Nodes are to be booted by Slurm, which does not place jobs here."
        yield Problem(
            ("rollout", "boots"), message, "Add `scheduler: {kind: slurm, ...}`, or take `boots` away.", key=True
        )


@rule("CW338", Severity.ERROR)
def daemons_without_a_key(subject: Subject) -> Iterator[Problem]:
    """Slurm without a word on where munge's key comes from."""
    for scheduler in subject.spec.schedulers:
        if scheduler.slurm is not None and scheduler.slurm.munge is None:
            message = "Nobody brings the key that slurmctld and slurmd know each other by."
            yield Problem(scheduler.path, message, "Write `munge: {secret: NAME}`, or `munge: {by_site: ...}`.")
