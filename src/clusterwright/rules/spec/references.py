"""CW150 to CW159 and CW165: names that must exist and be unique. Every later rule relies on them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain

from clusterwright.finding import Severity
from clusterwright.nearest_name import did_you_mean
from clusterwright.rules.rule import Problem, Subject, rule
from clusterwright.spec.fabric import Fabric
from clusterwright.spec.hardware.models import DEVICE
from clusterwright.spec.job import NcclProfile, Scheduler
from clusterwright.spec.model import CLUSTER, ClusterSpec
from clusterwright.spec.text.document import Path

# The most names in a hint.
MOST_CHOICES = 12
# Searching thousands of names for a similar one is slow; after this many unknown names the cause is not a typo.
MOST_SUGGESTIONS = 20


def unknown(kind: str, name: str, names: Iterable[str], path: Path, owner: str = "") -> Problem:
    """A problem about a missing name, with the model or device lacking it and the nearest name."""
    choices = sorted(names)
    shown = ", ".join(choices[:MOST_CHOICES]) + (f", ... ({len(choices):,} in all)" if choices[MOST_CHOICES:] else "")
    hint = did_you_mean(name, choices, f"There is: {shown or 'none'}.")
    return Problem(path, f'{owner} has no {kind} "{name}".' if owner else f'There is no {kind} "{name}".', hint)


def _fabric_groups(fabric: Fabric) -> Iterator[tuple[str, Path]]:
    for attach in fabric.attach:
        if attach.nodes is not None:
            yield attach.nodes, (*attach.path, "nodes")
    if fabric.subnet_manager:
        yield fabric.subnet_manager.nodes, (*fabric.subnet_manager.path, "nodes")
    for partition in fabric.partitions:
        if partition.ipoib is not None:
            yield from ((host.nodes, (*host.path, "nodes")) for host in partition.ipoib.hosts)


def login_places(scheduler: Scheduler) -> Iterator[tuple[str, Path]]:
    """The login groups of a Slurm cluster, each with its place."""
    if scheduler.slurm is not None:
        for index, name in enumerate(scheduler.slurm.login):
            yield name, (*scheduler.path, "login", index)


def _scheduler_groups(scheduler: Scheduler) -> Iterator[tuple[str, Path]]:
    if scheduler.controllers.nodes is not None:
        yield scheduler.controllers.nodes, (*scheduler.controllers.path, "nodes")
    if scheduler.slurm is not None and scheduler.slurm.accounting is not None:
        yield scheduler.slurm.accounting.nodes, (*scheduler.slurm.accounting.path, "nodes")
    yield from login_places(scheduler)


def node_group_names(spec: ClusterSpec) -> Iterator[tuple[str, Path]]:
    """Every node group named in the spec, with its place; used by the rules on NICs."""
    for fabric in spec.fabrics:
        yield from _fabric_groups(fabric)
    for mount in spec.mounts:
        if mount.system is not None:
            yield mount.system, (*mount.path, "system")
        yield from ((name, (*mount.path, "nodes", index)) for index, name in enumerate(mount.nodes))
    for zone in spec.zones:
        yield from ((name, (*zone.path, "nodes", index)) for index, name in enumerate(zone.nodes))
    for scheduler in spec.schedulers:
        yield from _scheduler_groups(scheduler)
    slurms = [scheduler.slurm for scheduler in spec.schedulers if scheduler.slurm is not None]
    partitions = chain.from_iterable(slurm.partitions for slurm in slurms)
    users = [
        *((nccl_profile.nodes, nccl_profile.path) for nccl_profile in spec.nccl_profiles),
        *((scheduler.nodes, scheduler.path) for scheduler in spec.schedulers),
        *((partition.nodes, partition.path) for partition in partitions),
    ]
    for names, path in users:
        yield from named_groups(spec, names, (*path, "nodes"))
    if spec.boot:
        yield spec.boot.servers, (*spec.boot.path, "servers")
    metrics = (image.gpu_metrics for image in spec.images if image.gpu_metrics is not None)
    yield from ((metric.asked_by, (*metric.path, "asked_by")) for metric in metrics)
    for job in spec.jobs:
        yield job.nodes, (*job.path, "nodes")


def named_groups(spec: ClusterSpec, names: Iterable[str], path: Path) -> Iterator[tuple[str, Path]]:
    """The node groups written at ``path``, one name or a list, each with its place."""
    is_list = isinstance(spec.document.at(path), list)
    yield from ((name, (*path, index) if is_list else path) for index, name in enumerate(names))


def named_twice(spec: ClusterSpec, owners: Iterable[NcclProfile | Scheduler]) -> Iterator[tuple[str, Path]]:
    """Node groups under `nodes` of two ``owners``, with their place in the later one."""
    seen: set[str] = set()
    for owner in owners:
        yield from (group for group in named_groups(spec, owner.nodes, (*owner.path, "nodes")) if group[0] in seen)
        seen.update(owner.nodes)


@rule("CW150", Severity.ERROR, relied_on=True)
def unknown_node_group(subject: Subject) -> Iterator[Problem]:
    """Undefined node groups."""
    group_names = {group.name for group in subject.spec.node_groups}
    inside = [(group.inside.nodes, (*group.inside.path, "nodes")) for group in subject.spec.node_groups if group.inside]
    for name, path in (*inside, *node_group_names(subject.spec)):
        if name not in group_names:
            yield unknown("node group", name, group_names, path)


@rule("CW151", Severity.ERROR, relied_on=True)
def unknown_fabric(subject: Subject) -> Iterator[Problem]:
    """Undefined fabrics."""
    spec = subject.spec
    fabric_names = {fabric.name for fabric in spec.fabrics}
    named: list[tuple[str, Path]] = []
    for zone in spec.zones:
        named += [(name, (*zone.path, "fabrics", index)) for index, name in enumerate(zone.fabrics)]
    for nccl in spec.nccl_profiles:
        named += [(nccl.fabric, (*nccl.path, "fabric")), (nccl.sockets, (*nccl.path, "sockets"))]
    if spec.boot:
        named.append((spec.boot.fabric, (*spec.boot.path, "fabric")))
    yield from (unknown("fabric", name, fabric_names, path) for name, path in named if name not in fabric_names)


@rule("CW152", Severity.ERROR, relied_on=True)
def unknown_zone(subject: Subject) -> Iterator[Problem]:
    """Undefined zones."""
    spec = subject.spec
    zone_names = {zone.name for zone in spec.zones}
    named: list[tuple[str, Path]] = []
    named += [(group.zone, (*group.path, "zone")) for group in spec.node_groups if group.zone is not None]
    for flow in spec.flows:
        named += [(flow.source, (*flow.path, "from")), (flow.target, (*flow.path, "to"))]
    for fabric in spec.fabrics:
        for partition in fabric.partitions:
            named += [(name, (*partition.path, "zones", index)) for index, name in enumerate(partition.zones)]
    yield from (unknown("zone", name, zone_names, path) for name, path in named if name not in zone_names)


@rule("CW153", Severity.ERROR, relied_on=True)
def unknown_image(subject: Subject) -> Iterator[Problem]:
    """Undefined images."""
    spec = subject.spec
    image_names = {image.name for image in spec.images}
    named = [(group.image, (*group.path, "image")) for group in spec.node_groups if group.image is not None]
    named += [(item.image, (*item.path, "image")) for item in spec.exceptions if item.image is not None]
    yield from (unknown("image", name, image_names, path) for name, path in named if name not in image_names)


@rule("CW154", Severity.ERROR, relied_on=True)
def unknown_nic_group(subject: Subject) -> Iterator[Problem]:
    """NIC groups missing in the attached node's model."""
    for fabric in subject.spec.fabrics:
        for attach in fabric.attach:
            group = subject.spec.node_group(attach.nodes or "")
            if group and group.model.kind == DEVICE:
                continue  # CW235
            if group and attach.nics is not None and group.model.nic_group(attach.nics) is None:
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
        names = [level.name for level in group.levels]
        for depth, level in enumerate(group.levels):
            larger = [*names[depth + 1 :], CLUSTER]
            if level.within not in larger:
                yield unknown(f"level larger than {level.name}", level.within, larger, (*level.path, "within"))
    for fabric in spec.fabrics:
        names_attached = {attach.nodes for attach in fabric.attach}
        served = [group for group in spec.node_groups if group.name in names_attached or None in names_attached]
        level_names = {CLUSTER}
        for group in served:
            level_names.update(level.name for level in group.levels)
        for tier in fabric.tiers:
            if tier.per not in level_names:
                yield unknown("level", tier.per, level_names, (*tier.path, "per"))
            if tier.stands is not None and tier.stands not in level_names:
                yield unknown("level", tier.stands, level_names, (*tier.path, "stands"))
    yield from _unknown_leaf_levels(spec)


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
            block_names = [block.name for block in tier.model.blocks]
            modes = {mode.name for mode in tier.model.port_modes}
            sides = (tier.down, tier.up.side) if tier.up else (tier.down,)
            for side in sides:
                strangers = [(index, name) for index, name in enumerate(side.blocks) if name not in block_names]
                for index, name in strangers:
                    yield unknown("port block", name, block_names, (*side.path, "blocks", index), tier.model.name)
                if side.mode is not None and side.mode not in modes:
                    yield unknown("port mode", side.mode, modes, (*side.path, "mode"), tier.model.name)


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
    missed = 0
    for item in spec.exceptions:
        for kind, name, names in (("group", item.group, groups), ("device", item.device, models)):
            if name is not None and name not in names:
                missed += 1
                if missed <= MOST_SUGGESTIONS:
                    yield unknown(kind, name, names, (*item.path, kind))
                else:
                    message = f'There is no {kind} "{name}".'
                    yield Problem((*item.path, kind), message, "Use a name that `clusterwright inventory` prints.")
        if item.port is not None and item.device in models:
            ports = models[item.device].port_names
            if item.port not in ports:
                yield unknown("port", item.port, ports, (*item.path, "port"), item.device)


