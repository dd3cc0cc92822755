"""Planned Slurm clusters, computed from the plan independently of the renderers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from clusterwright.plan.model import Device, Plan, format_address
from clusterwright.spec.job import Scheduler


@dataclass(frozen=True, slots=True)
class DeclaredNode:
    """A compute node of Slurm."""

    gpus: int
    processors: tuple[int, int, int] | None
    """Sockets, cores per socket, threads per core; None without figures in the catalogue."""
    memory_mib: int | None
    is_in_service: bool
    leaf: str
    """Its group of the scheduler's leaf level; "" if the whole cluster is one leaf."""
    fetches_configuration: bool
    """Whether its image is rendered here, with slurmd in it."""


@dataclass(frozen=True, slots=True)
class DeclaredQueue:
    """A partition of Slurm."""

    nodes: frozenset[str]
    groups: frozenset[str]
    accounts: frozenset[str]


@dataclass(frozen=True, slots=True)
class DeclaredSlurm:
    """A Slurm cluster: its controllers with their addresses, the acting one first, its nodes and partitions."""

    controllers: Mapping[str, frozenset[str]]
    nodes: Mapping[str, DeclaredNode]
    queues: Mapping[str, DeclaredQueue]
    login_nodes: frozenset[str]
    """Login nodes with a slurm.conf of their own, without the controllers."""


def declared_slurms(plan: Plan) -> tuple[DeclaredSlurm, ...]:
    """Every Slurm cluster of the spec."""
    return tuple(_slurm(plan, scheduler) for scheduler in plan.spec.schedulers if scheduler.slurm is not None)


def _slurm(plan: Plan, scheduler: Scheduler) -> DeclaredSlurm:
    nodes = [device for device in plan.devices if device.kind == "node"]
    members = [node for node in nodes if node.node_group in scheduler.nodes]
    queues: dict[str, DeclaredQueue] = {}
    for partition in scheduler.partitions:
        nodes_of_queue = [node.name for node in members if node.node_group in partition.nodes]
        queues[partition.name] = DeclaredQueue(
            nodes=frozenset(nodes_of_queue),
            groups=frozenset(partition.allow_groups),
            accounts=frozenset(partition.allow_accounts),
        )
    controllers = _controllers(plan, scheduler)
    return DeclaredSlurm(
        controllers=controllers,
        nodes={device.name: _node(plan, scheduler, device) for device in members},
        queues=queues,
        login_nodes=frozenset(_login_nodes(plan, scheduler)) - controllers.keys(),
    )


def _login_nodes(plan: Plan, scheduler: Scheduler) -> Iterator[str]:
    """Machines of login groups with rendered files."""
    groups = scheduler.slurm.login if scheduler.slurm is not None else ()
    for device in plan.devices:
        if device.kind == "node" and device.node_group in groups and device.image is not None:
            yield device.name


def _controllers(plan: Plan, scheduler: Scheduler) -> Mapping[str, frozenset[str]]:
    wanted = scheduler.controllers
    candidates = []
    for device in plan.devices:
        is_wanted = device.role == "service" if wanted.nodes is None else device.node_group == wanted.nodes
        if device.kind == "node" and device.state != "out-of-service" and is_wanted:
            candidates.append(device.name)
    return {name: _addresses(plan, name) for name in candidates[: wanted.count]}


def _addresses(plan: Plan, name: str) -> frozenset[str]:
    """Addresses of a machine's host adapters, as text."""
    addresses = set()
    for cable in plan.cables_of[name]:
        end = cable.a if cable.a.device == name else cable.b
        if end.address is not None and end.side == "host":
            addresses.add(format_address(end.address, plan.address_version(end.fabric)))
    return frozenset(addresses)


def _node(plan: Plan, scheduler: Scheduler, device: Device) -> DeclaredNode:
    model = plan.spec.catalogue[device.model]
    host, leaf = model.host, scheduler.slurm.leaf if scheduler.slurm is not None else ""
    return DeclaredNode(
        gpus=model.gpus.count if model.gpus is not None else 0,
        processors=(host.sockets, host.cores_per_socket, host.threads_per_core) if host is not None else None,
        memory_mib=host.memory_gb * 10**9 // 2**20 if host is not None else None,
        is_in_service=device.state == "active",
        leaf=next((name for name in device.groups if plan.group_by_name[name].level == leaf), ""),
        fetches_configuration=device.image is not None,
    )
