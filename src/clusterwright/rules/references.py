"""CW15x: names that must exist, and exist once. These run first; every later rule relies on them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from difflib import get_close_matches

from clusterwright.finding import Severity
from clusterwright.rules.rule import Problem, Stage, Subject, rule
from clusterwright.spec.document import Path
from clusterwright.spec.model import CLUSTER, ClusterSpec


def unknown(kind: str, name: str, known: Iterable[str], path: Path) -> Problem:
    """A problem that says what does not exist and what was probably meant."""
    choices = sorted(known)
    close = get_close_matches(name, choices, n=1)
    hint = f'Did you mean "{close[0]}"?' if close else f"There is: {', '.join(choices) or 'none'}."
    return Problem(path, f'There is no {kind} "{name}".', hint)


def _node_group_names(spec: ClusterSpec) -> Iterator[tuple[str, Path]]:
    for fabric in spec.fabrics:
        for attach in fabric.attach:
            if attach.nodes is not None:
                yield attach.nodes, (*attach.path, "nodes")
        if fabric.subnet_manager:
            yield fabric.subnet_manager.nodes, (*fabric.subnet_manager.path, "nodes")
    for mount in spec.mounts:
        yield mount.system, (*mount.path, "system")
        yield from ((name, (*mount.path, "nodes", at)) for at, name in enumerate(mount.nodes))
    for zone in spec.zones:
        yield from ((name, (*zone.path, "nodes", at)) for at, name in enumerate(zone.nodes))
    if spec.nccl:
        yield spec.nccl.nodes, (*spec.nccl.path, "nodes")
    if spec.scheduler:
        yield spec.scheduler.nodes, (*spec.scheduler.path, "nodes")


@rule(
    code="CW150",
    severity=Severity.ERROR,
    title="unknown node group",
    why="A fabric, mount, zone, NCCL profile or scheduler that names no existing nodes would silently serve nobody.",
    mend="Name one of the groups under `nodes:`.",
)
def unknown_node_group(subject: Subject) -> Iterator[Problem]:
    """Node groups that are named but not described."""
    known = {group.name for group in subject.spec.node_groups}
    for name, path in _node_group_names(subject.spec):
        if name not in known:
            yield unknown("node group", name, known, path)


@rule(
    code="CW151",
    severity=Severity.ERROR,
    title="unknown fabric",
    why="NCCL settings and zones are derived from the fabric they name.",
    mend="Name one of the fabrics under `fabrics:`.",
)
def unknown_fabric(subject: Subject) -> Iterator[Problem]:
    """Fabrics that are named but not described."""
    spec = subject.spec
    known = {fabric.name for fabric in spec.fabrics}
    named = [(name, (*zone.path, "fabrics", at)) for zone in spec.zones for at, name in enumerate(zone.fabrics)]
    if spec.nccl:
        named += [(spec.nccl.fabric, (*spec.nccl.path, "fabric")), (spec.nccl.sockets, (*spec.nccl.path, "sockets"))]
    yield from (unknown("fabric", name, known, path) for name, path in named if name not in known)


@rule(
    code="CW152",
    severity=Severity.ERROR,
    title="unknown zone",
    why="A flow or a partition between zones that do not exist opens nothing, and nobody notices until a job hangs.",
    mend="Name one of the zones under `zones:`.",
)
def unknown_zone(subject: Subject) -> Iterator[Problem]:
    """Zones that are named but not described."""
    spec = subject.spec
    known = {zone.name for zone in spec.zones}
    named: list[tuple[str, Path]] = []
    named += [(group.zone, (*group.path, "zone")) for group in spec.node_groups if group.zone is not None]
    for flow in spec.flows:
        named += [(flow.source, (*flow.path, "from")), (flow.target, (*flow.path, "to"))]
    for fabric in spec.fabrics:
        for partition in fabric.partitions:
            named += [(name, (*partition.path, "zones", at)) for at, name in enumerate(partition.zones)]
    yield from (unknown("zone", name, known, path) for name, path in named if name not in known)


@rule(
    code="CW153",
    severity=Severity.ERROR,
    title="unknown image",
    why="Nodes cannot boot an image that nobody describes.",
    mend="Name one of the images under `images:`.",
)
def unknown_image(subject: Subject) -> Iterator[Problem]:
    """Images that are named but not described."""
    spec = subject.spec
    known = {image.name for image in spec.images}
    named = [(group.image, (*group.path, "image")) for group in spec.node_groups if group.image is not None]
    named += [(item.image, (*item.path, "image")) for item in spec.exceptions if item.image is not None]
    yield from (unknown("image", name, known, path) for name, path in named if name not in known)


@rule(
    code="CW154",
    severity=Severity.ERROR,
    title="unknown NIC group",
    why="The NICs that a fabric serves are those that the node's hardware model lists.",
    mend="Name a NIC group of the node's model.",
)
def unknown_nic_group(subject: Subject) -> Iterator[Problem]:
    """NIC groups that the attached node's model does not have."""
    for fabric in subject.spec.fabrics:
        for attach in fabric.attach:
            group = subject.spec.node_group(attach.nodes or "")
            if group and attach.nics is not None and group.model.nic_group(attach.nics) is None:
                known = [nics.name for nics in group.model.nic_groups]
                yield unknown(f"NIC group of {group.model.name}", attach.nics, known, (*attach.path, "nics"))