LONGEST_LABEL = 63  # RFC 1035, 2.3.4


@rule("CW158", Severity.ERROR, relied_on=True)
def duplicate_name(subject: Subject) -> Iterator[Problem]:
    """Items of one list, or switch roles, with the same name."""
    spec = subject.spec
    for group in spec.node_groups:
        for level in group.levels:
            if level.name == CLUSTER:
                yield Problem((*level.path, "name"), '"cluster" is the whole cluster already.', "Choose another name.")
    for kind, named in _lists(spec):
        seen: set[str] = set()
        for name, path in named:
            if name in seen:
                yield Problem(path, f'Two {kind} are called "{name}".', "Choose another name for one of them.")
            seen.add(name)


def _lists(spec: ClusterSpec) -> Iterator[tuple[str, list[tuple[str, Path]]]]:
    """Lists with unique names: the kind of item, and each name with its place.

    The lists of the skeleton come first: doubts about another list must not keep them from being checked.
    """
    for kind, items in (("node groups", spec.node_groups), ("fabrics", spec.fabrics)):
        yield kind, [(item.name, (*item.path, "name")) for item in items]
    for group in spec.node_groups:
        yield f"levels of {group.name}", [(level.name, (*level.path, "name")) for level in group.levels]
    yield "switch roles", [(tier.role, (*tier.path, "role")) for tier in spec.tiers]
    yield "prefixes of node names", [(group.prefix, (*group.path, "prefix")) for group in spec.node_groups]
    for fabric in spec.fabrics:
        yield f"classes of {fabric.name}", [(item.name, (*item.path, "name")) for item in fabric.classes]
        yield f"partitions of {fabric.name}", [(item.name, (*item.path, "name")) for item in fabric.partitions]
    yield "NCCL profiles", [(item.name, (*item.path, "name")) for item in spec.nccl_profiles if item.name is not None]
    yield "schedulers", [(item.name, (*item.path, "name")) for item in spec.schedulers if item.name is not None]
    for slurm in (scheduler.slurm for scheduler in spec.schedulers if scheduler.slurm is not None):
        yield "partitions of Slurm", [(item.name, (*item.path, "name")) for item in slurm.partitions]
    yield "zones", [(item.name, (*item.path, "name")) for item in spec.zones]
    yield "images", [(item.name, (*item.path, "name")) for item in spec.images]
    yield "flows", [(item.name, (*item.path, "name")) for item in spec.flows]
    yield "mounts", [(item.name, (*item.path, "name")) for item in spec.mounts]
    yield "borders", [(item.name, (*item.path, "name")) for item in spec.borders]
    yield "promises", [(item.name, (*item.path, "name")) for item in spec.promises]


