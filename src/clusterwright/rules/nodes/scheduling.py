"""CW268 to CW273, CW338, CW359, CW616 to CW618, CW635, CW636: schedulers and their hosts.

CW620: execution nodes. CW684: login groups with another role in Slurm.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import chain

from clusterwright.finding import Severity
from clusterwright.intent.needs.jobs import controller_group
from clusterwright.rules.rule import Problem, Subject, rule
from clusterwright.rules.spec.references import login_places, named_groups, named_twice, unknown
from clusterwright.spec.execution import ExecutionMesh
from clusterwright.spec.image import Image
from clusterwright.spec.job import Scheduler
from clusterwright.spec.model import ClusterSpec, NodeGroup
from clusterwright.spec.text.document import Path

_SLURM_KEYS: tuple[Path, ...] = (
    *((key,) for key in ("plugin", "leaf", "block_sizes", "partitions", "munge", "accounting", "login", "settings")),
    *(("controllers", key) for key in ("state", "shared_by")),
)
# src/common/read_config.c: compared without regard to case.
_TEMPLATE, _ANYBODY = "default", "all"
# slurm.conf(5), HealthCheckProgram; the difference is for the program's start and its verdict.
_ENDED_S, _SLOWEST_S = 60, 50


@rule("CW616", Severity.ERROR)
def key_of_another_scheduler(subject: Subject) -> Iterator[Problem]:
    """Slurm's keys in a scheduler with Kueue alone."""
    for scheduler in (scheduler for scheduler in subject.spec.schedulers if scheduler.slurm is None):
        for key in _SLURM_KEYS:
            path = (*scheduler.path, *key)
            if subject.spec.document.at(path) is not None:
                yield Problem(path, f"Kueue has no `{key[-1]}`, which is Slurm's.", subject.take_away(path), key=True)


@rule("CW617", Severity.ERROR)
def scheduler_without_a_controller(subject: Subject) -> Iterator[Problem]:
    """Schedulers without a machine, or without enough machines, for their controllers."""
    spec = subject.spec
    for scheduler in spec.schedulers:
        name = "Slurm" if scheduler.slurm is not None else "Kueue"
        wanted = scheduler.controllers
        if wanted.nodes is None and not any(group.role == "service" for group in spec.node_groups):
            message = f"No machine runs {name}'s controller: no node group has the role `service`."
            yield Problem(scheduler.path, message, "Add a node group with `role: service`.")
        group = spec.node_group(wanted.nodes or "")
        if group is not None and group.count < wanted.count:
            message = f"{name} needs {wanted.count} controllers, and {group.name} has {group.count} machines."
            yield Problem((*wanted.path, "count"), message, f"Write {group.count}, or add machines to {group.name}.")


@rule("CW618", Severity.ERROR)
def boots_without_slurm(subject: Subject) -> Iterator[Problem]:
    """`rollout.boots` without Slurm."""
    spec = subject.spec
    if spec.rollout.boots is not None and all(scheduler.slurm is None for scheduler in spec.schedulers):
        message = "Nodes are to be booted by Slurm, which does not place jobs here."
        yield Problem(
            ("rollout", "boots"), message, "Add `scheduler: {kind: slurm, ...}`, or remove `boots`.", key=True
        )


@rule("CW338", Severity.ERROR)
def daemons_without_a_key(subject: Subject) -> Iterator[Problem]:
    """Slurm without a source of munge's key."""
    for scheduler in subject.spec.schedulers:
        if scheduler.slurm is not None and scheduler.slurm.munge is None:
            message = "The key by which slurmctld and slurmd authenticate each other has no source."
            yield Problem(scheduler.path, message, "Write `munge: {secret: NAME}`, or `munge: {by_site: ...}`.")


@rule("CW268", Severity.ERROR)
def nodes_of_two(subject: Subject) -> Iterator[Problem]:
    """Node groups of two schedulers."""
    for name, path in named_twice(subject.spec, subject.spec.schedulers):
        yield Problem(path, f"Another scheduler places jobs on {name} already.", "Name it in one of them.")


@rule("CW269", Severity.ERROR)
def shared_controllers(subject: Subject) -> Iterator[Problem]:
    """Node groups with daemons of two schedulers of a kind."""
    spec = subject.spec
    for kind in ("Slurm", "Kueue"):
        taken: set[str] = set()
        for scheduler in spec.schedulers:
            if (scheduler.slurm if kind == "Slurm" else scheduler.kueue) is None:
                continue
            controllers = set(_hosts(spec, scheduler, with_records=kind == "Slurm"))
            for name in sorted(controllers & taken):
                path = scheduler.controllers.path if scheduler.controllers.nodes is not None else scheduler.path
                message = f"{name} runs the controller or the records of another {kind} already."
                yield Problem(path, message, "Name another node group under `controllers`.")
            taken |= controllers


