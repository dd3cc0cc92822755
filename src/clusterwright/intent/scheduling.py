"""Hosts of Slurm: controllers and accounting on service machines, slurmd on compute nodes, commands on login nodes."""

from __future__ import annotations

from clusterwright.intent.node_nics import is_managed
from clusterwright.intent.per_plan import per_plan
from clusterwright.plan.model import Device, Plan
from clusterwright.plan.service import OUT_OF_SERVICE
from clusterwright.spec.job import Scheduler
from clusterwright.spec.model import ClusterSpec

AUTHENTICATION = "munge.service"
ACCOUNTING = "slurmdbd.service"
CONTROLLER = "slurmctld.service"
CONTROLLER_UNITS = (AUTHENTICATION, CONTROLLER)
WORKER_UNITS = (AUTHENTICATION, "slurmd.service")
LOGIN_UNITS = (AUTHENTICATION,)


@per_plan
def controllers(plan: Plan, scheduler: Scheduler) -> tuple[str, ...]:
    """The machines of a scheduler's controller, by name, the acting one first.

    They are the first of its group, or of role ``service`` without a group. A drained machine stays a controller, since
    it holds the state; one out of service does not.
    """
    wanted = scheduler.controllers
    names = []
    for device in plan.devices:
        is_wanted = device.role == "service" if wanted.nodes is None else device.node_group == wanted.nodes
        if device.kind == "node" and device.state != OUT_OF_SERVICE and is_wanted:
            names.append(device.name)
    return tuple(names[: wanted.count])


@per_plan
def accountant(plan: Plan, scheduler: Scheduler) -> str | None:
    """The machine of slurmdbd: the first of its group that is not out of service. None without accounting."""
    accounting = scheduler.slurm.accounting if scheduler.slurm is not None else None
    if accounting is None:
        return None
    for device in plan.devices:
        is_member = device.kind == "node" and device.node_group == accounting.nodes
        if is_member and device.state != OUT_OF_SERVICE:
            return device.name
    return None


@per_plan
def _slurm_by_host(plan: Plan) -> dict[str, Scheduler]:
    """The Slurm of every machine with a controller or slurmdbd; lint refuses machines with two (CW268)."""
    running = [scheduler for scheduler in plan.spec.schedulers if scheduler.slurm is not None]
    by_host: dict[str, Scheduler] = {}
    for scheduler in running:
        name = accountant(plan, scheduler)
        if name is not None:
            by_host[name] = scheduler
    for scheduler in running:
        by_host |= dict.fromkeys(controllers(plan, scheduler), scheduler)
    return by_host


def slurm_run_by(plan: Plan, device: Device) -> Scheduler | None:
    """The Slurm of a machine with a controller or slurmdbd; None for other machines."""
    return _slurm_by_host(plan).get(device.name)


def is_controller(plan: Plan, device: Device) -> bool:
    """True for a machine with slurmctld."""
    scheduler = slurm_run_by(plan, device)
    return scheduler is not None and device.name in controllers(plan, scheduler)


def keeps_accounts(plan: Plan, device: Device) -> bool:
    """True for a machine with slurmdbd."""
    scheduler = slurm_run_by(plan, device)
    return scheduler is not None and device.name == accountant(plan, scheduler)


def works_for_slurm(plan: Plan, node_group: str) -> bool:
    """True for a node group with slurmd on its managed nodes, except on controllers."""
    scheduler = plan.spec.scheduler(node_group)
    return scheduler is not None and scheduler.slurm is not None and bool(controllers(plan, scheduler))


def login_groups(scheduler: Scheduler) -> tuple[str, ...]:
    """The node groups whose users submit jobs to a Slurm; none without Slurm."""
    return scheduler.slurm.login if scheduler.slurm is not None else ()


def slurm_of_login(spec: ClusterSpec, node_group: str) -> Scheduler | None:
    """The Slurm that users submit to on nodes of a group; None for other groups."""
    return next((scheduler for scheduler in spec.schedulers if node_group in login_groups(scheduler)), None)


def is_login_node(plan: Plan, device: Device) -> bool:
    """True for a managed machine of a login group without slurmctld, which has slurm.conf anyway."""
    return (
        is_managed(device)
        and slurm_of_login(plan.spec, device.node_group) is not None
        and not is_controller(plan, device)
    )


def slurm_units(plan: Plan, device: Device) -> tuple[str, ...]:
    """Slurm's units on a machine, in the order of their start; none without Slurm."""
    if slurm_run_by(plan, device) is None:
        if is_managed(device) and works_for_slurm(plan, device.node_group):
            return WORKER_UNITS
        return LOGIN_UNITS if is_login_node(plan, device) else ()
    units = [AUTHENTICATION]
    if keeps_accounts(plan, device):
        units.append(ACCOUNTING)
    if is_controller(plan, device):
        units.append(CONTROLLER)
    return tuple(units)


def munge_secret(scheduler: Scheduler) -> str | None:
    """Name of the secret with munge's key; None if the site brings the key, or without Slurm."""
    munge = scheduler.slurm.munge if scheduler.slurm is not None else None
    return munge.secret if munge is not None else None


def passes_messages_on(scheduler: Scheduler) -> bool:
    """Whether slurmd forwards the controller's messages: only if one partition has all nodes.

    Nodes without a common partition need not reach each other.
    """
    return any(set(partition.nodes) == set(scheduler.nodes) for partition in scheduler.partitions)
