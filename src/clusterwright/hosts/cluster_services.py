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
    """The one that acts first, then those that stand in for it."""
    program: str
    """What carries it, as people look for it on a host; "" where that is not configured by the spec."""
    loss: str
    """What it means while no host is there."""
    takeover: str = ""
    """What has ``{other}`` take over before the acting host goes; "" where all of them act."""
    unit: str = ""
    """What starts it on a host that did not run it; "" where it starts with the host."""


@per_plan
def cluster_services(plan: Plan) -> tuple[ClusterService, ...]:
    """Every service, with its hosts."""
    return (*_subnet_managers(plan), *_boot_servers(plan), *_schedulers(plan), *_file_systems(plan))


def _subnet_managers(plan: Plan) -> Iterator[ClusterService]:
    for subnet in plan.ib_subnets.values():
        manager = subnet.fabric.subnet_manager
        if manager is None:
            continue
        is_opensm = manager.kind == OPENSM
        yield ClusterService(
            name=f"subnet manager of {subnet.name}",
            hosts=managers_by_priority(plan, subnet.name),
            program="opensm" if is_opensm else "UFM",
            loss=(
                "nothing sweeps the fabric: traffic goes on by the tables that switches hold, a port that comes up gets"
                " no LID, no path leads around one that fails, and path queries of new connections get no answer"
            ),
            takeover=(
                "stop its opensm (`systemctl stop opensm.service`), and {other} is master within a minute"
                if is_opensm
                else "have UFM fail over to {other}"
            ),
            unit="opensm.service" if is_opensm else "",
        )


def _boot_servers(plan: Plan) -> Iterator[ClusterService]:
    boot = plan.spec.boot
    if boot is None:
        return
    hosts = (device.name for device in plan.devices if device.kind == "node" and device.node_group == boot.servers)
    yield ClusterService(
        name="boot server",
        hosts=tuple(name for name in hosts if plan.by_name[name].state != OUT_OF_SERVICE),
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
        of_group = (device for device in plan.devices if device.node_group == mount.system)
        hosts = tuple(device.name for device in of_group if device.state != OUT_OF_SERVICE)
        if hosts:
            yield ClusterService(
                name=f"file system {mount.name}",
                hosts=hosts,
                program=mount.mountpoint,
                loss=f"programs that use {mount.mountpoint} wait",
            )
