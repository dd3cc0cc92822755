"""CW150 to CW157: names that must exist. Every later rule relies on them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

from clusterwright.finding import Severity
from clusterwright.nearest_name import did_you_mean
from clusterwright.rules.rule import Problem, Subject, rule
from clusterwright.spec.fabric import Fabric, Side
from clusterwright.spec.hardware.models import DEVICE, HardwareModel
from clusterwright.spec.job import NcclProfile, Scheduler
from clusterwright.spec.model import CLUSTER, ClusterSpec, NodeGroup
from clusterwright.spec.text.document import Path

# The most names in a hint.
MOST_CHOICES = 12
# Searching thousands of names for a similar one is slow; after this many unknown names the cause is not a typo.
MOST_SUGGESTIONS = 20


class Reference(NamedTuple):
    """A name written in the spec, and its place."""

    name: str
    path: Path


def unknown(kind: str, name: str, names: Iterable[str], path: Path, owner: str = "") -> Problem:
    """A problem about a missing name, with the model or device lacking it and the nearest name."""
    choices = sorted(names)
    shown = ", ".join(choices[:MOST_CHOICES]) or "none"
    if len(choices) > MOST_CHOICES:
        shown += f", ... ({len(choices):,} in all)"
    hint = did_you_mean(name, choices, f"There is: {shown}.")
    subject = f"{owner} has" if owner else "There is"
    return Problem(path, f'{subject} no {kind} "{name}".', hint)


def _unknown_among(kind: str, references: Iterable[Reference], names: Collection[str]) -> Iterator[Problem]:
    all_references = list(references)  # a value in doubt among them stops the rule before its first finding
    for reference in all_references:
        if reference.name not in names:
            yield unknown(kind, reference.name, names, reference.path)


def _items(names: Iterable[str], path: Path) -> Iterator[Reference]:
    """The names of a list at ``path``."""
    for index, name in enumerate(names):
        yield Reference(name, (*path, index))


def _fabric_groups(fabric: Fabric) -> Iterator[Reference]:
    for attach in fabric.attach:
        if attach.nodes is not None:
            yield Reference(attach.nodes, (*attach.path, "nodes"))
    if fabric.subnet_manager is not None:
        yield Reference(fabric.subnet_manager.nodes, (*fabric.subnet_manager.path, "nodes"))
    for partition in fabric.partitions:
        if partition.ipoib is not None:
            for host in partition.ipoib.hosts:
                yield Reference(host.nodes, (*host.path, "nodes"))


def login_places(scheduler: Scheduler) -> Iterator[Reference]:
    """The login groups of a Slurm cluster, each with its place."""
    if scheduler.slurm is not None:
        yield from _items(scheduler.slurm.login, (*scheduler.path, "login"))


def _scheduler_groups(scheduler: Scheduler) -> Iterator[Reference]:
    controllers = scheduler.controllers
    if controllers.nodes is not None:
        yield Reference(controllers.nodes, (*controllers.path, "nodes"))
    accounting = scheduler.slurm.accounting if scheduler.slurm is not None else None
    if accounting is not None:
        yield Reference(accounting.nodes, (*accounting.path, "nodes"))
    yield from login_places(scheduler)


def _scheduled_groups(spec: ClusterSpec, scheduler: Scheduler) -> Iterator[Reference]:
    """The node groups of a scheduler and of its partitions."""
    yield from named_groups(spec, scheduler.nodes, (*scheduler.path, "nodes"))
    if scheduler.slurm is not None:
        for partition in scheduler.slurm.partitions:
            yield from named_groups(spec, partition.nodes, (*partition.path, "nodes"))


def node_group_names(spec: ClusterSpec) -> Iterator[Reference]:
    """Every node group named in the spec, with its place; used by the rules on NICs."""
    for fabric in spec.fabrics:
        yield from _fabric_groups(fabric)
    for mount in spec.mounts:
        if mount.system is not None:
            yield Reference(mount.system, (*mount.path, "system"))
        yield from _items(mount.nodes, (*mount.path, "nodes"))
    for zone in spec.zones:
        yield from _items(zone.nodes, (*zone.path, "nodes"))
    for scheduler in spec.schedulers:
        yield from _scheduler_groups(scheduler)
        yield from _scheduled_groups(spec, scheduler)
    for profile in spec.nccl_profiles:
        yield from named_groups(spec, profile.nodes, (*profile.path, "nodes"))
    for job in spec.jobs:
        yield Reference(job.nodes, (*job.path, "nodes"))
    yield from _service_groups(spec)


def _service_groups(spec: ClusterSpec) -> Iterator[Reference]:
    """The node groups of the boot servers and of the clients of GPU metrics."""
    if spec.boot is not None:
        yield Reference(spec.boot.servers, (*spec.boot.path, "servers"))
    for image in spec.images:
        if image.gpu_metrics is not None:
            yield Reference(image.gpu_metrics.asked_by, (*image.gpu_metrics.path, "asked_by"))


def named_groups(spec: ClusterSpec, names: Iterable[str], path: Path) -> Iterator[Reference]:
    """The node groups written at ``path``, one name or a list, each with its place."""
    if isinstance(spec.document.at(path), list):
        yield from _items(names, path)
        return
    for name in names:
        yield Reference(name, path)


def named_twice(spec: ClusterSpec, owners: Iterable[NcclProfile | Scheduler]) -> Iterator[Reference]:
    """Node groups under `nodes` of two ``owners``, with their place in the later one."""
    seen: set[str] = set()
    for owner in owners:
        for group in named_groups(spec, owner.nodes, (*owner.path, "nodes")):
            if group.name in seen:
                yield group
        seen.update(owner.nodes)


@rule("CW150", Severity.ERROR, relied_on=True)
def unknown_node_group(subject: Subject) -> Iterator[Problem]:
    """Undefined node groups."""
    group_names = {group.name for group in subject.spec.node_groups}
    references = [*_enclosing_groups(subject.spec), *node_group_names(subject.spec)]
    yield from _unknown_among("node group", references, group_names)


def _enclosing_groups(spec: ClusterSpec) -> Iterator[Reference]:
    for group in spec.node_groups:
        if group.inside is not None:
            yield Reference(group.inside.nodes, (*group.inside.path, "nodes"))


@rule("CW151", Severity.ERROR, relied_on=True)
def unknown_fabric(subject: Subject) -> Iterator[Problem]:
    """Undefined fabrics."""
    fabric_names = {fabric.name for fabric in subject.spec.fabrics}
    yield from _unknown_among("fabric", _fabric_names(subject.spec), fabric_names)


def _fabric_names(spec: ClusterSpec) -> Iterator[Reference]:
    for zone in spec.zones:
        yield from _items(zone.fabrics, (*zone.path, "fabrics"))
    for nccl in spec.nccl_profiles:
        yield Reference(nccl.fabric, (*nccl.path, "fabric"))
        yield Reference(nccl.sockets, (*nccl.path, "sockets"))
    if spec.boot is not None:
        yield Reference(spec.boot.fabric, (*spec.boot.path, "fabric"))


@rule("CW152", Severity.ERROR, relied_on=True)
def unknown_zone(subject: Subject) -> Iterator[Problem]:
    """Undefined zones."""
    zone_names = {zone.name for zone in subject.spec.zones}
    yield from _unknown_among("zone", _zone_names(subject.spec), zone_names)


def _zone_names(spec: ClusterSpec) -> Iterator[Reference]:
    for group in spec.node_groups:
        if group.zone is not None:
            yield Reference(group.zone, (*group.path, "zone"))
    for flow in spec.flows:
        yield Reference(flow.source, (*flow.path, "from"))
        yield Reference(flow.target, (*flow.path, "to"))
    for fabric in spec.fabrics:
        for partition in fabric.partitions:
            yield from _items(partition.zones, (*partition.path, "zones"))


@rule("CW153", Severity.ERROR, relied_on=True)
def unknown_image(subject: Subject) -> Iterator[Problem]:
    """Undefined images."""
    image_names = {image.name for image in subject.spec.images}
    yield from _unknown_among("image", _image_names(subject.spec), image_names)


def _image_names(spec: ClusterSpec) -> Iterator[Reference]:
    for group in spec.node_groups:
        if group.image is not None:
            yield Reference(group.image, (*group.path, "image"))
    for item in spec.exceptions:
        if item.image is not None:
            yield Reference(item.image, (*item.path, "image"))


@rule("CW154", Severity.ERROR, relied_on=True)
def unknown_nic_group(subject: Subject) -> Iterator[Problem]:
    """NIC groups missing in the attached node's model."""
    for fabric in subject.spec.fabrics:
        for attach in fabric.attach:
            group = subject.spec.node_group(attach.nodes or "")
            if group is None or attach.nics is None or group.model.kind == DEVICE:
                continue  # CW150 and CW235
            if group.model.nic_group(attach.nics) is None:
                nic_groups = [nics.name for nics in group.model.nic_groups]
                yield unknown("NIC group", attach.nics, nic_groups, (*attach.path, "nics"), group.model.name)