def _hosts(spec: ClusterSpec, scheduler: Scheduler, *, with_records: bool) -> Iterator[str]:
    yield controller_group(spec, scheduler)
    if with_records and scheduler.slurm is not None and scheduler.slurm.accounting is not None:
        yield scheduler.slurm.accounting.nodes


@rule("CW270", Severity.ERROR)
def partitions_and_nodes(subject: Subject) -> Iterator[Problem]:
    """The node groups of written partitions, compared with those of their scheduler."""
    spec = subject.spec
    for scheduler in spec.schedulers:
        written = scheduler.slurm.partitions if scheduler.slurm is not None else ()
        for part in written:
            for name, path in named_groups(spec, part.nodes, (*part.path, "nodes")):
                if name not in scheduler.nodes:
                    message = f"This Slurm places no jobs on {name}."
                    yield Problem(path, message, "Name it under the scheduler's `nodes` too, or leave it out.")
        if written:
            for name, path in named_groups(spec, scheduler.nodes, (*scheduler.path, "nodes")):
                if not any(name in part.nodes for part in written):
                    yield Problem(path, f"{name} is in no partition.", "Put it into one, or remove it from `nodes`.")


@rule("CW271", Severity.ERROR)
def state_not_shared(subject: Subject) -> Iterator[Problem]:
    """Slurm clusters with several controllers and without shared state."""
    spec = subject.spec
    for scheduler in spec.schedulers:
        controllers, group = scheduler.controllers, controller_group(spec, scheduler)
        mountpoints = [mount.mountpoint for mount in spec.mounts if group in mount.nodes]
        is_mounted = any(f"{controllers.state}/".startswith(f"{place}/") for place in mountpoints)
        if scheduler.slurm is None or controllers.count < 2 or is_mounted or controllers.shared_by is not None:
            continue
        message = f"{controllers.count} controllers keep their state in {controllers.state}, each on a disk of its own."
        yield Problem((*controllers.path, "count"), message, "Put `state` on a mount, or write `shared_by`.")


@rule("CW272", Severity.ERROR)
def accounts_without_records(subject: Subject) -> Iterator[Problem]:
    """`allow_accounts` of partitions without accounting in their Slurm."""
    for scheduler in subject.spec.schedulers:
        if scheduler.slurm is None or scheduler.slurm.accounting is not None:
            continue
        for partition in scheduler.slurm.partitions:
            if partition.allow_accounts:
                count = len(partition.allow_accounts)
                message = f"Partition {partition.name} allows {count} accounts, and Slurm has no accounting."
                yield Problem((*partition.path, "allow_accounts"), message, "Add `accounting`.", key=True)


@rule("CW635", Severity.ERROR)
def words_of_slurm(subject: Subject) -> Iterator[Problem]:
    """Names of partitions, groups and accounts equal to keywords of Slurm, in any case."""
    for scheduler in subject.spec.schedulers:
        if scheduler.slurm is None:
            continue
        for partition in scheduler.partitions:
            if partition.name == _TEMPLATE:
                path = (*partition.path, "name") if scheduler.slurm.partitions else partition.path
                message = "Slurm reads a partition `default` as defaults of all others: it creates none of this name."
                yield Problem(path, message, "Give it another name.")
            for key in ("allow_groups", "allow_accounts"):
                if getattr(partition, key) == (_ANYBODY,):
                    message = f"Slurm reads `{_ANYBODY}` alone as every group: {partition.name} is open to everyone."
                    hint = f"Name another one beside it, or remove `{key}`."
                    yield Problem((*partition.path, key), message, hint)


@rule("CW359", Severity.ERROR)
def unknown_groups(subject: Subject) -> Iterator[Problem]:
    """Partition groups unknown to slurmctld: it refuses every job for them."""
    spec = subject.spec
    directory = spec.site.directory
    directory_groups = set(directory.groups) if directory is not None else set()
    for scheduler in spec.schedulers:
        names = directory_groups | _controller_groups(spec, scheduler)
        if scheduler.slurm is None:
            continue
        for partition in scheduler.partitions:
            if partition.allow_groups == (_ANYBODY,):
                continue
            for index, name in enumerate(partition.allow_groups):
                if name not in names:
                    source = f"The group {name} has no source on Slurm's controller"
                    hint = "Name it under `site.directory`, or among the groups of a user of the controller's image."
                    path = (*partition.path, "allow_groups", index)
                    yield Problem(path, f"{source}: {partition.name} would reject every job.", hint)


def _controller_groups(spec: ClusterSpec, scheduler: Scheduler) -> set[str]:
    """The groups of the users in the image of a scheduler's controller."""
    group = spec.node_group(controller_group(spec, scheduler))
    image = spec.image(group.image or "") if group is not None else None
    names: set[str] = set()
    if image is not None:
        for user in image.users:
            names.update((user.name, *user.groups))
    return names


