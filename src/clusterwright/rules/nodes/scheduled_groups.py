"""CW268 to CW273: several node groups and several schedulers, and who runs the controllers."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.finding import Severity
from clusterwright.intent.needs.jobs import controller_group
from clusterwright.rules.rule import Problem, Subject, rule
from clusterwright.rules.spec.references import named_groups, named_twice
from clusterwright.spec.job import Scheduler
from clusterwright.spec.model import ClusterSpec


@rule("CW268", Severity.ERROR)
def nodes_of_two(subject: Subject) -> Iterator[Problem]:
    """Node groups that two schedulers name."""
    for name, path in named_twice(subject.spec, subject.spec.schedulers):
        yield Problem(path, f"Another scheduler places jobs on {name} already.", "Name it in one of them.")


@rule("CW269", Severity.ERROR)
def shared_controllers(subject: Subject) -> Iterator[Problem]:
    """Node groups whose machines would run daemons of two schedulers of a kind."""
    spec = subject.spec
    for kind in ("Slurm", "Kueue"):
        taken: set[str] = set()
        for scheduler in spec.schedulers:
            if (scheduler.slurm if kind == "Slurm" else scheduler.kueue) is None:
                continue
            own = set(_hosts(spec, scheduler, with_records=kind == "Slurm"))
            for name in sorted(own & taken):
                path = scheduler.controllers.path if scheduler.controllers.nodes is not None else scheduler.path
                message = f"{name} runs the controller or the records of another {kind} already."
                yield Problem(path, message, "Name another node group under `controllers`.")
            taken |= own


def _hosts(spec: ClusterSpec, scheduler: Scheduler, *, with_records: bool) -> Iterator[str]:
    yield controller_group(spec, scheduler)
    if with_records and scheduler.slurm is not None and scheduler.slurm.accounting is not None:
        yield scheduler.slurm.accounting.nodes


@rule("CW270", Severity.ERROR)
def partitions_and_nodes(subject: Subject) -> Iterator[Problem]:
    """The node groups of written partitions against those of their scheduler."""
    spec = subject.spec
    for scheduler in spec.schedulers:
        written = scheduler.slurm.partitions if scheduler.slurm is not None else ()
        for part in written:
            for name, path in named_groups(spec, part.nodes, (*part.path, "nodes")):
                if name not in scheduler.nodes:
                    message = f"This Slurm places no jobs on {name}."
                    yield Problem(path, message, "Name it under the scheduler's `nodes` too, or leave it out.")
        for name, path in named_groups(spec, scheduler.nodes, (*scheduler.path, "nodes")) if written else ():
            if not any(name in part.nodes for part in written):
                yield Problem(path, f"{name} is in no partition.", "Put it into one, or take it out of `nodes`.")


@rule("CW271", Severity.ERROR)
def state_not_shared(subject: Subject) -> Iterator[Problem]:
    """Slurms with several controllers whose `state` lies on no mount, and of which nobody says how it is shared."""
    spec = subject.spec
    for scheduler in spec.schedulers:
        wanted, group = scheduler.controllers, controller_group(spec, scheduler)
        mounts = [each.mountpoint for each in spec.mounts if group in each.nodes]
        is_mounted = any(wanted.state == place or wanted.state.startswith(f"{place}/") for place in mounts)
        if scheduler.slurm is not None and wanted.count > 1 and not is_mounted and wanted.shared_by is None:
            message = f"{wanted.count} controllers keep their state in {wanted.state}, each on a disk of its own."
            yield Problem((*wanted.path, "count"), message, "Put `state` on a mount, or write `shared_by`.")


@rule("CW272", Severity.ERROR)
def accounts_without_records(subject: Subject) -> Iterator[Problem]:
    """`allow_accounts` of partitions whose Slurm has no accounting."""
    for slurm in (each.slurm for each in subject.spec.schedulers):
        for part in slurm.partitions if slurm is not None and slurm.accounting is None else ():
            if part.allow_accounts:
                message = f"Jobs in {part.name} are to have one of {len(part.allow_accounts)} accounts; Slurm has none."
                yield Problem((*part.path, "allow_accounts"), message, "Add `accounting`.", key=True)


@rule("CW273", Severity.ERROR)
def controller_among_workers(subject: Subject) -> Iterator[Problem]:
    """Groups that run a scheduler's controller or slurmdbd and are scheduled as well."""
    spec = subject.spec
    scheduled = {name for each in spec.schedulers for name in each.nodes}
    for scheduler in spec.schedulers:
        for name in sorted(scheduled.intersection(_hosts(spec, scheduler, with_records=True))):
            message = f"Jobs run on {name}, whose first machine runs the scheduler itself."
            yield Problem(scheduler.path, message, "Name another node group under `controllers` or `accounting`.")
