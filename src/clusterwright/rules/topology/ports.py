"""CW201, CW205, CW208, CW211, CW223, CW692: a port at both ends of every link, of one speed, technology and lanes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

from clusterwright.finding import Severity
from clusterwright.plan.ports import Allocation, PortShortage, capacity, modes_at, platform_faults
from clusterwright.plan.skeleton import FabricSkeleton, joins
from clusterwright.rules.rule import Problem, Subject, rule
from clusterwright.spec.attachment import TierOrder, attached_nics, attached_tier, tier_order
from clusterwright.spec.fabric import Attach, Fabric, Side, Tier, Uplinks
from clusterwright.spec.hardware.cages import PortBlock, PortMode
from clusterwright.spec.hardware.lanes import can_join
from clusterwright.spec.hardware.models import HardwareModel
from clusterwright.spec.model import ClusterSpec, NodeGroup
from clusterwright.spec.text.document import Path


class AttachedSpeed(NamedTuple):
    """The speed of a node group's ports on a fabric, a phrase for the ports, and the place of the attachment."""

    ports: str
    speed_gbps: int
    path: Path


@rule("CW201", Severity.ERROR, leaves_no_plan=True)
def too_few_ports(subject: Subject) -> Iterator[Problem]:
    """Tiers with too few ports at a switch, at the speed and in the blocks configured."""
    for skeleton, shortage in subject.allotted:
        if not isinstance(shortage, PortShortage):
            continue
        tier = skeleton.fabric.tiers[shortage.tier]
        if shortage.side == "up" and tier.up is not None:
            path, side, purpose = (*tier.up.path, "links"), tier.up.side, "for its uplinks"
            hint = "Use fewer links, a larger model, or other `blocks` for the downlinks."
        else:
            path, side, purpose = (*tier.path, "model"), tier.down, "for the links from below"
            if tier.up is not None:
                purpose += f", and others for {tier.up.links} uplinks"
            hint = _more_room(subject.spec, skeleton.fabric, shortage.tier)
        yield Problem(
            path,
            f"{shortage.switch} needs {shortage.need} ports of {shortage.speed_gbps}G {purpose}; "
            f"{tier.model.name} has {shortage.have} left for them{_in_blocks(side)}.",
            hint,
        )


def _more_room(spec: ClusterSpec, fabric: Fabric, depth: int) -> str:
    """A hint for links from below. More switches than uplinks of a switch below would leave a fabric in pieces."""
    tier = fabric.tiers[depth]
    if depth == 0 and tier.up is None and tier.join == "all":
        return f"Take a larger model, attach less, or put a tier above {tier.role}: then several of them are joined."
    for index in tier_order(spec, fabric).next_below(depth):
        lower = fabric.tiers[index]
        if lower.up is not None and lower.up.links <= tier.count:
            return (
                f"Take a larger model, attach fewer links to each, or put more {tier.role} switches there and give each"
                f" {lower.role} an uplink to every one."
            )
    return f"Put more {tier.role} switches there, attach fewer links to each, or take a larger model."


def _in_blocks(side: Side) -> str:
    return f" in {', '.join(side.blocks)}" if side.blocks else ""


@rule("CW205", Severity.ERROR, leaves_no_plan=True)
def speed_mismatch(subject: Subject) -> Iterator[Problem]:
    """Speeds of NICs, management ports and uplinks not supported by the ports at the other end."""
    spec = subject.spec
    groups = {group.name: group for group in spec.node_groups}
    for fabric in spec.fabrics:
        for attach in fabric.attach:
            attached = spec.node_groups if attach.is_management else (groups.get(attach.nodes or ""),)
            for group in attached:
                if group is not None:
                    yield from _attached_mismatch(fabric, attach, group)
        order = tier_order(spec, fabric)
        for depth, tier in enumerate(fabric.tiers):
            if tier.up is not None:
                yield from _uplink_mismatch(fabric, tier, tier.up, order.next_above(depth))


def _attached_mismatch(fabric: Fabric, attach: Attach, group: NodeGroup) -> Iterator[Problem]:
    tier = attached_tier(fabric, attach, group)
    attached = _attached_speed(attach, group)
    if tier is None or attached is None or _has_speed(fabric, tier, tier.down, attached.speed_gbps):
        return
    yield Problem(
        attached.path,
        f"{attached.ports} run at {attached.speed_gbps}G, which the ports of {tier.role} "
        f"({tier.model.name}) do not offer{_how(tier.down)}.",
        f"{tier.model.name} offers {_speeds(tier.model, tier.down)} there.",
    )


