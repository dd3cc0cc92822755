"""CW7xx: power, space and cabling: racks on the floor plan, and cables as long as required by it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from math import ceil

from clusterwright.and_more import and_more
from clusterwright.finding import Severity
from clusterwright.plan.racks.lengths import at_most_m, rack_places, reach_m
from clusterwright.plan.seats import nic_speeds
from clusterwright.plan.skeleton import FabricSkeleton
from clusterwright.rules.rule import Problem, Subject, rule
from clusterwright.spec.attachment import attached_tier
from clusterwright.spec.fabric import Side
from clusterwright.spec.model import RACK, ClusterSpec, NodeGroup
from clusterwright.spec.text.document import Path


@rule("CW704", Severity.ERROR)
def impossible_place(subject: Subject) -> Iterator[Problem]:
    """Unknown or repeated racks in the rows of the floor plan."""
    floor = subject.spec.site.floor
    if floor is None:
        return
    racks = {device.rack for device in subject.plan.devices}
    rows: set[str] = set()
    first: dict[str, str] = {}
    for row in floor.rows:
        if row.name in rows:
            yield Problem((*row.path, "name"), f"A row before it is called {row.name} too.", "Give each its own name.")
        rows.add(row.name)
        try:
            words = list(row.places())
        except ValueError as error:
            yield Problem((*row.path, "racks"), f"{error}.", "Write ranges from the lower number to the higher.")
            continue
        for name, index in words:
            if name not in racks:
                hint = "Write the name that the inventory has, or remove it."
                yield Problem((*row.path, "racks", index), f'The plan has no rack "{name}".', hint)
            elif name in first:
                hint = "Keep it where it stands."
                message = f"{name} stands in row {first[name]} already."
                yield Problem((*row.path, "racks", index), message, hint)
            first.setdefault(name, row.name)


@rule("CW705", Severity.WARNING)
def rack_without_place(subject: Subject) -> Iterator[Problem]:
    """Planned racks missing in the floor plan."""
    floor = subject.spec.site.floor
    if floor is None:
        return
    places = rack_places(floor)
    unplaced = sorted({device.rack for device in subject.plan.devices if device.rack} - places.keys())
    if unplaced:
        who = "has no place" if len(unplaced) == 1 else "have no place"
        yield Problem((*floor.path, "rows"), f"{and_more(unplaced, 5)} {who} on the floor.", "Add them to their rows.")


@rule("CW706", Severity.ERROR)
def copper_too_long_on_the_floor(subject: Subject) -> Iterator[Problem]:
    """Direct-attach cables longer, as measured on the floor plan, than copper reaches at their speed."""
    spec = subject.spec
    worst: dict[Path, tuple[float, str]] = {}
    if any(_may_be_too_long(subject, fabric) for fabric in subject.skeleton.fabrics):
        for cable in subject.plan.cables:
            if cable.medium != "dac" or cable.length_m <= reach_m(cable.speed_gbps):
                continue
            fabric = next(fabric for fabric in spec.fabrics if fabric.name == cable.fabric)
            lower = subject.plan.by_name[cable.a.device]
            up = fabric.tiers[lower.tier].up if cable.a.side == "up" else None
            side = fabric.tiers[cable.tier].down if up is None else up.side
            if side.length_m > reach_m(cable.speed_gbps):
                continue  # CW702 reports it for the tier
            sentence = (
                f"The way from {cable.a.device} to {cable.b.device} needs {cable.length_m:g} m of direct-attach copper,"
                f" which reaches {reach_m(cable.speed_gbps):g} m at {cable.speed_gbps}G."
            )
            if cable.length_m > worst.get(side.path, (0.0, ""))[0]:
                worst[side.path] = (cable.length_m, sentence)
    for path, (_, message) in worst.items():
        yield Problem(path, message, "Use aoc, mmf or smf for the tier, or stand the racks closer together.")


def _may_be_too_long(subject: Subject, skeleton: FabricSkeleton) -> bool:
    """True if copper at its greatest length may exceed its reach at the fastest of the fabric's links."""
    copper: list[tuple[Side, int]] = []
    tiers = skeleton.fabric.tiers
    if any(tier.down.medium == "dac" for tier in tiers):
        attached = {(skeleton.seats[seat].tier, speed) for seat, speed in skeleton.attached_at}
        copper += [(tiers[tier].down, speed) for tier, speed in attached if tiers[tier].down.medium == "dac"]
    copper += [(tier.up.side, tier.up.speed_gbps) for tier in tiers if tier.up and tier.up.side.medium == "dac"]
    if copper:
        subject.require_plan()
    return any(at_most_m(subject.spec, side.length_m) > reach_m(speed) for side, speed in copper)