def _unknown_levels_inside(spec: ClusterSpec) -> Iterator[Problem]:
    """Levels under `inside` missing in the enclosing node group."""
    for group in spec.node_groups:
        host = spec.node_group(group.inside.nodes) if group.inside is not None else None
        if group.inside is None or host is None or host.inside is not None:
            continue
        level_names = {level.name for level in host.levels}
        if group.inside.level not in level_names:
            yield unknown("level", group.inside.level, level_names, (*group.inside.path, "level"), host.name)


@rule("CW155", Severity.ERROR, relied_on=True)
def unknown_level(subject: Subject) -> Iterator[Problem]:
    """Levels missing in all node groups concerned."""
    spec = subject.spec
    yield from _unknown_levels_inside(spec)
    for group in spec.node_groups:
        yield from _unknown_larger_levels(group)
    for fabric in spec.fabrics:
        yield from _unknown_tier_levels(spec, fabric)
    yield from _unknown_leaf_levels(spec)


def _unknown_larger_levels(group: NodeGroup) -> Iterator[Problem]:
    names = [level.name for level in group.levels]
    for depth, level in enumerate(group.levels):
        larger = [*names[depth + 1 :], CLUSTER]
        if level.within not in larger:
            yield unknown(f"level larger than {level.name}", level.within, larger, (*level.path, "within"))


