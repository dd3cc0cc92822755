"""Kueue's topology of the cluster: the objects for the controller, and the labels of nodes.

Levels are the domains between which bandwidth may change, outermost first, and the node itself (Kueue, topology-aware
scheduling, v1beta2: at most 16 levels, kubernetes.io/hostname only as the last one).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from clusterwright.artifact import Artifact
from clusterwright.intent.gpu_services import gpu_vendor
from clusterwright.intent.nccl_settings import job_environment, job_paths
from clusterwright.intent.node_nics import is_managed
from clusterwright.intent.per_plan import per_plan
from clusterwright.intent.scheduling import controllers
from clusterwright.plan.bandwidth import domain_levels
from clusterwright.plan.model import Device, Plan
from clusterwright.spec.distribution import family_of
from clusterwright.spec.image import Image
from clusterwright.spec.job import Kueue, NcclProfile, Scheduler
from clusterwright.text.templates import template

KIND = "kueue"
HOSTNAME = "kubernetes.io/hostname"
GROUP = "node-group"
RDMA_DEVICES = "rdma/hca_shared_devices_a"


@dataclass(frozen=True, slots=True)
class KueueView:
    """A Topology and the ResourceFlavor of its nodes; ``levels`` are labels, outermost first."""

    topology: str
    levels: tuple[str, ...]
    flavor: str
    group_label: str
    group: str


def applies(plan: Plan, device: Device) -> bool:
    """Controllers, and compute nodes with an image, if the scheduler has a view for Kueue."""
    if _kueue_run_by(plan, device) is not None:
        return True
    return is_managed(device) and _scheduled_by(plan, device) is not None


def render(plan: Plan, device: Device) -> Iterator[Artifact]:
    """The objects on controllers, the kubelet's labels on compute nodes."""
    scheduler = _kueue_run_by(plan, device)
    if scheduler is not None:
        yield Artifact(device=device.name, path="etc/kueue/topology.yaml", source=_objects(plan, scheduler), kind=KIND)
        for name, content in _job_objects(plan, scheduler):
            yield Artifact(device=device.name, path=f"etc/kueue/{name}", source=content, kind=KIND)
    else:
        text = template("kueue/kubelet.j2").render(labels=labels(plan, device))
        yield Artifact(
            device=device.name, path=kubelet_file(plan.spec.image(device.image or "")), source=text.encode(), kind=KIND
        )


def _kueue_run_by(plan: Plan, device: Device) -> Scheduler | None:
    """The scheduler with a view for Kueue and this machine as a controller."""
    for scheduler in plan.spec.schedulers:
        if scheduler.kueue is not None and device.name in controllers(plan, scheduler):
            return scheduler
    return None


def _scheduled_by(plan: Plan, device: Device) -> Kueue | None:
    """The view for Kueue of a node's scheduler."""
    scheduler = plan.spec.scheduler(device.node_group)
    return None if scheduler is None else scheduler.kueue


def labels(plan: Plan, device: Device) -> tuple[tuple[str, str], ...]:
    """A node's topology labels, outermost first, and its flavour's selector."""
    kueue = _scheduled_by(plan, device)
    if kueue is None:
        return ()
    prefix = kueue.label_prefix
    group_at_level = {plan.group_by_name[name].level: name for name in device.groups}
    levels = reversed(domain_levels(plan, device.node_group))
    topology_labels = [(f"{prefix}/{level}", group_at_level[level]) for level in levels]
    return (*topology_labels, (f"{prefix}/{GROUP}", device.node_group))


def kubelet_file(image: Image | None) -> str:
    """File with KUBELET_EXTRA_ARGS for kubelet's unit: kubeadm's rpm names another file than its deb."""
    return family_of(image.distribution if image is not None else "").kubelet


@per_plan
def _objects(plan: Plan, scheduler: Scheduler) -> bytes:
    """A topology and a flavour for each node group: groups may have different levels, and jobs request a flavour."""
    views = []
    if scheduler.kueue is not None:
        views = [_view(plan, scheduler, scheduler.kueue, group) for group in scheduler.nodes]
    return template("kueue/topology.yaml.j2").render(views=views).encode()


def _view(plan: Plan, scheduler: Scheduler, kueue: Kueue, group: str) -> KueueView:
    suffix = f"-{group}" if len(scheduler.nodes) > 1 else ""
    levels = tuple(f"{kueue.label_prefix}/{level}" for level in reversed(domain_levels(plan, group)))
    return KueueView(
        topology=f"{plan.name}{suffix}",
        levels=(*levels, HOSTNAME),
        flavor=f"{kueue.flavor}{suffix}",
        group_label=f"{kueue.label_prefix}/{GROUP}",
        group=group,
    )


@per_plan
def _job_objects(plan: Plan, scheduler: Scheduler) -> tuple[tuple[str, bytes], ...]:
    """The environment of each NCCL profile for pods, and a pod's paths on its node."""
    scheduled_groups = set(scheduler.nodes)
    profiles = [profile for profile in plan.spec.nccl_profiles if not scheduled_groups.isdisjoint(profile.nodes)]
    texts = []
    for nccl in profiles:
        suffix = f"-{nccl.name}" if len(profiles) > 1 else ""
        texts += [(f"{name}{suffix}.yaml", text) for name, text in _of_profile(plan, nccl, suffix)]
    return tuple(texts)


def _of_profile(plan: Plan, nccl: NcclProfile, suffix: str) -> Iterator[tuple[str, bytes]]:
    settings = job_environment(plan, nccl.nodes[0])  # the same for every group of a profile
    group = plan.spec.node_group(nccl.nodes[0])
    image = plan.spec.image(group.image or "") if group is not None else None
    containers = image.containers if image is not None else None
    words = {
        "resources": _resources(plan, nccl),
        "shm_gb": containers.shm_size_gb if containers is not None else None,
        "suffix": suffix,
        "fixed": [setting for setting in settings if not setting.file_of_job],
        "of_job": [(setting.name, setting.file_of_job) for setting in settings if setting.file_of_job],
        "paths": job_paths(plan, nccl.nodes[0]),
        "folder": nccl.flight_recorder.folder if nccl.flight_recorder is not None else "",
    }
    for name in ("nccl", "pod"):
        yield name, template(f"kueue/{name}.yaml.j2").render(**words).encode()


def _resources(plan: Plan, nccl: NcclProfile) -> list[tuple[str, int]]:
    """A whole node's device plugin resources for a pod: all of its GPUs, and its RDMA devices together."""
    group = plan.spec.node_group(nccl.nodes[0])
    fabric = plan.spec.fabric(nccl.fabric)
    resources = []
    image = plan.spec.image(group.image or "") if group is not None else None
    vendor = gpu_vendor(group.model, image) if group is not None else None
    if group is not None and group.model.gpus is not None and vendor is not None and vendor.kubernetes_resource:
        resources.append((vendor.kubernetes_resource, group.model.gpus.count))
    if fabric is not None and fabric.technology != "ethernet":
        resources.append((RDMA_DEVICES, 1))
    return resources
