"""Who runs which of Slurm's daemons: controllers and accounting on service machines, slurmd where jobs are placed."""

from __future__ import annotations

from clusterwright.intent.node_nics import is_managed
from clusterwright.intent.per_plan import per_plan
from clusterwright.plan.model import Device, Plan
from clusterwright.spec.job import Scheduler

AUTHENTICATION = "munge.service"
ACCOUNTING = "slurmdbd.service"
CONTROLLER_UNITS = (AUTHENTICATION, "slurmctld.service")
WORKER_UNITS = (AUTHENTICATION, "slurmd.service")


@per_plan
def controllers(plan: Plan, scheduler: Scheduler) -> tuple[str, ...]:
    """The machines that run a scheduler's controller, by name, the acting one first: the first in service of its group,
    or of role ``service`` where it names none."""
    wanted = scheduler.controllers
    found = (d for d in plan.devices if d.kind == "node" and d.state == "active")
    own = [d.name for d in found if (d.role == "service" if wanted.nodes is None else d.node_group == wanted.nodes)]
    return tuple(own[: wanted.count])


@per_plan
def accountant(plan: Plan, scheduler: Scheduler) -> str | None:
    """The machine that runs slurmdbd: the first in service of its group. None where nobody keeps records."""
    accounting = scheduler.slurm.accounting if scheduler.slurm is not None else None
    if accounting is None:
        return None
    own = (d.name for d in plan.devices if d.kind == "node" and d.node_group == accounting.nodes)
    return next((name for name in own if plan.by_name[name].state == "active"), None)


@per_plan
def _slurm_by_host(plan: Plan) -> dict[str, Scheduler]:
    """The Slurm of every machine that runs a controller or slurmdbd; lint gives none of them to two (CW268)."""
    running = [scheduler for scheduler in plan.spec.schedulers if scheduler.slurm is not None]
    hosts = {name: each for each in running if (name := accountant(plan, each)) is not None}
    return hosts | {name: each for each in running for name in controllers(plan, each)}


def slurm_run_by(plan: Plan, device: Device) -> Scheduler | None:
    """The Slurm whose controller or records a machine has; None for one that has neither."""
    return _slurm_by_host(plan).get(device.name)


def is_controller(plan: Plan, device: Device) -> bool:
    """True for a machine that runs slurmctld."""
    scheduler = slurm_run_by(plan, device)
    return scheduler is not None and device.name in controllers(plan, scheduler)


def keeps_accounts(plan: Plan, device: Device) -> bool:
    """True for a machine that runs slurmdbd."""
    scheduler = slurm_run_by(plan, device)
    return scheduler is not None and device.name == accountant(plan, scheduler)


def works_for_slurm(plan: Plan, node_group: str) -> bool:
    """True for a node group whose managed nodes run slurmd, but for one that is a controller itself."""
    scheduler = plan.spec.scheduler(node_group)
    return scheduler is not None and scheduler.slurm is not None and bool(controllers(plan, scheduler))


def slurm_units(plan: Plan, device: Device) -> tuple[str, ...]:
    """The units of Slurm that a machine has to run, in the order in which they start; none without Slurm."""
    if slurm_run_by(plan, device) is None:
        return WORKER_UNITS if is_managed(device) and works_for_slurm(plan, device.node_group) else ()
    records = (ACCOUNTING,) if keeps_accounts(plan, device) else ()
    return (AUTHENTICATION, *records, *(CONTROLLER_UNITS[1:] if is_controller(plan, device) else ()))


def munge_secret(scheduler: Scheduler) -> str | None:
    """The name of the secret that is munge's key; None where the site brings the key, or no Slurm is there."""
    munge = scheduler.slurm.munge if scheduler.slurm is not None else None
    return munge.secret if munge is not None else None


def passes_messages_on(scheduler: Scheduler) -> bool:
    """Whether slurmd on any node hands on what the controller says to others: only where all nodes are in a partition
    with each other, for who shares none need not reach the other."""
    return any(set(partition.nodes) == set(scheduler.nodes) for partition in scheduler.partitions)