@rule("CW701", Severity.ERROR)
def overfull_rack(subject: Subject) -> Iterator[Problem]:
    """Racks with more units of nodes and rack switches than their height."""
    spec = subject.spec
    switches: dict[str, int] = defaultdict(int)
    for skeleton in subject.skeleton.fabrics:
        served = {attach.nodes for attach in skeleton.fabric.attach}
        units = sum(
            ceil(tier.model.units) * tier.count * planes
            for tier, planes in zip(skeleton.fabric.tiers, skeleton.planes, strict=True)
            if tier.per == RACK and tier.stands in (None, RACK)
        )
        for group in spec.node_groups:
            if group.name in served or None in served:
                switches[group.name] += units
    for group in spec.node_groups:
        level = next((level for level in group.levels if level.name == RACK), None)
        if level is None or group.inside is not None:
            continue
        nodes = min(group.nodes_per(RACK), group.count)
        beside = _units_inside(spec, group)
        taken = switches[group.name] + sum(beside.values())
        units = nodes * ceil(group.model.units) + taken
        if units > spec.site.rack_units:
            room = max(0, spec.site.rack_units - taken) // max(1, ceil(group.model.units))
            others = "".join(f", {height} units of {name}" for name, height in beside.items())
            yield Problem(
                (*level.path, "of"),
                f"{nodes} {group.model.name} of {group.model.units:g} units{others} and {switches[group.name]} units "
                f"of rack switches take {units} units; the racks have {spec.site.rack_units}.",
                f"Put no more than {room} into a rack, or choose higher racks.",
            )


def _units_inside(spec: ClusterSpec, group: NodeGroup) -> dict[str, int]:
    """The height of the devices inside each rack of a group, by node group."""
    return {
        other.name: other.inside.count * ceil(other.model.units)
        for other in spec.node_groups
        if other.inside is not None and other.inside.nodes == group.name and other.inside.level == RACK
    }


@rule("CW702", Severity.ERROR)
def copper_too_long(subject: Subject) -> Iterator[Problem]:
    """Direct-attach cables longer than copper reaches at their speed."""
    spec = subject.spec
    for fabric in spec.fabrics:
        for tier in fabric.tiers:
            if tier.up:
                yield from _too_long(tier.up.side, tier.up.speed_gbps, f"uplinks of {tier.role}")
        fastest: dict[str, int] = {}
        for attach in fabric.attach:
            for group in spec.node_groups:
                is_attached = attach.is_management or attach.nodes == group.name
                speeds = nic_speeds(group, attach) if is_attached else []
                if speeds and (home := attached_tier(fabric, attach, group)):
                    fastest[home.role] = max(fastest.get(home.role, 0), *speeds)
        for tier in fabric.tiers:
            if tier.role in fastest:
                yield from _too_long(tier.down, fastest[tier.role], f"NICs below {tier.role}")


def _too_long(side: Side, speed_gbps: int, what: str) -> Iterator[Problem]:
    reach = reach_m(speed_gbps)
    if side.medium == "dac" and side.length_m > reach:
        yield Problem(
            (*side.path, "length_m"),
            f"Direct-attach copper of {side.length_m:g} m for the {what}: at {speed_gbps}G it reaches {reach:g} m.",
            "Use aoc, mmf or smf, or shorter cables.",
        )


@rule("CW703", Severity.WARNING)
def cable_described_twice(subject: Subject) -> Iterator[Problem]:
    """Media and lengths stated differently by a tier's `up` and the `down` of the tier above."""
    spec = subject.spec
    stated = spec.document.values
    for skeleton in subject.skeleton.fabrics:
        fabric = skeleton.fabric
        groups = [(attach, spec.node_group(attach.nodes or "")) for attach in fabric.attach]
        homes = [attached_tier(fabric, attach, group) for attach, group in groups if group]
        for lower, upper in skeleton.joined_tiers():
            if lower.up is None or upper in homes or fabric.attach[0].is_management:
                continue
            here, there = lower.up.side, upper.down
            for key, mine, other, unit in (
                ("medium", here.medium, there.medium, ""),
                ("length_m", here.length_m, there.length_m, " m"),
            ):
                if mine != other and (*here.path, key) in stated and (*there.path, key) in stated:
                    yield Problem(
                        (*there.path, key),
                        f"{upper.role} says {_plain(other)}{unit} of its cables from below, "
                        f"{lower.role} says {_plain(mine)}{unit} of the same ones.",
                        f"The cable list follows {lower.role}: write {_plain(mine)} here, or leave it out.",
                    )


def _plain(value: str | float) -> str:
    return value if isinstance(value, str) else f"{value:g}"