@rule(
    code="CW155",
    severity=Severity.ERROR,
    title="unknown level",
    why="Switches, names and scheduler blocks belong to a level (rack, pod, ...) that the nodes are grouped by.",
    mend="Name a level of the attached nodes, or `cluster`.",
)
def unknown_level(subject: Subject) -> Iterator[Problem]:
    """Levels that none of the nodes concerned has."""
    spec = subject.spec
    for group in spec.node_groups:
        names = [level.name for level in group.levels]
        for depth, level in enumerate(group.levels):
            larger = [*names[depth + 1 :], CLUSTER]
            if level.within not in larger:
                yield unknown(f"level larger than {level.name}", level.within, larger, (*level.path, "within"))
    for fabric in spec.fabrics:
        names_attached = {attach.nodes for attach in fabric.attach}
        served = [group for group in spec.node_groups if group.name in names_attached or None in names_attached]
        known = {level.name for group in served for level in group.levels} | {CLUSTER}
        for tier in fabric.tiers:
            if tier.per not in known:
                yield unknown("level", tier.per, known, (*tier.path, "per"))
    if spec.scheduler and (scheduled := spec.node_group(spec.scheduler.nodes)):
        known = {level.name for level in scheduled.levels}
        if spec.scheduler.leaf not in known:
            yield unknown("level", spec.scheduler.leaf, known, (*spec.scheduler.path, "leaf"))


@rule(
    code="CW156",
    severity=Severity.ERROR,
    title="unknown port block or mode",
    why="Ports are taken from the blocks that the switch's hardware model lists.",
    mend="Name blocks and modes of the switch's model.",
)
def unknown_block(subject: Subject) -> Iterator[Problem]:
    """Port blocks and modes that the tier's model does not have."""
    for fabric in subject.spec.fabrics:
        for tier in fabric.tiers:
            known = [block.name for block in tier.model.blocks]
            modes = {mode.name for block in tier.model.blocks for mode in block.modes}
            for side in (tier.down, tier.up.side if tier.up else None):
                if side is None:
                    continue
                for at, name in enumerate(side.blocks):
                    if name not in known:
                        yield unknown(f"port block of {tier.model.name}", name, known, (*side.path, "blocks", at))
                if side.mode is not None and side.mode not in modes:
                    yield unknown(f"port mode of {tier.model.name}", side.mode, modes, (*side.path, "mode"))


@rule(
    code="CW157",
    severity=Severity.ERROR,
    title="exception for something that does not exist",
    why="An exception that matches nothing leaves the switch in service that somebody meant to drain.",
    mend="Use the planned name, as `clusterwright inventory` prints it.",
    stage=Stage.SKELETON,
)
def unknown_exception_target(subject: Subject) -> Iterator[Problem]:
    """Devices and groups that exceptions name but the plan lacks."""
    spec, skeleton = subject.spec, subject.skeleton
    if not spec.exceptions:
        return
    groups = {group.name for group in skeleton.layout.groups}
    switches = {seat.name: fabric.fabric.tiers[seat.tier] for fabric in skeleton.fabrics for seat in fabric.seats}
    devices = {node.name for node in skeleton.layout.nodes} | switches.keys()
    for item in spec.exceptions:
        if item.group is not None and item.group not in groups:
            yield unknown("group", item.group, groups, (*item.path, "group"))
        if item.device is not None and item.device not in devices:
            yield unknown("device", item.device, devices, (*item.path, "device"))
        elif item.port is not None and item.device in switches:
            blocks = switches[item.device].model.blocks
            ports = {c + s for b in blocks for c in b.cages for mode in b.modes for s in mode.subports}
            if item.port not in ports:
                yield unknown(f"port of {item.device}", item.port, ports, (*item.path, "port"))


@rule(
    code="CW158",
    severity=Severity.ERROR,
    title="name used twice",
    why="Two things of one name cannot be told apart by what refers to them, nor by an operator.",
    mend="Give each its own name.",
)
def duplicate_name(subject: Subject) -> Iterator[Problem]:
    """Items of one list, or switch roles, that share a name."""
    spec = subject.spec
    lists = [
        [(item.name, (*item.path, "name")) for item in items]
        for items in (spec.node_groups, spec.fabrics, spec.zones, spec.images, spec.flows, spec.mounts)
    ]
    lists += [[(item.name, (*item.path, "name")) for item in fabric.classes] for fabric in spec.fabrics]
    lists += [[(item.name, (*item.path, "name")) for item in fabric.partitions] for fabric in spec.fabrics]
    lists += [[(level.name, (*level.path, "name")) for level in group.levels] for group in spec.node_groups]
    lists.append([(tier.role, (*tier.path, "role")) for fabric in spec.fabrics for tier in fabric.tiers])
    lists.append([(group.prefix, group.path) for group in spec.node_groups if len(spec.node_groups) > 1])
    for named in lists:
        seen: set[str] = set()
        for name, path in named:
            if name in seen:
                yield Problem(path, f'"{name}" is used twice.', "Choose another name for one of them.")
            seen.add(name)