@rule("CW159", Severity.WARNING)
def shared_letter(subject: Subject) -> Iterator[Problem]:
    """Levels of a node group with the same letter in node names."""
    for group in subject.spec.node_groups:
        seen: dict[str, str] = {}
        for level in group.levels:
            if level.code in seen:
                message = f'Levels {seen[level.code]} and {level.name} of {group.name} are both called "{level.code}".'
                yield Problem((*level.path, "code"), message, f'Give {level.name} a `code` of its own, such as "w".')
            seen.setdefault(level.code, level.name)


@rule("CW165", Severity.ERROR)
def planned_name(subject: Subject) -> Iterator[Problem]:
    """Duplicate planned names of nodes and switches, and names too long for DNS; the first one of each tier."""
    skeleton = subject.skeleton
    groups = subject.spec.node_groups
    paths = [(*group.path, "name_pattern" if group.name_pattern else "name") for group in groups]
    named: list[tuple[str, Path]] = [(node.name, paths[node.node_group]) for node in skeleton.layout.nodes]
    for fabric in skeleton.fabrics:
        tiers = [(*tier.path, "name_pattern" if tier.name_pattern else "role") for tier in fabric.fabric.tiers]
        named += [(seat.name, tiers[seat.tier]) for seat in fabric.seats]
    seen: set[str] = set()
    reported: set[Path] = set()
    for name, path in named:
        if path not in reported and (name in seen or len(name) > LONGEST_LABEL):
            reported.add(path)
            what = "would be the name of two devices" if name in seen else f"has {len(name)} characters, DNS takes 63"
            yield Problem(path, f'"{name}" {what}.', "Choose another role, prefix, pattern or line of `device_names`.")
        seen.add(name)
