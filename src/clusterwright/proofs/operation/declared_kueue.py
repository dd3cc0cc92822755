"""Planned Kueue installations, computed from the plan independently of the renderers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from clusterwright.plan.bandwidth import domain_levels
from clusterwright.plan.model import Plan
from clusterwright.spec.distribution import family_of
from clusterwright.spec.hardware.accelerators import vendor_of
from clusterwright.spec.job import Kueue, Scheduler

_HOSTNAME = "kubernetes.io/hostname"
_RDMA = "rdma/hca_shared_devices_a"


@dataclass(frozen=True, slots=True)
class DeclaredKueue:
    """A scheduler's view for Kueue."""

    controllers: tuple[str, ...]
    flavor: str
    """Name of the flavour, or prefix of the flavours of several node groups."""
    levels: Mapping[str, tuple[str, ...]]
    """Labels of the levels of each node group, outermost first, and the node itself."""
    group_label: str
    labels: Mapping[str, Mapping[str, str]]
    """Labels registered by the kubelet, by node with an image."""
    files: Mapping[str, str]
    """File with the kubelet's labels, by node with an image."""
    limits: Mapping[str, int]
    """Limits of a pod on a whole node, in the group of NCCL's profile; empty without one."""


def declared_kueues(plan: Plan) -> tuple[DeclaredKueue, ...]:
    """Every view for Kueue."""
    declared: list[DeclaredKueue] = []
    for scheduler in plan.spec.schedulers:
        kueue = scheduler.kueue
        if kueue is not None:
            declared.append(_kueue(plan, scheduler, kueue))
    return tuple(declared)


def _kueue(plan: Plan, scheduler: Scheduler, kueue: Kueue) -> DeclaredKueue:
    prefix = kueue.label_prefix
    group_label = f"{prefix}/node-group"
    outermost_first = {group: tuple(reversed(domain_levels(plan, group))) for group in scheduler.nodes}
    levels: dict[str, tuple[str, ...]] = {}
    for group, levels_of_group in outermost_first.items():
        levels[group] = (*(f"{prefix}/{level}" for level in levels_of_group), _HOSTNAME)
    labels: dict[str, Mapping[str, str]] = {}
    files = {}
    for node in plan.devices:
        image = plan.spec.image(node.image or "")
        if node.kind != "node" or image is None or node.node_group not in scheduler.nodes:
            continue
        home = {plan.group_by_name[name].level: name for name in node.groups}
        levels_of_node = {f"{prefix}/{level}": home[level] for level in outermost_first[node.node_group]}
        labels[node.name] = {**levels_of_node, group_label: node.node_group}
        files[node.name] = family_of(image.distribution).kubelet
    wanted = scheduler.controllers
    controllers = []
    for device in plan.devices:
        is_candidate = device.role == "service" if wanted.nodes is None else device.node_group == wanted.nodes
        if device.kind == "node" and device.state == "active" and is_candidate:
            controllers.append(device.name)
    return DeclaredKueue(
        controllers=tuple(controllers[: wanted.count]),
        flavor=kueue.flavor,
        levels=levels,
        group_label=group_label,
        labels=labels,
        files=files,
        limits=_limits(plan, scheduler),
    )


def _limits(plan: Plan, scheduler: Scheduler) -> Mapping[str, int]:
    """GPUs and RDMA devices of a node, from the first node group of each NCCL profile."""
    limits: dict[str, int] = {}
    for profile in plan.spec.nccl_profiles:
        group = plan.spec.node_group(profile.nodes[0])
        fabric = plan.spec.fabric(profile.fabric)
        if group is None or fabric is None or {*profile.nodes}.isdisjoint(scheduler.nodes):
            continue
        vendor = vendor_of(group.model.gpus) if group.model.gpus is not None else None
        if group.model.gpus is not None and vendor is not None and vendor.kubernetes_resource is not None:
            limits[vendor.kubernetes_resource] = group.model.gpus.count
        if fabric.technology != "ethernet":
            limits[_RDMA] = 1
    return limits