def _uplink_mismatch(fabric: Fabric, tier: Tier, up: Uplinks, next_above: int | None) -> Iterator[Problem]:
    ends = [(tier, up.side)]
    if next_above is not None:
        ends.append((fabric.tiers[next_above], fabric.tiers[next_above].down))
    for end, side in ends:
        if not _has_speed(fabric, end, side, up.speed_gbps):
            yield Problem(
                (*up.path, "speed_gbps"),
                f"Uplinks of {tier.role} run at {up.speed_gbps}G, which the ports of {end.role} "
                f"({end.model.name}) do not offer{_how(side)}.",
                f"{end.model.name} offers {_speeds(end.model, side)} there.",
            )
            return


def _attached_speed(attach: Attach, group: NodeGroup) -> AttachedSpeed | None:
    if attach.is_management:
        management = group.model.management
        if not management:
            return None
        return AttachedSpeed(f"Management ports of {group.name}", management[0].speed_gbps, attach.path)
    nics = group.model.nic_group(attach.nics or "")
    if nics is None:
        return None
    ports = f"{attach.nics} NICs of {group.name} ({group.model.name})"
    return AttachedSpeed(ports, nics.speed_gbps, (*attach.path, "nics"))


def _has_speed(fabric: Fabric, tier: Tier, side: Side, speed_gbps: int) -> bool:
    """Whether a port has the speed; True too for a wrong model, block or mode: other rules report them."""
    if fabric.technology not in tier.model.technology:
        return True
    blocks = _blocks_of(tier.model, side)
    modes = chain.from_iterable(block.modes for block in blocks)
    if len(blocks) < len(side.blocks) or not any(side.mode in (None, mode.name) for mode in modes):
        return True
    return capacity(tier.model, side.blocks, speed_gbps, side.mode) > 0


def _how(side: Side) -> str:
    return _in_blocks(side) + (f" in mode {side.mode}" if side.mode else "")


def _blocks_of(model: HardwareModel, side: Side) -> list[PortBlock]:
    """The port blocks of a side: those it names, or all."""
    if not side.blocks:
        return list(model.blocks)
    return [block for block in model.blocks if block.name in side.blocks]


def _speeds(model: HardwareModel, side: Side) -> str:
    modes = chain.from_iterable(block.modes for block in _blocks_of(model, side))
    speeds = {mode.speed_gbps for mode in modes if side.mode in (None, mode.name)}
    return ", ".join(f"{speed}G" for speed in sorted(speeds)) or "nothing"


@rule("CW208", Severity.ERROR, leaves_no_plan=True)
def wrong_technology(subject: Subject) -> Iterator[Problem]:
    """Tiers and attached nodes with a model of another technology than the fabric."""
    spec = subject.spec
    for fabric in spec.fabrics:
        for tier in fabric.tiers:
            if fabric.technology not in tier.model.technology:
                yield Problem(
                    (*tier.path, "model"),
                    f"{tier.model.name} supports {_and(tier.model)}, fabric {fabric.name} is {fabric.technology}.",
                    f"Choose a model for {fabric.technology}: {_models(spec, fabric.technology)}.",
                )
        for attach in fabric.attach:
            group = spec.node_group(attach.nodes or "")
            if group and fabric.technology not in group.model.technology:
                yield Problem(
                    (*attach.path, "nodes"),
                    f"{group.model.name} supports {_and(group.model)}, fabric {fabric.name} is {fabric.technology}.",
                    "Attach these nodes to a fabric that they have NICs for.",
                )


def _and(model: HardwareModel) -> str:
    return " and ".join(model.technology) or "no network"


def _models(spec: ClusterSpec, technology: str) -> str:
    models = [model for model in spec.catalogue.values() if model.blocks and technology in model.technology]
    return ", ".join(sorted(model.name for model in models))