@rule("CW636", Severity.WARNING)
def check_that_slurm_ends(subject: Subject) -> Iterator[Problem]:
    """Node checks that together exceed the time limit of Slurm's HealthCheckProgram."""
    spec = subject.spec
    image_names: set[str | None] = set()
    for scheduler in spec.schedulers:
        if scheduler.slurm is not None:
            image_names.update(group.image for group in _groups(spec, scheduler))
    for image in spec.images:
        if image.name not in image_names:
            continue
        for path, seconds in _check_times(image):
            if seconds > _SLOWEST_S:
                limit = f"Slurm ends the check of a node after {_ENDED_S} s"
                message = f"{limit}, before an answer of {seconds:g} s is missed."
                yield Problem(path, message, f"Write {_SLOWEST_S} at most.")


def _check_times(image: Image) -> Iterator[tuple[Path, float]]:
    """The longest time of each check in seconds, with its place."""
    yield (*image.path, "health", "patience_s"), image.health.patience_s
    for check in image.own_checks:
        yield (*check.path, "timeout_s"), check.timeout_s


def _groups(spec: ClusterSpec, scheduler: Scheduler) -> Iterator[NodeGroup]:
    for name in scheduler.nodes:
        group = spec.node_group(name)
        if group is not None:
            yield group


@rule("CW273", Severity.ERROR)
def controller_among_workers(subject: Subject) -> Iterator[Problem]:
    """Node groups both running a scheduler's controller or slurmdbd and scheduled for jobs."""
    spec = subject.spec
    scheduled = set(chain.from_iterable(scheduler.nodes for scheduler in spec.schedulers))
    for scheduler in spec.schedulers:
        for name in sorted(scheduled.intersection(_hosts(spec, scheduler, with_records=True))):
            message = f"Jobs run on {name}, whose first machine runs the scheduler itself."
            yield Problem(scheduler.path, message, "Name another node group under `controllers` or `accounting`.")


@rule("CW684", Severity.ERROR)
def login_of_two(subject: Subject) -> Iterator[Problem]:
    """Login groups running jobs, or with the slurm.conf of another Slurm."""
    spec = subject.spec
    slurms = [scheduler for scheduler in spec.schedulers if scheduler.slurm is not None]
    scheduled = set(chain.from_iterable(scheduler.nodes for scheduler in spec.schedulers))
    taken: set[str] = set()
    for scheduler in slurms:
        others = set(taken)
        for other in slurms:
            if other is not scheduler:
                others.update(_hosts(spec, other, with_records=True))
        for name, path in login_places(scheduler):
            if name in scheduled:
                message = f"Jobs run on {name}, whose slurmd fetches a slurm.conf of its own."
                yield Problem(path, message, "Take it out: users of a node with a job submit there anyway.")
            elif name in others:
                yield Problem(path, f"{name} has the slurm.conf of another Slurm already.", "Name it in one of them.")
            taken.add(name)


@rule("CW620", Severity.ERROR)
def execution_nodes(subject: Subject) -> Iterator[Problem]:
    """Unknown or repeated names in the section ``execution``."""
    spec, mesh = subject.spec, subject.spec.execution
    if mesh is None:
        return
    fabric = spec.fabric(mesh.fabric)
    if fabric is None or spec.plain_network(mesh.fabric) is None:
        networks = [fabric.name for fabric in spec.fabrics if spec.plain_network(fabric.name) is not None]
        yield unknown("Ethernet fabric with addresses", mesh.fabric, networks, (*mesh.path, "fabric"))
        return
    layout = subject.skeleton.layout
    attached = {attach.nodes for attach in fabric.attach}
    machines = {node.name for node in layout.nodes if spec.node_groups[node.node_group].name in attached}
    counts = Counter(mesh.devices)
    for device, path in _devices(mesh):
        if device not in machines:
            yield unknown(f"machine on {fabric.name}", device, machines, path)
        elif counts[device] > 1:
            yield Problem(path, f"{device} is listed {counts[device]} times.", "Name every machine once.")
    pods = {layout.groups[node.groups[-1]].name for node in layout.nodes if node.groups}
    wanted = Counter(chain.from_iterable(node.pods for node in mesh.nodes))
    for node in mesh.nodes:
        for index, pod in enumerate(node.pods):
            if pod not in pods:
                yield unknown("pod", pod, pods, (*node.path, "pods", index))
            elif wanted[pod] > 1:
                message = f"{wanted[pod]} execution nodes name pod {pod}."
                yield Problem(
                    (*node.path, "pods", index), message, "Assign it to one; another takes over if that one fails."
                )


def _devices(mesh: ExecutionMesh) -> Iterator[tuple[str, Path]]:
    yield mesh.controller, (*mesh.path, "controller")
    for node in mesh.nodes:
        yield node.device, (*node.path, "device")
