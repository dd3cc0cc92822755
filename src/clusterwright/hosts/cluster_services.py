"""Services of the cluster on hosts, and the consequences of an absent host."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from clusterwright.hosts.opensm.writer.configuration import managers_by_priority
from clusterwright.intent.per_plan import per_plan
from clusterwright.intent.scheduling import accountant, controllers
from clusterwright.plan.model import Plan
from clusterwright.plan.service import OUT_OF_SERVICE
from clusterwright.spec.infiniband import OPENSM


@dataclass(frozen=True, slots=True)
class ClusterService:
    """A service that hosts of the cluster carry."""

    name: str
    hosts: tuple[str, ...]
    """The acting host first, then its standbys."""
    program: str
    """The program's name on a host; "" where the spec does not configure it."""
    loss: str
    """The effect on the cluster while no host runs the service."""
    takeover: str = ""
    """Instruction to move the service to ``{other}`` before the acting host goes; "" where all hosts act."""
    unit: str = ""
    """The unit to start on a host that did not run it; "" where it starts with the host."""


@per_plan
def cluster_services(plan: Plan) -> tuple[ClusterService, ...]:
    """Every service, with its hosts."""
    return (*_subnet_managers(plan), *_boot_servers(plan), *_schedulers(plan), *_file_systems(plan))


def _subnet_managers(plan: Plan) -> Iterator[ClusterService]:
    for subnet in plan.ib_subnets.values():
        manager = subnet.fabric.subnet_manager
        if manager is None:
            continue
        if manager.kind == OPENSM:
            program, unit = "opensm", "opensm.service"
            takeover = "stop its opensm (`systemctl stop opensm.service`), and {other} is master within a minute"
        else:
            program, unit = "UFM", ""
            takeover = "have UFM fail over to {other}"
        yield ClusterService(
            name=f"subnet manager of {subnet.name}",
            hosts=managers_by_priority(plan, subnet.name),
            program=program,
            loss=(
                "nothing sweeps the fabric: traffic goes on by the tables that switches hold, a port that comes up gets"
                " no LID, no path leads around one that fails, and path queries of new connections get no answer"
            ),
            takeover=takeover,
            unit=unit,
        )


def _boot_servers(plan: Plan) -> Iterator[ClusterService]:
    boot = plan.spec.boot
    if boot is None:
        return
    yield ClusterService(
        name="boot server",
        hosts=_hosts_in_service(plan, boot.servers),
        program="Kea, TFTP, HTTP",
        loss="no node boots, and no lease is renewed",
    )


def _schedulers(plan: Plan) -> Iterator[ClusterService]:
    for scheduler in plan.spec.schedulers:
        group = ", ".join(scheduler.nodes)
        hosts = controllers(plan, scheduler)
        if scheduler.slurm is None:
            yield ClusterService(name=f"scheduler of {group}", hosts=hosts, program="", loss="no job is placed")
            continue
        yield ClusterService(
            name=f"scheduler of {group}",
            hosts=hosts,
            program="slurmctld",
            loss="no job starts or is cancelled; jobs that run go on",
            takeover="run `scontrol takeover` on {other}",
            unit="slurmctld.service",
        )
        recorder = accountant(plan, scheduler)
        if recorder is not None:
            yield ClusterService(
                name=f"job records of {group}",
                hosts=(recorder,),
                program="slurmdbd",
                loss="slurmctld keeps the records of jobs until it is back",
                unit="slurmdbd.service",
            )


def _file_systems(plan: Plan) -> Iterator[ClusterService]:
    """File systems of storage nodes; with several nodes, their own software decides the consequences of a loss."""
    for mount in plan.spec.mounts:
        hosts = _hosts_in_service(plan, mount.system) if mount.system is not None else ()
        if hosts:
            yield ClusterService(
                name=f"file system {mount.name}",
                hosts=hosts,
                program=mount.mountpoint,
                loss=f"programs that use {mount.mountpoint} wait",
            )


def _hosts_in_service(plan: Plan, node_group: str) -> tuple[str, ...]:
    """The nodes of a group by name, without those out of service."""
    members = [device for device in plan.devices if device.node_group == node_group]
    return tuple(device.name for device in members if device.state != OUT_OF_SERVICE)