@rule("CW211", Severity.ERROR, leaves_no_plan=True)
def attached_twice(subject: Subject) -> Iterator[Problem]:
    """NIC groups on two fabrics, node groups attached twice to one fabric, and two management networks."""
    seen: dict[tuple[str | None, str | None], str] = {}
    for fabric in subject.spec.fabrics:
        here: set[str | None] = set()
        if len(fabric.attach) > 1 and fabric.is_management:
            yield Problem(
                fabric.attach[0].path,
                f"{fabric.name} serves management ports and NICs at once.",
                "Describe the management network as a fabric of its own.",
            )
        for attach in fabric.attach:
            key = (attach.nodes, attach.nics)
            what = "The management ports" if attach.is_management else f"The {attach.nics} NICs of {attach.nodes}"
            if key in seen:
                where = "here" if seen[key] == fabric.name else f"to {seen[key]}"
                yield Problem(
                    attach.path if attach.is_management else (*attach.path, "nics"),
                    f"{what} are attached {where} already.",
                    "Name another NIC group, or leave one of the two out.",
                )
            elif attach.nodes in here:
                yield Problem(
                    (*attach.path, "nodes"),
                    f"{fabric.name} serves {attach.nodes} twice, with different NICs.",
                    "List NICs that belong to one fabric in one NIC group of the hardware model.",
                )
            seen.setdefault(key, fabric.name)
            here.add(attach.nodes)


@rule("CW692", Severity.ERROR)
def platform_lacks_ports(subject: Subject) -> Iterator[Problem]:
    """Tiers with ports at a switch missing on its platform, or at another speed; one problem for each tier."""
    for skeleton, allocations in subject.allocations:
        for index, sentences in sorted(_faults_by_tier(skeleton, allocations).items()):
            if not sentences:
                continue
            tier = skeleton.fabric.tiers[index]
            first, *others = sentences
            more = f" The same applies to {len(others)} more of its ports." if others else ""
            yield Problem(
                (*tier.path, "model"),
                f"{tier.model.name} of {tier.role} cannot be written: {first}.{more}",
                "Take a model of a known platform, or fix the ports, modes or `platform` of this one.",
            )


def _faults_by_tier(skeleton: FabricSkeleton, allocations: Sequence[Allocation]) -> Mapping[int, Mapping[str, None]]:
    """The different faults of each tier's ports, in order; switches with equal ports are checked once."""
    faults: dict[int, dict[str, None]] = {}
    checked = set()
    for seat, allocation, speeds in zip(skeleton.seats, allocations, skeleton.links_down, strict=True):
        key = (seat.tier, allocation.down, allocation.up, tuple(speeds))
        if key in checked:
            continue
        checked.add(key)
        sentences = platform_faults(skeleton.fabric.tiers[seat.tier], allocation, speeds)
        faults.setdefault(seat.tier, {}).update(dict.fromkeys(sentences))
    return faults


@dataclass(frozen=True, slots=True)
class _Lanes:
    """The modes of a fabric's ports, by tier, side and speed, filled on demand."""

    modes: dict[tuple[str, str, int], Mapping[str, tuple[PortBlock, PortMode]]]

    def at(self, tier: Tier, side: Side, direction: str, port: str, speed_gbps: int) -> tuple[int, str]:
        """The number of lanes of a port of ``tier``, and the name of its mode."""
        key = (tier.role, direction, speed_gbps)
        if key not in self.modes:
            self.modes[key] = modes_at(tier.model, side, speed_gbps)
        block, mode = self.modes[key][port]
        return block.lanes(mode), mode.name


@rule("CW223", Severity.ERROR)
def unequal_lanes(subject: Subject) -> Iterator[Problem]:
    """Cables between ports of different lanes, once for each tier: uplinks, and those of adapters.

    Copper has the electrical lanes of both ends, single-mode fibre the optical ones of transceivers.
    """
    for fabric, ports in subject.allocations:
        if fabric.fabric.technology == "infiniband" or fabric.fabric.is_provided:
            continue
        yield from _adapter_lanes(subject, fabric, ports)
        if not fabric.bundles or not _may_differ(fabric, tier_order(subject.spec, fabric.fabric)):
            continue
        down = [iter(allocation.down[fabric.attached[index] :]) for index, allocation in enumerate(ports)]
        up = [iter(port.up) for port in ports]
        reported: set[int] = set()
        lanes = _Lanes({})
        for bundle in fabric.bundles:
            for lower, upper in joins(fabric, bundle):
                below, above = (fabric.fabric.tiers[fabric.seats[seat].tier] for seat in (lower, upper))
                low_port, high_port = next(up[lower]), next(down[upper])
                if below.up is None or fabric.seats[lower].tier in reported:
                    continue
                speed = below.up.speed_gbps
                low = lanes.at(below, below.up.side, "up", low_port, speed)
                high = lanes.at(above, above.down, "down", high_port, speed)
                if not can_join(below.up.side.medium, speed, low[0], high[0]):
                    reported.add(fabric.seats[lower].tier)
                    yield Problem(
                        (*below.up.path, "speed_gbps"),
                        f"At {speed}G {fabric.seats[lower].name} {low_port} has {low[0]} lanes (mode {low[1]} of"
                        f" {below.model.name}), {fabric.seats[upper].name} {high_port} {high[0]} (mode {high[1]} of"
                        f" {above.model.name}).",
                        _hint(below, above, speed),
                    )