def _unknown_tier_levels(spec: ClusterSpec, fabric: Fabric) -> Iterator[Problem]:
    attached_names = {attach.nodes for attach in fabric.attach}
    level_names = {CLUSTER}
    for group in spec.node_groups:
        if group.name in attached_names or None in attached_names:
            level_names.update(level.name for level in group.levels)
    for tier in fabric.tiers:
        if tier.per not in level_names:
            yield unknown("level", tier.per, level_names, (*tier.path, "per"))
        if tier.stands is not None and tier.stands not in level_names:
            yield unknown("level", tier.stands, level_names, (*tier.path, "stands"))


def _unknown_leaf_levels(spec: ClusterSpec) -> Iterator[Problem]:
    for scheduler in spec.schedulers:
        slurm = scheduler.slurm
        if slurm is None:
            continue
        for name in scheduler.nodes:
            scheduled = spec.node_group(name)
            if scheduled is None:
                continue
            level_names = {level.name for level in scheduled.levels}
            if slurm.leaf not in level_names:
                yield unknown("level", slurm.leaf, level_names, (*slurm.path, "leaf"), scheduled.name)


@rule("CW156", Severity.ERROR, relied_on=True)
def unknown_block(subject: Subject) -> Iterator[Problem]:
    """Port blocks and port modes missing in the tier's model."""
    for fabric in subject.spec.fabrics:
        for tier in fabric.tiers:
            yield from _unknown_ports(tier.model, tier.down)
            if tier.up is not None:
                yield from _unknown_ports(tier.model, tier.up.side)


def _unknown_ports(model: HardwareModel, side: Side) -> Iterator[Problem]:
    block_names = [block.name for block in model.blocks]
    modes = {mode.name for mode in model.port_modes}
    for block in _items(side.blocks, (*side.path, "blocks")):
        if block.name not in block_names:
            yield unknown("port block", block.name, block_names, block.path, model.name)
    if side.mode is not None and side.mode not in modes:
        yield unknown("port mode", side.mode, modes, (*side.path, "mode"), model.name)


@rule("CW157", Severity.ERROR)
def unknown_exception_target(subject: Subject) -> Iterator[Problem]:
    """Devices, groups and ports of exceptions missing in the plan."""
    spec, skeleton = subject.spec, subject.skeleton
    if not spec.exceptions:
        return
    groups = {group.name for group in skeleton.layout.groups}
    models = {node.name: spec.node_groups[node.node_group].model for node in skeleton.layout.nodes}
    for fabric in skeleton.fabrics:
        models |= {seat.name: fabric.fabric.tiers[seat.tier].model for seat in fabric.seats}
    unknown_count = 0
    for item in spec.exceptions:
        for kind, name, names in (("group", item.group, groups), ("device", item.device, models)):
            if name is None or name in names:
                continue
            unknown_count += 1
            if unknown_count <= MOST_SUGGESTIONS:
                yield unknown(kind, name, names, (*item.path, kind))
            else:
                message = f'There is no {kind} "{name}".'
                yield Problem((*item.path, kind), message, "Use a name that `clusterwright inventory` prints.")
        if item.port is not None and item.device in models:
            ports = models[item.device].port_names
            if item.port not in ports:
                yield unknown("port", item.port, ports, (*item.path, "port"), item.device)
