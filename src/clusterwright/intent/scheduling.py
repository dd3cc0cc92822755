"""Who runs which of Slurm's daemons: the controller on a service machine, slurmd where jobs are placed."""

from __future__ import annotations

from clusterwright.intent.node_nics import is_managed
from clusterwright.intent.per_plan import per_plan
from clusterwright.plan.model import Device, Plan

AUTHENTICATION = "munge.service"
CONTROLLER_UNITS = (AUTHENTICATION, "slurmctld.service")
WORKER_UNITS = (AUTHENTICATION, "slurmd.service")


@per_plan
def controllers(plan: Plan) -> tuple[str, ...]:
    """The service machines that run the scheduler's controller, by name: the first one in service.

    A second slurmctld would need a folder of state that both share.
    """
    service = [d.name for d in plan.devices_of("service") if d.kind == "node" and d.state == "active"]
    return tuple(service[:1])


def has_slurm(plan: Plan) -> bool:
    """True where Slurm places jobs and somebody runs its controller."""
    scheduler = plan.spec.scheduler
    return scheduler is not None and scheduler.slurm is not None and bool(controllers(plan))


def is_controller(plan: Plan, device: Device) -> bool:
    """True for a machine that runs slurmctld."""
    return has_slurm(plan) and device.name in controllers(plan)


def works_for_slurm(plan: Plan, node_group: str) -> bool:
    """True for a node group whose managed nodes run slurmd, but for one that is the controller itself."""
    scheduler = plan.spec.scheduler
    return has_slurm(plan) and scheduler is not None and scheduler.nodes == node_group


def slurm_units(plan: Plan, device: Device) -> tuple[str, ...]:
    """The units of Slurm that a machine has to run, in the order in which they start; none without Slurm."""
    if is_controller(plan, device):
        return CONTROLLER_UNITS
    return WORKER_UNITS if is_managed(device) and works_for_slurm(plan, device.node_group) else ()


def munge_secret(plan: Plan) -> str | None:
    """The name of the secret that is munge's key; None where the site brings the key, or no Slurm is there."""
    scheduler = plan.spec.scheduler
    munge = scheduler.slurm.munge if scheduler is not None and scheduler.slurm is not None else None
    return munge.secret if munge is not None else None
