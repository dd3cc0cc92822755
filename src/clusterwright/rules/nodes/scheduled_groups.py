"""CW268 to CW273: several node groups and several schedulers, and who runs the controllers."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.finding import Severity
from clusterwright.intent.needs.jobs import controller_group
from clusterwright.rules.rule import Problem, Subject, rule
from clusterwright.rules.spec.references import named_groups, named_twice
from clusterwright.spec.job import Scheduler
from clusterwright.spec.model import ClusterSpec


@rule(
    code="CW268",
    severity=Severity.ERROR,
    title="nodes of two schedulers",
    why="Each would place jobs on the nodes as if they were its own alone, and a node asks one controller.",
    mend="Name each node group in one scheduler; for Kueue beside Slurm, write `kueue` into Slurm's entry.",
)
def nodes_of_two(subject: Subject) -> Iterator[Problem]:
    """Node groups that two schedulers name."""
    for name, path in named_twice(subject.spec, subject.spec.schedulers):
        yield Problem(path, f"Another scheduler places jobs on {name} already.", "Name it in one of them.")


@rule(
    code="CW269",
    severity=Severity.ERROR,
    title="machines of two schedulers' controllers",
    why="A machine has one slurm.conf, one key of munge and one port for slurmctld: one of the two would not be there.",
    mend="Give each scheduler `controllers: {nodes: ...}` with a node group of its own.",
    docs="A Slurm's controllers are the first machines of a node group, and slurmdbd the first of one. Two Slurms share"
    " none of these groups, nor do two Kueues; a Slurm and a Kueue may.",
)
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


@rule(
    code="CW270",
    severity=Severity.ERROR,
    title="partitions that miss their scheduler's nodes",
    why="A node in no partition never runs a job, and a partition of nodes that Slurm does not have stops slurmctld.",
    mend="Put every node group of `nodes` into a partition, and no other.",
    docs="Without `partitions` each node group makes one, of its own name; the first is the default. Nodes of groups"
    " that share no partition need no flow between each other: slurmd then passes no messages on to them (TreeWidth).",
)
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


@rule(
    code="CW271",
    severity=Severity.ERROR,
    title="controllers that do not share their state",
    why="A backup that takes over without the state of the first one knows no job, and ends all that run.",
    mend="Put `state` below the mountpoint of a mount of these machines, or say with `shared_by` who shares it.",
    docs="Slurm's controllers take over from each other by files in StateSaveLocation, which all of them must see, and"
    " which belongs to the user slurm. A mount needs an image on the machines; where they have none, `shared_by` says"
    " who does it otherwise.",
)
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


@rule(
    code="CW272",
    severity=Severity.ERROR,
    title="accounts that nobody keeps",
    why="Without slurmdbd Slurm knows no account, and lets nobody into the partition.",
    mend="Add `accounting` to the scheduler, or take `allow_accounts` away.",
)
def accounts_without_records(subject: Subject) -> Iterator[Problem]:
    """`allow_accounts` of partitions whose Slurm has no accounting."""
    for slurm in (each.slurm for each in subject.spec.schedulers):
        for part in slurm.partitions if slurm is not None and slurm.accounting is None else ():
            if part.allow_accounts:
                message = f"Jobs in {part.name} are to have one of {len(part.allow_accounts)} accounts; Slurm has none."
                yield Problem((*part.path, "allow_accounts"), message, "Add `accounting`.", key=True)


@rule(
    code="CW273",
    severity=Severity.ERROR,
    title="controller on nodes that run jobs",
    why="The machine would run the controller and no slurmd: Slurm waits for it, and its jobs share the controller.",
    mend="Name a node group under `controllers` and `accounting` that runs no jobs.",
)
def controller_among_workers(subject: Subject) -> Iterator[Problem]:
    """Groups that run a scheduler's controller or slurmdbd and are scheduled as well."""
    spec = subject.spec
    scheduled = {name for each in spec.schedulers for name in each.nodes}
    for scheduler in spec.schedulers:
        for name in sorted(scheduled.intersection(_hosts(spec, scheduler, with_records=True))):
            message = f"Jobs run on {name}, whose first machine runs the scheduler itself."
            yield Problem(scheduler.path, message, "Name another node group under `controllers` or `accounting`.")