def _adapter_lanes(subject: Subject, fabric: FabricSkeleton, ports: Sequence[Allocation]) -> Iterator[Problem]:
    """Adapters attached to ports of other lanes, once for each attachment and tier."""
    spec = subject.spec
    lanes_of: dict[str | None, int] = {}
    for attach in fabric.fabric.attach:
        nics = attached_nics(spec, attach)
        if nics is not None and nics.lanes is not None:
            lanes_of[attach.nodes] = nics.lanes
    if not lanes_of:
        return
    reported: set[tuple[str, int]] = set()
    lanes = _Lanes({})
    next_port: Counter[int] = Counter()
    for group_name, speed, seat in _attached_adapters(subject, fabric):
        port = ports[seat].down[next_port[seat]]
        next_port[seat] += 1
        depth = fabric.seats[seat].tier
        if group_name not in lanes_of or (group_name, depth) in reported:
            continue
        reported.add((group_name, depth))
        tier = fabric.fabric.tiers[depth]
        adapter_lanes = lanes_of[group_name]
        port_lanes, mode = lanes.at(tier, tier.down, "down", port, speed)
        if can_join(tier.down.medium, speed, adapter_lanes, port_lanes):
            continue
        fitting_mode = _choices(tier, tier.down, speed).get(adapter_lanes)
        hint = "Choose another model."
        if fitting_mode:
            hint = f"Write `down: {{mode: {fitting_mode}}}`."
        elif can_join("smf", speed, adapter_lanes, port_lanes):
            hint = "Write `down: {medium: smf}`: its transceivers have as many optical lanes at both ends."
        yield Problem(
            (*tier.path, "model"),
            f"At {speed}G the adapters of {group_name} have {adapter_lanes} lanes,"
            f" {fabric.seats[seat].name} {port} {port_lanes} (mode {mode} of {tier.model.name}),"
            f" and {tier.down.medium} leads as many through as its ends have.",
            hint,
        )


def _attached_adapters(subject: Subject, fabric: FabricSkeleton) -> Iterator[tuple[str, int, int]]:
    """Node group, speed and switch of every adapter, in cabling order."""
    for node in fabric.nodes:
        number = subject.skeleton.layout.nodes[node.node].node_group
        group = subject.spec.node_groups[number]
        for seat in node.seats:
            yield group.name, node.speed_gbps, seat


def _choices(tier: Tier, side: Side, speed_gbps: int) -> Mapping[int, str]:
    """A mode for each number of lanes in the side's blocks at a speed."""
    choices: dict[int, str] = {}
    for block in tier.model.blocks:
        if side.blocks and block.name not in side.blocks:
            continue
        for mode in block.modes:
            if mode.speed_gbps == speed_gbps:
                choices.setdefault(block.lanes(mode), mode.name)
    return choices


def _may_differ(fabric: FabricSkeleton, order: TierOrder) -> bool:
    """True if two joined tiers have several numbers of lanes at the speed of their links."""
    for depth, tier in enumerate(fabric.fabric.tiers):
        if tier.up is None:
            continue
        lanes = {*_choices(tier, tier.up.side, tier.up.speed_gbps)}
        for upper in order.above[depth]:
            above = fabric.fabric.tiers[upper]
            lanes |= {*_choices(above, above.down, tier.up.speed_gbps)}
        if len(lanes) > 1:
            return True
    return False


def _hint(below: Tier, above: Tier, speed_gbps: int) -> str:
    if below.up is None:
        return "Choose another speed."
    low, high = _choices(below, below.up.side, speed_gbps), _choices(above, above.down, speed_gbps)
    shared = sorted(low.keys() & high.keys(), reverse=True)
    if not shared:
        return f"No mode of both has as many lanes at {speed_gbps}G: choose another speed or model."
    up, down = low[shared[0]], high[shared[0]]
    return f"Write `up: {{mode: {up}}}` for {below.role} and `down: {{mode: {down}}}` for {above.role}."
