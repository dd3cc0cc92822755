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


@rule(
    code="CW616",
    severity=Severity.ERROR,
    title="key of another scheduler",
    why="Nothing would read it: Kueue has no topology plugin, and takes its levels from the fabric.",
    mend="Take it away, or write `kind: slurm`.",
    docs="With `kind: slurm` the controller gets slurm.conf and its topology, and Kueue's objects where `kueue` stands"
    " beside it; with `kind: kueue` it gets Kueue's alone, and nodes neither slurmd nor its packages.",
)
def key_of_another_scheduler(subject: Subject) -> Iterator[Problem]:
    """Slurm's keys where Kueue alone places jobs."""
    for scheduler in (each for each in subject.spec.schedulers if each.slurm is None):
        for key in _SLURM_KEYS:
            path = (*scheduler.path, *key)
            if subject.spec.document.at(path) is not None:
                yield Problem(path, f"Kueue has no `{key[-1]}`, which is Slurm's.", subject.take_away(path), key=True)


@rule(
    code="CW617",
    severity=Severity.ERROR,
    title="scheduler without a controller",
    why="The scheduler's files go to the first machines of the group that `controllers` names, or of role `service`;"
    " without as many as it asks for nobody runs it, or nobody takes over.",
    mend="Add a node group with `role: service`, or machines to the one that is named.",
)
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


@rule(
    code="CW618",
    severity=Severity.ERROR,
    title="boots without Slurm",
    why="Slurm drains nodes, boots them and gives them back; where it does not place jobs nobody would.",
    mend="Add `scheduler: {kind: slurm, ...}`, or take `boots` away.",
)
def boots_without_slurm(subject: Subject) -> Iterator[Problem]:
    """`rollout.boots` where Slurm places no jobs."""
    spec = subject.spec
    if spec.rollout.boots is not None and all(each.slurm is None for each in spec.schedulers):
        message = "Nodes are to be booted by Slurm, which does not place jobs here."
        yield Problem(
            ("rollout", "boots"), message, "Add `scheduler: {kind: slurm, ...}`, or take `boots` away.", key=True
        )


@rule(
    code="CW338",
    severity=Severity.ERROR,
    title="Slurm whose daemons have no key in common",
    why="No image holds munge's key: slurmd and slurmctld believe each other only where somebody brings both the same.",
    mend="Write `munge: {secret: NAME}`, or say with `by_site` who brings the key.",
    docs="With a secret the deployment writes the key to the controller and to every node, and munge, slurmd and"
    " slurmctld start when it comes: also on a node that was booted into memory and has forgotten it. A key that each"
    " machine makes for itself, as packages do, lets no node register. A TPM that seals the key, and a fetch by the"
    " booting machine, are not rendered: nothing here could try them.",
)
def daemons_without_a_key(subject: Subject) -> Iterator[Problem]:
    """Slurm without a word on where munge's key comes from."""
    for scheduler in subject.spec.schedulers:
        if scheduler.slurm is not None and scheduler.slurm.munge is None:
            message = "Nobody brings the key that slurmctld and slurmd know each other by."
            yield Problem(scheduler.path, message, "Write `munge: {secret: NAME}`, or `munge: {by_site: ...}`.")
